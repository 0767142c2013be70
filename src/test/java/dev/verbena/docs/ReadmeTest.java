package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests statements of the README. */
class ReadmeTest {
    @Test
    void firstProgramCompilesWithoutAWarning(@TempDir Path classes) throws Exception {
        assertThat(FirstProgram.compile(classes)).isEmpty();
    }

    @Test
    void firstProgramHasAtMostTwentyLines() throws Exception {
        assertThat(FirstProgram.source()
                        .lines()
                        .filter(line -> !line.isBlank() && !line.startsWith("import"))
                        .count())
                .isLessThanOrEqualTo(20);
    }

    @Test
    void scriptsInTheReadmeExist() throws Exception {
        Matcher script = Pattern.compile("scripts/[a-z-]+").matcher(Files.readString(Path.of("README.md")));
        while (script.find()) {
            assertThat(Path.of(script.group())).isExecutable();
        }
    }
}

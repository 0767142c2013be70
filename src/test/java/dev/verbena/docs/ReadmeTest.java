package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.Rdma;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
    void linksToFilesOfTheProjectWork() throws Exception {
        Matcher link = Pattern.compile("\\]\\((?!https?:|#)([^)]+)\\)").matcher(Files.readString(Path.of("README.md")));
        int links = 0;
        while (link.find()) {
            links++;
            assertThat(Path.of(link.group(1))).isRegularFile();
            assertThat(link.group(1)).as("a file that a clone has").doesNotStartWith("target");
        }
        assertThat(links).isPositive();
    }

    /** The examples of nodes are those that the compiler has seen. */
    @Test
    void examplesOfNodesAreTakenFromSnippets() throws Exception {
        String readme = Files.readString(Path.of("README.md"));
        int from = readme.indexOf("## Nodes, channels and calls");
        Matcher block = Pattern.compile("```java\\n(.*?)```", Pattern.DOTALL)
                .matcher(readme.substring(from, readme.indexOf("\n## ", from + 1)));
        String snippets = Files.readString(Path.of("src/test/java/dev/verbena/docs/CallSnippets.java"))
                .replaceAll("\\s+", " ");
        int blocks = 0;
        while (block.find()) {
            blocks++;
            assertThat(snippets).contains(block.group(1).replaceAll("\\s+", " "));
        }
        assertThat(blocks).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"KeyValueStore", "FileTransfer", "SquareRootServer"})
    void programsOfNodesAreThoseThatTestsRun(String name) throws Exception {
        String source = Files.readString(Path.of("src/test/java/dev/verbena/docs/" + name + ".java"));
        String program = source.substring(source.indexOf("region=\"program\"\n") + 17, source.indexOf("// @end"));
        assertThat(Files.readString(Path.of("README.md"))).contains("```java\n" + program + "```");
    }

    @Test
    void licenceIsInTheJar() throws Exception {
        try (InputStream licence = Rdma.class.getResourceAsStream("/META-INF/LICENSE")) {
            assertThat(licence).isNotNull();
            assertThat(new String(licence.readAllBytes(), StandardCharsets.US_ASCII))
                    .contains("Apache License", "Version 2.0, January 2004");
        }
    }

    @Test
    void scriptsInTheReadmeExist() throws Exception {
        Matcher script = Pattern.compile("scripts/[a-z-]+").matcher(Files.readString(Path.of("README.md")));
        while (script.find()) {
            assertThat(Path.of(script.group())).isExecutable();
        }
    }
}

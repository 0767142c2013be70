package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Rules for the texts of scripts, and for the programs that tests start. */
class ScriptsTest {
    private static final Path FOLDER = Path.of("scripts");

    /** A minimal system lacks the package procps, which the scripts do not install. {@code sh} has its own kill. */
    @Test
    void testsStartNoProgramOfProcps() throws IOException {
        Pattern program = Pattern.compile(
                "(?<!ToolRun\\.(?:of|start)\\((?:shown, )?)\"(kill|pkill|pgrep|pidof|ps|free|top|uptime|watch|sysctl|vmstat)\"");
        try (Stream<Path> files = Files.walk(Path.of("src/test/java"))) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".java")).toList()) {
                assertThat(program.matcher(Files.readString(file)).results().map(MatchResult::group))
                        .as(file.toString())
                        .isEmpty();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("scripts")
    void helpFitsATerminal(Path script) throws IOException {
        Matcher help = Pattern.compile("<< ?'?(USAGE|MISSING)'?\n(.*?)\n\\1\n", Pattern.DOTALL)
                .matcher(Files.readString(script, StandardCharsets.UTF_8));
        boolean hasWiderLines = Stream.of("bench", "soft-roce", "pair.sh").anyMatch(script::endsWith);
        while (!hasWiderLines && help.find()) {
            assertThat(help.group(2).lines()).allMatch(line -> line.length() <= 80);
        }
    }

    /** Finds the files that begin as a script does, and those that scripts source. */
    private static List<Path> scripts() throws IOException {
        List<Path> found = new ArrayList<>();
        for (Path root : List.of(FOLDER, Path.of(".ci"), Path.of("src"))) {
            try (Stream<Path> files = Files.walk(root)) {
                files.filter(Files::isRegularFile).filter(ScriptsTest::isScript).forEach(found::add);
            }
        }
        return found.stream().sorted().toList();
    }

    private static boolean isScript(Path file) {
        if (file.toString().endsWith(".sh")) {
            return true;
        }
        try (Stream<String> lines = Files.lines(file, StandardCharsets.ISO_8859_1)) {
            return lines.findFirst().orElse("").matches("#!.*\\b(ba|da)?sh");
        } catch (IOException e) {
            throw new AssertionError(file.toString(), e);
        }
    }
}

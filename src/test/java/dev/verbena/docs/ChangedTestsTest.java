package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code scripts/test --changed} chooses the tests that reach a change, in a small repository. */
class ChangedTestsTest {
    private static final String LIBRARY =
            Path.of("scripts/lib/changed.sh").toAbsolutePath().toString();

    @TempDir
    Path project;

    @BeforeEach
    void makeRepository() throws Exception {
        for (String name : List.of("Near", "Far", "Alone")) {
            write("src/main/java/v/" + name + ".java", "class " + name + " {}\n");
        }
        write("src/test/java/v/Help.java", "class Help {}\n");
        write("src/test/java/v/MoreHelp.java", "class MoreHelp extends Help {}\n");
        write("src/test/java/v/NearTest.java", "class NearTest {}\n");
        write("src/test/java/v/HelpedTest.java", "class HelpedTest { MoreHelp help; }\n");
        write("src/test/java/v/WordyTest.java", "/**\n * Does not use {@link Help}.\n */\nclass WordyTest {}\n");
        write("src/test/java/v/BroadTest.java", "@DeviceTest\nclass BroadTest {}\n");
        write("src/test/resources/table.tsv", "");
        write("src/test/java/v/TableTest.java", "class TableTest { String name = \"table.tsv\"; }\n");
        write("pom.xml", "<project/>\n");
        write(".gitignore", "target/\n");
        reached(
                "host\tv.NearTest\t39.00\tv.Near",
                "host\tv.HelpedTest\t5.00\tv.Near v.Far",
                "device\tv.BroadTest\t19.00\tv.Near v.Far v.More",
                "provider\tv.WordyTest\t2.00\tv.Far v.More v.Yet v.Others *");
        bash("git init -q; git add -A; git -c user.name=a -c user.email=a@b commit -qm first");
    }

    private void reached(String... lines) throws IOException {
        write("target/reach.tsv", String.join("\n", lines) + "\n");
    }

    private void write(String file, String text) throws IOException {
        Path path = project.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }

    private String bash(String... lines) throws IOException, InterruptedException {
        Process bash = new ProcessBuilder(
                        "bash", "-c", "set -euo pipefail\ncd '" + project + "'\n" + String.join("\n", lines))
                .redirectErrorStream(true)
                .start();
        String output = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(bash.waitFor()).as(output).isZero();
        return output;
    }

    /** Returns what is printed, and in its last line the pattern of the chosen classes. */
    private String choose(String all) throws Exception {
        return bash(
                "PROJECT=$PWD SHOW=$PWD/target/show",
                "named() { find src/test/java -name '*.java' | grep \"$1\"; }",
                ". '" + LIBRARY + "'",
                "choose_changed HEAD " + all,
                "printf '%s\\n' \"$name_of_tests\"");
    }

    @Test
    void changedClassOfTheLibraryRunsTheMostSpecificTestsThatReachIt() throws Exception {
        write("src/main/java/v/Near.java", "class Near { int changed; }\n");
        String output = choose("no");
        assertThat(output)
                .contains("Chosen, of 5 test classes: BroadTest NearTest\n")
                .contains("Left out, though they reach what has changed (with --all they run): HelpedTest\n")
                .contains("is not known: WordyTest\n")
                .endsWith("^(v[.]NearTest|v[.]BroadTest)([$].*)?$\n");
        assertThat(choose("yes")).contains(": BroadTest HelpedTest NearTest\n").doesNotContain("Left out, though");
    }

    @Test
    void changedHelpOfTestsRunsThoseThatUseIt() throws Exception {
        write("src/test/java/v/Help.java", "class Help { int changed; }\n");
        assertThat(choose("no")).endsWith("^(v[.]HelpedTest)([$].*)?$\n");
    }

    @Test
    void changedResourceRunsTheTestsThatNameIt() throws Exception {
        write("src/test/resources/table.tsv", "changed\n");
        assertThat(choose("no")).endsWith("^(v[.]TableTest)([$].*)?$\n");
    }

    @Test
    void changedScriptRunsTheTestsThatNameIt() throws Exception {
        write("src/test/java/v/DemoTest.java", "class DemoTest { String script = \"scripts/demo\"; }\n");
        write(
                "src/test/java/v/ShellTest.java",
                "/** Not scripts/demo. */\nclass ShellTest { String run = \"shell --now\"; }\n");
        write(
                "src/test/java/v/LooksTest.java",
                "class LooksTest {\n  void run() { bash(\"some looks more\", file); }\n}\n");
        write("scripts/demo", ". lib/looks.sh\n");
        write("scripts/shell", "\n");
        write("scripts/lib/looks.sh", "\n");
        bash("git add -A; git -c user.name=a -c user.email=a@b commit -qm second");
        write("scripts/demo", "changed\n. lib/looks.sh\n");
        assertThat(choose("no")).endsWith("^(v[.]DemoTest)([$].*)?$\n");
        write("scripts/lib/looks.sh", "changed\n");
        assertThat(choose("no")).endsWith("^(v[.]DemoTest|v[.]LooksTest)([$].*)?$\n");
        bash("git checkout -q scripts");
        write("scripts/shell", "changed\n");
        assertThat(choose("no")).endsWith("^(v[.]ShellTest)([$].*)?$\n");
    }

    @Test
    void newTestRuns() throws Exception {
        write("src/test/java/v/NewTest.java", "class NewTest {}\n");
        assertThat(choose("no")).endsWith("^(v[.]NewTest)([$].*)?$\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"pom.xml", "src/main/java/v/Alone.java", "bindings/java/Raw.java", "src/test/c/fenced.c"})
    void changeOfUnknownReachRunsAllTests(String file) throws Exception {
        write(file, "changed\n");
        assertThat(choose("no")).startsWith("All tests run: ").endsWith("ALL\n");
    }

    @Test
    void changedClassRunsAllTestsUntilARunHasNotedWhatTheyReach() throws Exception {
        Files.delete(project.resolve("target/reach.tsv"));
        write("src/main/java/v/Near.java", "class Near { int changed; }\n");
        assertThat(choose("no"))
                .startsWith("All tests run: no run of all tests")
                .endsWith("ALL\n");
    }

    @Test
    void noChangeRunsNothing() throws Exception {
        assertThat(choose("no")).isEqualTo("Nothing has changed since HEAD.\n0 passed, 0 failed, 0 skipped\n");
    }
}

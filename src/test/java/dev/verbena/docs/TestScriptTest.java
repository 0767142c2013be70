package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code scripts/test} chooses, starts, counts and ends runs of tests. */
class TestScriptTest extends StubbedScripts {
    @Test
    void testOfAnUnknownNameFailsAtOnce() throws Exception {
        stubTools();
        Ended run = run("scripts/test", "NoSuchName");
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.output()).isEqualTo("No test class has 'NoSuchName' in its name.\n");
        assertThat(calls()).as("Maven").isEmpty();
    }

    @Test
    void testOfAClassWithoutTestsFails() throws Exception {
        stubTools();
        results(0);
        Ended run = run("scripts/test", "SomeTest");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.output()).contains("No test ran").endsWith("0 passed, 1 failed, 0 skipped\n");
    }

    @Test
    void testCountsAGuestThatCannotBePrepared() throws Exception {
        stubTools();
        program(project.resolve("scripts/soft-roce"), "echo 'no kernel found' >&2; exit 125");
        Ended run = run("scripts/test", "tools.WithDeviceTest");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.output()).contains("no kernel found").endsWith("0 passed, 1 failed, 0 skipped\n");
    }

    @ParameterizedTest
    @CsvSource({"--siw, iwarp", "--pair, pair"})
    void testInGuestsThatCannotBePreparedEndsWithCounts(String option, String run) throws Exception {
        stubTools();
        program(project.resolve("scripts/soft-roce"), "exit 125");
        Ended test = run("scripts/test", option);
        assertThat(test.status()).isEqualTo(1);
        assertThat(test.output())
                .startsWith("Building\n")
                .endsWith("FAILED: the run '" + run + "' has no results\n0 passed, 1 failed, 0 skipped\n");
    }

    @Test
    void testNamesWhatFailedAtItsEnd() throws Exception {
        stubTools();
        results(1, "failed\ta.BadTest\tbad [1]\tno");
        assertThat(run("scripts/test", "SomeTest").output())
                .endsWith("FAILED: a.BadTest bad [1]\n1 passed, 1 failed, 0 skipped\n");
    }

    @Test
    void testShowsAFailureWhenItHappensAndTheTimesAtItsEnd() throws Exception {
        stubTools();
        runsOfTests(
                "echo '::FAILED: a.QuickTest.bad'; echo '::|at a line'; echo '::class a.QuickTest 3 1 0 2.5 1.5'; echo '::class a.SlowTest 1 0 0 61.0 7.0'");
        String output = run("scripts/test", "SomeTest").output();
        assertThat(output.lines().map(String::strip))
                .containsSubsequence(
                        "FAILED: a.QuickTest.bad",
                        "at a line",
                        "QuickTest: 3 passed, 1 failed, 0 skipped (2.5 s)",
                        "phase             seconds processor   tests",
                        "run       seconds processor  tests  slowest classes",
                        "host         61.0       7.0      1  a.SlowTest",
                        "host          2.5       1.5      4  a.QuickTest",
                        "0 passed, 1 failed, 0 skipped");
    }

    @Test
    void runThatPrintsNothingForLongIsEnded() throws Exception {
        stubTools();
        replaceFunctions("suite.sh", "NO_LINE=1");
        runsOfTests("exec sleep 1000");
        Ended run = run("scripts/test", "SomeTest");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.output())
                .contains("FAILED: the run host has printed nothing for 1 s, and is ended\n")
                .endsWith("FAILED: the run 'host' has no results\n0 passed, 1 failed, 0 skipped\n");
    }

    /** The compiler waits for what must go on beside it, and the archives for the processor of the benchmark, which ends meanwhile. */
    @Test
    void runOfAllTestsHasAllPhasesAndCountsAFailedCheck() throws Exception {
        stubTools();
        stub("shellcheck", "[[ $* != --version ]] || exit 0; touch \"$HOME/checked\"; exit 1");
        program(
                project.resolve("scripts/soft-roce"),
                "if [[ $1 == prepare ]]; then touch \"$HOME/prepared\"; fi\n"
                        + "while (($#)); do if [[ $1 == --on-device ]]; then java --results target/test-$3; fi; shift; done");
        stub("taskset", "echo \"taskset $*\" >> \"$CALLS\"");
        program(project.resolve("scripts/bench"), "until [[ -e $HOME/archiving ]]; do sleep 0.02; done");
        program(
                folder.resolve("jdk/bin/jar"),
                "touch \"$HOME/archiving\"; until grep -q 'taskset -apc 0-1 ' \"$CALLS\"; do sleep 0.02; done");
        program(
                folder.resolve("jdk/bin/javac"),
                "until [[ -e $HOME/prepared && -e $HOME/checked ]]; do sleep 0.02; done");
        write(project.resolve("src/main/java/A.java"), "");
        write(project.resolve("src/test/java/dev/verbena/ProviderTest.java"), "@FencedTest\nclass ProviderTest {}\n");
        for (String place : List.of("src/main/resources", "src/test/resources", "bindings/java", "src/test/stress")) {
            write(project.resolve(place).resolve("x"), "");
        }
        Ended run = run("scripts/test");
        assertThat(run.output()).endsWith("FAILED: shellcheck\n4 passed, 1 failed, 0 skipped\n");
        assertThat(run.status()).isEqualTo(1);
        assertThat(Files.readAllLines(project.resolve("target/show/phases")))
                .extracting(line -> line.replaceFirst("\t.*\t", " "))
                .containsExactlyInAnyOrder(
                        "prepare 0",
                        "build 0",
                        "strict 0",
                        "format 0",
                        "scripts 1",
                        "bench 0",
                        "archives 0",
                        "provider 0",
                        "device 0",
                        "device-2 0",
                        "host 0");
    }

    @Test
    void contentThatHasPassedIsNotCheckedAgain() throws Exception {
        stubTools();
        stub("shellcheck", "[[ $* == --version ]] || echo \"shellcheck $*\" >> \"$CALLS\"");
        program(project.resolve("scripts/bench"), "echo \"bench $*\" >> \"$CALLS\"");
        write(project.resolve("src/main/java/A.java"), "");
        write(project.resolve("src/bench/A.java"), "");
        write(project.resolve("bindings/java/B.java"), "");
        program(project.resolve(".ci/run"), "");
        for (int runs = 1; runs <= 2; runs++) {
            assertThat(checks().status()).isZero();
            assertThat(calls().lines())
                    .as("run %d", runs)
                    .filteredOn(line -> line.contains("spotless")
                            || line.contains("bench ")
                            || line.endsWith(".ci/run")
                            || line.contains("-Pstrict"))
                    .hasSize(4);
        }
        long before = calls().lines().count();
        write(project.resolve("src/main/java/A.java"), "// changed");
        program(project.resolve(".ci/run"), "exit 1");
        checks();
        assertThat(calls().lines().skip(before))
                .containsExactly(
                        "mvn --batch-mode --quiet -Dstyle.color=never -DspotlessFiles=.*src/main/java/A[.]java spotless:check",
                        "shellcheck --color=never " + project.resolve(".ci/run"),
                        "bench --short",
                        "mvn --batch-mode --quiet -Dstyle.color=never -Pstrict dependency:build-classpath "
                                + "-Dmdep.outputFile=target/test-classpath compile");
    }

    @Test
    void scriptThatShellcheckObjectsToIsCheckedAgain() throws Exception {
        stubTools();
        stub("shellcheck", "case $* in *verbena) echo finding | tee -a \"$CALLS\"; exit 1 ;; esac");
        program(project.resolve(".ci/run"), "");
        for (int runs = 1; runs <= 2; runs++) {
            Ended run = checks();
            assertThat(run.status()).isEqualTo(1);
            assertThat(run.output()).contains("finding");
            assertThat(calls().lines()).filteredOn("finding"::equals).hasSize(runs);
        }
    }

    private Ended checks() throws Exception {
        return bash(
                "jdk packages build cache suite checks",
                "SCRIPTS=$PWD/scripts",
                "begin_show",
                "check_format",
                "check_scripts",
                "bench_passed || check_bench",
                "check_sources");
    }

    @ParameterizedTest
    @ValueSource(strings = {"INT", "TERM"})
    void testEndsWithAllOfItsStagesOnASignal(String signal) throws Exception {
        stubTools();
        String running = "echo $$ >> \"$CALLS\"; exec sleep 1000";
        program(project.resolve("scripts/soft-roce"), "[[ $1 == prepare ]] || { " + running + "; }");
        runsOfTests(running);
        Path output = folder.resolve("output");
        Process test = start(output, "scripts/test", "tools");
        try {
            Await.until("a guest and tests beside it", () -> numbers().size() == 2);
            assertThat(numbers()).allMatch(StubbedScripts::runs);
            signal(signal, test);
            assertThat(end(test, output).status()).isEqualTo(signal.equals("INT") ? 130 : 143);
            assertThat(numbers()).hasSize(2);
            Await.until("the ends of both", () -> numbers().stream().noneMatch(StubbedScripts::runs));
        } finally {
            numbers().forEach(number -> ProcessHandle.of(number).ifPresent(ProcessHandle::destroyForcibly));
        }
    }

    // The matrix

    /** Lets the copy of scripts/soft-roce do what a guest would do: describe the machine, and leave a report. */
    private void guestReports(String results) throws IOException {
        program(
                project.resolve("scripts/soft-roce"),
                "echo \"soft-roce $*\" >> \"$CALLS\"; mkdir -p target/test-matrix\n"
                        + "printf 'kernel=7.2.13\\nmachine=x86_64\\njdk=26.0.2\\nlibrary=65\\n' > \"$VERBENA_MATRIX/facts\"\n"
                        + "cat > target/test-matrix/results << 'END'\n" + results + "END");
    }

    @Test
    void matrixShowsCountsAndReasons() throws Exception {
        stubTools();
        guestReports("""
                passed\tdev.verbena.verbs.PostingTest\tsendWorks()\t
                passed\tdev.verbena.verbs.PostingTest\tsizeFits [2] 2\t
                skipped\tdev.verbena.verbs.PostingTest\tflushWorks()\tAssumption failed: no flush on this device
                failed\tdev.verbena.verbs.PostingTest\tsizeFits [1] 1\texpected: "1"
                """);
        Ended run = run("scripts/test", "--matrix=7.2-65", "WithDeviceTest");
        assertThat(run.status()).as(run.output()).isEqualTo(1);
        assertThat(run.output()).contains("| 7.2-65 | 7.2.13 | 65 | x86_64 | 26.0.2 | 2 | 1 | 1 | ");
        assertThat(calls()).contains("--root sid --jdk 26 --kernel 7.2 -- ", "--on-device matrix");
        assertThat(Files.readString(project.resolve("target/matrix.md")))
                .contains("- 7.2-65, no flush on this device: PostingTest.flushWorks\n")
                .contains("- 7.2-65, expected: \"1\": PostingTest.sizeFits\n");
    }

    @Test
    void matrixCountsACornerThatDoesNotStart() throws Exception {
        stubTools();
        program(project.resolve("scripts/soft-roce"), "exit 125");
        Ended run = run("scripts/test", "--matrix=siw-44,aarch64-56", "WithDeviceTest");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.output())
                .contains("| siw-44 | - |", "| aarch64-56 | - |", "did not run: status 125")
                .endsWith("wrote target/matrix.md\n");
    }

    @Test
    void matrixEndsItsCornerOnASignal() throws Exception {
        stubTools();
        program(project.resolve("scripts/soft-roce"), "echo $$ >> \"$CALLS\"; exec sleep 1000");
        Path output = folder.resolve("output");
        Process test = start(output, "scripts/test", "--matrix=6.1-44,7.2-65", "WithDeviceTest");
        try {
            Await.until("a guest", () -> numbers().size() == 1);
            signal("INT", test);
            assertThat(end(test, output).status()).isEqualTo(130);
            Await.until("its end", () -> numbers().stream().noneMatch(StubbedScripts::runs));
            assertThat(numbers()).hasSize(1);
        } finally {
            numbers().forEach(number -> ProcessHandle.of(number).ifPresent(ProcessHandle::destroyForcibly));
        }
    }

    /** Another system's folder: its steps are recorded in the page, and it is removed. */
    @Test
    void freshSystemRunsBothCommandsAndIsRemoved() throws Exception {
        stubTools();
        replaceFunctions("packages.sh", "is_root() { true; }");
        replaceFunctions(
                "fresh.sh",
                "fresh_tarball() { mkdir \"$HOME/etc\"; tar -c -C \"$HOME\" -f \"$HOME/tarball\" etc; "
                        + "printf '%s' \"$HOME/tarball\"; }\n"
                        + "enter_fresh() { ls \"$1\" >> \"$CALLS\"; shift; echo \"$*\" >> \"$CALLS\"; "
                        + "[[ $* != *--no-install ]] || return 1; echo '12 passed, 0 failed, 0 skipped'; }");
        stub("debootstrap", DONE);
        Files.createDirectories(folder.resolve("cache/fresh"));
        run("scripts/test", "--matrix=fresh-13", "WithDeviceTest").succeeds();
        assertThat(calls())
                .contains(
                        "verbena\n", "scripts/demo --no-install\n", "scripts/demo\n", "scripts/test WithDeviceTest\n");
        assertThat(Files.readString(project.resolve("target/matrix.md")))
                .contains("- Debian 13, scripts/demo --no-install: status 1 after")
                .contains("- Debian 13, scripts/test WithDeviceTest: status 0 after")
                .contains(" s, 12 passed, 0 failed, 0 skipped\n");
        assertThat(folder.resolve("cache/fresh")).isEmptyDirectory();
    }

    @Test
    void matrixNamesItsCorners() throws Exception {
        stubTools();
        Ended run = run("scripts/test", "--matrix=5.10-44");
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.output()).contains("No corner 5.10-44. There are: 6.1-44");
    }
}

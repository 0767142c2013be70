package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Loopback;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs scripts in a copy of their folder. The programs that they call are stubs: no test builds, installs, loads or starts
 * anything.
 */
abstract class StubbedScripts {
    /** Programs of this machine that the scripts may not find: each is missing or a stub. */
    private static final Pattern HIDDEN =
            Pattern.compile("apt.*|dpkg.*|mvn.*|java.*|jar|jshell|gcc.*|cc|shellcheck|tcpdump"
                    + "|ibv?_.*|rping|ucmatose|rdma|ip|ss|modprobe|rmmod|depmod|lsmod|qemu-.*|sudo|taskset|nproc"
                    // procps, which a minimal system lacks: the shell has its own kill
                    + "|kill|pkill|pgrep|pidof|pidwait|ps|free|top|uptime|watch|sysctl|vmstat|w");

    /** Stubs of all programs that the tests and the benchmark need, but for Maven and the JDK. */
    private static final List<String> TOOLS = List.of(
            "gcc",
            "shellcheck",
            "tcpdump",
            "ibv_devinfo",
            "ibv_rc_pingpong",
            "rping",
            "ucmatose",
            "ib_send_lat",
            "ib_write_bw",
            "ip",
            "rdma",
            "ss");

    static final String DONE = "exit 0";

    /** Links to this machine's other programs. */
    static Path machine;

    @TempDir
    Path folder;

    Path project;
    Path programs;

    /** A script that has ended. */
    record Ended(int status, String output) {
        Ended succeeds() {
            assertThat(status).as(output).isZero();
            return this;
        }
    }

    @BeforeAll
    static void linkPrograms() throws IOException {
        machine = Files.createTempDirectory("programs");
        for (String place : List.of("/usr/bin", "/bin", "/usr/sbin", "/sbin")) {
            try (Stream<Path> files = Files.list(Path.of(place))) {
                for (Path file : files.toList()) {
                    Path link = machine.resolve(file.getFileName());
                    if (!HIDDEN.matcher(file.getFileName().toString()).matches()
                            && !Files.exists(link, LinkOption.NOFOLLOW_LINKS)) {
                        Files.createSymbolicLink(link, file);
                    }
                }
            }
        }
    }

    @AfterAll
    static void removeLinks() throws IOException {
        try (Stream<Path> links = Files.list(machine)) {
            for (Path link : links.toList()) {
                Files.delete(link);
            }
        }
        Files.delete(machine);
    }

    @BeforeEach
    void copyTheScripts() throws IOException {
        project = folder.resolve("project");
        programs = Files.createDirectories(folder.resolve("bin"));
        try (Stream<Path> files = Files.walk(Path.of("scripts"))) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Path copy = project.resolve(file);
                Files.createDirectories(copy.getParent());
                Files.copy(file, copy, java.nio.file.StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
        stub("nproc", "echo 2");
        write(project.resolve("pom.xml"), "<project/>");
        write(project.resolve("bindings/README.md"), "");
        write(project.resolve("src/test/java/dev/verbena/tools/SomeTest.java"), "class SomeTest {}\n");
        write(
                project.resolve("src/test/java/dev/verbena/tools/WithDeviceTest.java"),
                "@DeviceTest\nclass WithDeviceTest {}\n");
        write(folder.resolve("jdk/release"), "JAVA_VERSION=\"25.0.1\"\n");
        for (String tool : List.of("java", "javac")) {
            program(folder.resolve("jdk/bin").resolve(tool), DONE);
        }
        program(folder.resolve("jdk/bin/jar"), "while [[ $1 != --file ]]; do shift; done; touch \"$2\"");
        results(1);
    }

    static void write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    static void program(Path file, String body) throws IOException {
        Files.createDirectories(file.getParent());
        Files.deleteIfExists(file);
        Files.writeString(file, "#!/bin/bash\n" + body + "\n");
        assertThat(file.toFile().setExecutable(true)).isTrue();
    }

    /** Makes a program that the scripts find. */
    void stub(String name, String body) throws IOException {
        program(programs.resolve(name), body);
    }

    void stubTools() throws IOException {
        for (String tool : TOOLS) {
            stub(tool, DONE);
        }
        stub(
                "mvn",
                "echo \"mvn $*\" >> '" + folder.resolve("calls")
                        + "'; mkdir -p target; echo none > target/test-classpath");
    }

    /** Makes Java's stub write the results of tests, of which some have passed, and the lines of others. */
    void results(int passed, String... others) throws IOException {
        String results = "passed\ta.SomeTest\tgood()\t\n".repeat(passed) + String.join("\n", others);
        program(
                folder.resolve("jdk/bin/java"),
                "while (($#)); do if [[ $1 == --results ]]; then mkdir -p \"$2\"; printf '%s' '" + results
                        + "' > \"$2/results\"; fi; shift; done");
    }

    /** Makes Java's stub do something in a run of tests, and nothing else. */
    void runsOfTests(String body) throws IOException {
        program(folder.resolve("jdk/bin/java"), "[[ $* != *dev.verbena.progress* ]] || { " + body + "; }");
    }

    /** Adds functions to a file of scripts/lib, which replace those of the same name. */
    void replaceFunctions(String file, String functions) throws IOException {
        Path library = project.resolve("scripts/lib").resolve(file);
        Files.writeString(library, Files.readString(library) + "\n" + functions + "\n");
    }

    /** Has a stub take QEMU's place, which boots unless the functions say otherwise. */
    void stubQemu(String body, String... functions) throws IOException {
        replaceFunctions("guest.sh", """
                initramfs_for() { echo file; }
                bootable_kernel() { echo kernel; }
                guest_accel() { echo tcg; }
                qemu_program() { echo qemu-stub; }
                saved_guest() { :; }
                """ + String.join("\n", functions));
        Path script = project.resolve("scripts/soft-roce");
        Files.writeString(
                script,
                Files.readString(script)
                        .replace(
                                "\nmain \"$@\"",
                                "\nneed_guest_packages() { :; }\nchoose_kernel() { KERNEL_VERSION=6.1; }\nmain \"$@\""));
        stub("qemu-stub", body);
    }

    String calls() throws IOException {
        Path file = folder.resolve("calls");
        return Files.exists(file) ? Files.readString(file) : "";
    }

    Process start(Path output, String... command) throws IOException {
        return start(output, ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()), command);
    }

    Process start(Path output, ProcessBuilder.Redirect input, String... command) throws IOException {
        // A run in the background may ignore Ctrl-C, which programs inherit.
        List<String> words = new ArrayList<>(List.of("env", "--default-signal=INT"));
        words.addAll(List.of(command));
        ProcessBuilder builder = new ProcessBuilder(words)
                .directory(project.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .redirectInput(input);
        builder.environment().clear();
        builder.environment()
                .putAll(Map.of(
                        "PATH", programs + ":" + machine,
                        "HOME", folder.toString(),
                        "JAVA_HOME", folder.resolve("jdk").toString(),
                        "CALLS", folder.resolve("calls").toString(),
                        "VERBENA_CACHE", folder.resolve("cache").toString()));
        return builder.start();
    }

    /** Returns what the processes of a run that does not end wait for. */
    private static String describe(Process process) {
        return Stream.concat(Stream.of(process.toHandle()), process.descendants())
                .map(each -> "\n" + each.pid() + " of " + each.parent().map(ProcessHandle::pid) + ", "
                        + each.info().commandLine() + ": " + statusOf(each.pid()))
                .collect(Collectors.joining());
    }

    private static String statusOf(long pid) {
        try (Stream<String> lines = Files.lines(Path.of("/proc/" + pid + "/status"))) {
            return lines.filter(line -> line.startsWith("State") || line.startsWith("Sig") || line.startsWith("Shd"))
                    .collect(Collectors.joining(" "));
        } catch (IOException | UncheckedIOException ended) {
            return "ended";
        }
    }

    static Ended end(Process process, Path output) throws IOException, InterruptedException {
        boolean ended = process.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        String left = ended ? "" : describe(process);
        process.destroyForcibly();
        assertThat(ended).as(Files.readString(output) + left).isTrue();
        return new Ended(process.exitValue(), Files.readString(output));
    }

    Ended run(String... command) throws IOException, InterruptedException {
        Path output = folder.resolve("output");
        return end(start(output, command), output);
    }

    /** Runs lines of bash after the files of scripts/lib have been read, with the options of the scripts. */
    Ended bash(String libraries, String... lines) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of("set -euo pipefail", "PROJECT=$PWD LIB=$PWD/scripts/lib"));
        for (String library : libraries.split(" ")) {
            all.add(". scripts/lib/" + library + ".sh");
        }
        all.addAll(List.of(lines));
        return run("bash", "-c", String.join("\n", all));
    }

    void signal(String signal, Process process) throws Exception {
        assertThat(run("sh", "-c", "kill -" + signal + " " + process.pid()).status())
                .isZero();
    }

    /** Returns the process numbers among the calls. */
    List<Long> numbers() {
        try {
            return calls().lines()
                    .filter(line -> line.matches("\\d+"))
                    .map(Long::valueOf)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static boolean runs(long number) {
        return ProcessHandle.of(number).isPresent();
    }
}

package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Loopback;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Runs the scripts that start programs of this project with an AOT cache. The JDK and the device are stubs that note how
 * they are started: no test here builds or starts anything.
 */
class AotCacheTest {
    @TempDir
    Path folder;

    private Path project;

    @BeforeEach
    void copyTheScripts() throws IOException {
        project = folder.resolve("project");
        for (Path root : List.of(Path.of("scripts"), Path.of("src/tools/jshell"))) {
            try (Stream<Path> files = Files.walk(root)) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    Path copy = project.resolve(file);
                    Files.createDirectories(copy.getParent());
                    Files.copy(file, copy, StandardCopyOption.COPY_ATTRIBUTES);
                }
            }
        }
        deviceIsHere(true);
        write("project/pom.xml", "<project><version>1</version></project>");
        write("project/bindings/README.md", "");
        write("project/snippets.jsh", "1 + 1");
        program("project/scripts/soft-roce", "echo \"soft-roce $*\" >> \"$CALLS\"");
        program("jdk/bin/java", """
                echo "java $*" >> "$CALLS"
                for word; do
                    if [[ $word =~ -XX:AOTCacheOutput=([^[:space:]]+) ]]; then echo cache > "${BASH_REMATCH[1]}"; fi
                done""");
        for (String tool : List.of("jdk/bin/javac", "jdk/bin/jar", "bin/ibv_rc_pingpong", "bin/ip", "bin/ss")) {
            program(tool, "exit 0");
        }
        jdk("25.0.1");
        write("project/target/verbena-1-tools.jar", "");
        write("project/target/built-tools", "");
        Files.setLastModifiedTime(
                project.resolve("target/verbena-1-tools.jar"),
                FileTime.from(Instant.now().minusSeconds(60)));
    }

    /** Makes a machine with a device, or one that needs a guest. */
    private void deviceIsHere(boolean here) throws IOException {
        Path file = project.resolve("scripts/lib/here.sh");
        Files.writeString(
                file, Files.readString(file) + "\ndevice_here() { " + here + "; }\ncan_add_device_here() { false; }\n");
    }

    private void jdk(String version) throws IOException {
        write("jdk/release", "JAVA_VERSION=\"" + version + "\"\n");
    }

    private Path write(String name, String text) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }

    private void program(String name, String body) throws IOException {
        Files.deleteIfExists(folder.resolve(name));
        assertThat(write(name, "#!/bin/bash\n" + body + "\n").toFile().setExecutable(true))
                .isTrue();
    }

    /** Runs a script, and returns how it started Java and the device. */
    private List<String> run(String line) throws IOException, InterruptedException {
        Path calls = folder.resolve("calls");
        Files.deleteIfExists(calls);
        Path output = folder.resolve("output");
        ProcessBuilder builder = new ProcessBuilder("bash", "-c", "scripts/" + line)
                .directory(project.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .redirectInput(Path.of("/dev/null").toFile());
        builder.environment().put("PATH", folder.resolve("bin") + ":" + System.getenv("PATH"));
        builder.environment().put("JAVA_HOME", folder.resolve("jdk").toString());
        builder.environment().put("CALLS", calls.toString());
        Process process = builder.start();
        boolean ended = process.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        process.destroyForcibly();
        assertThat(ended).as(Files.readString(output)).isTrue();
        assertThat(process.exitValue()).as(Files.readString(output)).isZero();
        return Files.readAllLines(calls);
    }

    private static boolean trains(String call) {
        return call.startsWith("java ") && call.contains("-XX:AOTCacheOutput=");
    }

    /** Returns the file of the option that uses a cache. */
    private static Path cacheOf(String call) {
        String option = " -XX:AOTCache=";
        assertThat(call).contains(option);
        String rest = call.substring(call.indexOf(option) + option.length());
        return Path.of(rest.substring(0, rest.indexOf(' ')));
    }

    @ParameterizedTest
    @ValueSource(strings = {"verbena devices", "jshell snippets.jsh", "jshell --tutorial", "demo"})
    void scriptsMakeTheirCacheOnceForEachBuild(String line) throws Exception {
        List<String> first = run(line);
        assertThat(first.getFirst()).matches(AotCacheTest::trains);
        assertThat(cacheOf(first.getLast())).isRegularFile();
        assertThat(first).hasSize(2);

        List<String> second = run(line);
        assertThat(second).containsExactly(first.getLast());

        Files.setLastModifiedTime(
                project.resolve("target/verbena-1-tools.jar"),
                FileTime.from(Instant.now().plusSeconds(60)));
        assertThat(run(line)).filteredOn(AotCacheTest::trains).hasSize(1);
    }

    @Test
    void buildMakesTheCachesOfAllScripts() throws Exception {
        program("bin/mvn", "echo new > target/verbena-1-tools.jar");
        Files.delete(project.resolve("target/built-tools"));

        List<String> calls = run("verbena devices");
        assertThat(calls).filteredOn(AotCacheTest::trains).hasSize(6);
        assertThat(cacheOf(calls.getLast())).isRegularFile();
        for (String line : List.of("verbena devices", "jshell snippets.jsh", "jshell --tutorial", "demo")) {
            assertThat(run(line)).noneMatch(AotCacheTest::trains);
        }
    }

    @Test
    void buildWithAnOlderJdkMakesNoCache() throws Exception {
        jdk("24.0.2");
        program("bin/mvn", "echo new > target/verbena-1-tools.jar");
        Files.delete(project.resolve("target/built-tools"));
        assertThat(run("verbena devices")).singleElement().asString().doesNotContain("AOTCache");
    }

    /** On a machine without a device, the compiler stays here, and the guest runs an agent. Both have a cache. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "jshell snippets.jsh",
                "jshell --tutorial",
                "jshell --guest snippets.jsh",
                "jshell --devices 2 snippets.jsh"
            })
    void guestRunsOnlyAnAgentOfTheShell(String line) throws Exception {
        deviceIsHere(line.matches(".*--(guest|devices).*"));
        List<String> calls = run(line);
        assertThat(calls).filteredOn(AotCacheTest::trains).hasSize(2);
        assertThat(calls).hasSize(3);
        String use = calls.getLast();
        assertThat(use)
                .startsWith("java ")
                .contains("dev.verbena.tools.shell." + (line.contains("tutorial") ? "Tutorial" : "Snippets"));
        String agent = agentOf(calls);
        assertThat(agent)
                .contains(
                        "setsid ",
                        "/soft-roce run " + (line.contains("--devices") ? "--devices 2 " : ""),
                        "-- java ",
                        " dev.verbena.tools.shell.Agent");
        assertThat(cacheOf(agent)).isRegularFile().isNotEqualTo(cacheOf(use));
    }

    /** An agent that waits in a guest for the next shell has the classes of the jar with which it was started. */
    @Test
    void agentOfANewBuildIsAnotherCommand() throws Exception {
        deviceIsHere(false);
        run("jshell snippets.jsh");
        String old = agentOf(run("jshell snippets.jsh"));
        assertThat(old).contains(" --spare -- ");
        assertThat(agentOf(run("jshell snippets.jsh"))).isEqualTo(old);
        Files.setLastModifiedTime(
                project.resolve("target/verbena-1-tools.jar"),
                FileTime.from(Instant.now().minusSeconds(30)));
        assertThat(agentOf(run("jshell snippets.jsh"))).isNotEqualTo(old);
    }

    private static String agentOf(List<String> calls) {
        String use = calls.getLast();
        return use.substring(use.indexOf("-Ddev.verbena.shell.agent="))
                .split(" ")[0]
                .replace('\t', ' ');
    }

    /** A cache is valid for the options about modules, and the class path, that it was made with. */
    @ParameterizedTest
    @ValueSource(strings = {"verbena devices", "jshell snippets.jsh", "jshell --tutorial"})
    void cacheIsMadeWithTheOptionsOfItsUse(String line) throws Exception {
        List<String> calls = run(line);
        String training = calls.getFirst();
        String use = calls.getLast();
        for (String word : List.of(training.split(" "))) {
            boolean isOption = word.startsWith("--") || word.endsWith(".jar") || word.startsWith("-XX:+");
            assertThat(use).contains(isOption ? " " + word + " " : "");
        }
        assertThat(use).doesNotContain("--illegal-native-access");
    }

    @Test
    void scriptsHaveDifferentCaches() throws Exception {
        List<Path> caches = List.of(
                cacheOf(run("verbena devices").getLast()),
                cacheOf(run("jshell snippets.jsh").getLast()),
                cacheOf(run("jshell --tutorial").getLast()),
                cacheOf(run("demo").getLast()));
        assertThat(caches).doesNotHaveDuplicates();
    }

    @Test
    void olderJdkHasNoCache() throws Exception {
        jdk("24.0.2");
        assertThat(run("jshell --tutorial")).singleElement().asString().doesNotContain("AOTCache");
    }
}

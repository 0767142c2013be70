package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests that a project compiles and runs against the library's jar, with nothing else on its paths. The jar is packed from
 * the compiled classes, or is the one that the property {@code dev.verbena.jar} names: {@code scripts/release} tests the
 * installed artefact.
 */
class JarConsumersTest {
    @TempDir
    static Path folder;

    private static Path jar;

    @BeforeAll
    static void packTheLibrary() {
        String built = System.getProperty("dev.verbena.jar");
        if (built != null) {
            jar = Path.of(built);
            return;
        }
        jar = folder.resolve("verbena.jar");
        assertThat(tool("jar", "--create", "--file", jar, "-C", ChildJvm.place(Rdma.class), "."))
                .isEmpty();
    }

    /** Runs a tool of the JDK and returns its output, with the status if it failed. */
    private static String tool(String name, Object... arguments) {
        StringWriter said = new StringWriter();
        int status;
        try (PrintWriter out = new PrintWriter(said)) {
            status = ToolProvider.findFirst(name)
                    .orElseThrow()
                    .run(out, out, Stream.of(arguments).map(Object::toString).toArray(String[]::new));
        }
        return (status == 0 ? "" : name + " failed: ") + said;
    }

    /** Writes a program that calls annotated methods, handles an exception and calls C. */
    private static Path program() throws IOException {
        Path source = folder.resolve("consumer/Consumer.java");
        Files.createDirectories(source.getParent());
        return Files.writeString(source, """
                package consumer;

                import dev.verbena.VerbsArena;
                import dev.verbena.cm.PortSpace;
                import dev.verbena.verbs.Device;
                import dev.verbena.verbs.QueuePairOptions;
                import dev.verbena.verbs.RemoteMemory;

                public class Consumer {
                    public static void main(String[] args) {
                        try (VerbsArena arena = VerbsArena.ofConfined()) {
                            RemoteMemory memory = new RemoteMemory(arena.allocate(64).address(), 7, 64);
                            if (!RemoteMemory.from(memory.toBytes()).equals(memory) || Device.list() == null) {
                                throw new AssertionError(memory);
                            }
                        }
                        System.out.println(Device.class.getModule() + ", " + PortSpace.TCP + ", "
                                + QueuePairOptions.class.getSimpleName());
                    }
                }
                """);
    }

    private static ChildJvm jvm(String module) {
        return ChildJvm.with(ChildJvm.DENY, "--enable-native-access=" + module);
    }

    @Test
    void moduleCompilesAndRuns(@TempDir Path classes) throws IOException {
        Path module = Files.writeString(
                folder.resolve("consumer/module-info.java"), "module consumer { requires dev.verbena; }");
        assertThat(tool("javac", "-Xlint:all", "-Werror", "-p", jar, "-d", classes, module, program()))
                .isEmpty();
        ChildJvm.Result ran =
                jvm("dev.verbena").option("-p", jar + ":" + classes).runAlone("-m", "consumer/consumer.Consumer");
        assertThat(ran.successfulOutput()).isEqualTo("module dev.verbena, TCP, QueuePairOptions\n");
    }

    @Test
    void imageOfJlinkRuns(@TempDir Path classes) throws Exception {
        Path module = Files.writeString(
                folder.resolve("consumer/module-info.java"), "module consumer { requires dev.verbena; }");
        assertThat(tool("javac", "-p", jar, "-d", classes, module, program())).isEmpty();
        Path image = folder.resolve("image");
        assertThat(tool("jlink", "-p", jar + ":" + classes, "--add-modules", "consumer", "--output", image))
                .isEmpty();
        Process process = new ProcessBuilder(
                        image.resolve("bin/java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "--enable-native-access=dev.verbena",
                        "-m",
                        "consumer/consumer.Consumer")
                .redirectErrorStream(true)
                .start();
        assertThat(new String(process.getInputStream().readAllBytes()))
                .isEqualTo("module dev.verbena, TCP, QueuePairOptions\n");
        assertThat(process.waitFor()).isZero();
    }

    @Test
    void classPathProgramCompilesAndRuns(@TempDir Path classes) throws IOException {
        assertThat(tool("javac", "-Xlint:all", "-Werror", "-cp", jar, "-d", classes, program()))
                .isEmpty();
        ChildJvm.Result ran =
                jvm("ALL-UNNAMED").option("-cp", jar + ":" + classes).runAlone("consumer.Consumer");
        assertThat(ran.successfulOutput()).startsWith("unnamed module").endsWith(", TCP, QueuePairOptions\n");
    }

    @Test
    void jarNeedsNoModuleButTheJdks() {
        List<String> needed = tool("jar", "--describe-module", "--file", jar)
                .lines()
                .filter(line -> line.startsWith("requires "))
                .filter(line -> !line.contains("static"))
                .map(line -> line.split(" ")[1])
                .toList();
        assertThat(needed).containsExactlyInAnyOrder("java.base", "jdk.jfr", "jdk.net");
    }
}

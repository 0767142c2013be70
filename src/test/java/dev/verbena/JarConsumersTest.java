package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.docs.Versions;
import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
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
    /** A package in a manifest's list, where versions and the packages that it uses follow it. */
    private static final Pattern PACKAGE = Pattern.compile("(?:^|,)([a-z.]+);");

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
        String flag = "--add-options=--enable-native-access=dev.verbena";
        assertThat(tool("jlink", "-p", jar + ":" + classes, "--add-modules", "consumer", "--output", image, flag))
                .isEmpty();
        Process process = new ProcessBuilder(
                        image.resolve("bin/java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        ChildJvm.DENY,
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
    void manifestOfAProgramEnablesNativeAccess(@TempDir Path classes) throws IOException {
        assertThat(tool("javac", "-cp", jar, "-d", classes, program())).isEmpty();
        Path manifest = Files.writeString(
                folder.resolve("manifest"),
                "Main-Class: consumer.Consumer\nEnable-Native-Access: ALL-UNNAMED\nClass-Path: " + jar.toUri() + "\n");
        Path program = folder.resolve("program.jar");
        assertThat(tool("jar", "--create", "--file", program, "--manifest", manifest, "-C", classes, "."))
                .isEmpty();
        ChildJvm.Result ran = ChildJvm.with(ChildJvm.DENY).runAlone("-jar", program.toString());
        assertThat(ran.successfulOutput()).startsWith("unnamed module").endsWith(", TCP, QueuePairOptions\n");
    }

    /** Returns the jar of Maven's build, of which the compiled classes alone would lack the manifest. */
    private static Path builtJar() throws IOException {
        if (System.getProperty("dev.verbena.jar") != null) {
            return jar;
        }
        Path built = Path.of("target/verbena-" + Versions.ofPom() + ".jar");
        assumeTrue(
                Files.exists(built)
                        && Files.getLastModifiedTime(built).compareTo(Files.getLastModifiedTime(Path.of("pom.xml")))
                                > 0,
                "no jar of this pom: 'mvn package' makes one, and scripts/release tests its jar");
        return built;
    }

    @Test
    void manifestNamesVersionLicenceAndExports() throws IOException {
        Path built = builtJar();
        try (JarFile file = new JarFile(built.toFile())) {
            Attributes manifest = file.getManifest().getMainAttributes();
            String version = manifest.getValue("Implementation-Version");
            assertThat(built.getFileName()).hasToString("verbena-" + version + ".jar");
            assertThat(manifest.getValue("Implementation-Title")).isEqualTo("Verbena");
            assertThat(manifest.getValue("Bundle-License")).contains("Apache-2.0");
            assertThat(file.getEntry("META-INF/LICENSE")).isNotNull();
            assertThat(manifest.getValue("Bundle-SymbolicName")).isEqualTo("dev.verbena");
            assertThat(PACKAGE.matcher(manifest.getValue("Export-Package"))
                            .results()
                            .map(found -> found.group(1)))
                    .containsExactlyInAnyOrderElementsOf(exports(built));
            assertThat(manifest.getValue("Import-Package").split(","))
                    .allMatch(name -> name.matches(
                            "java\\..*|javax\\.crypto.*|javax\\.management;resolution:=optional|jdk\\.jfr|jdk\\.net"));
        }
    }

    /** Returns the packages that the module in a jar exports. */
    private static List<String> exports(Path built) {
        return ModuleFinder.of(built).find("dev.verbena").orElseThrow().descriptor().exports().stream()
                .map(ModuleDescriptor.Exports::source)
                .toList();
    }

    /** The library needs nothing at run time; the tools' jar has HdrHistogram, and tests have much more. */
    @Test
    void billOfMaterialsListsNothing() throws IOException {
        Path bill = Path.of(builtJar().toString().replaceFirst("\\.jar$", "-cyclonedx.json"));
        assumeTrue(Files.exists(bill), "no bill of materials: 'mvn verify' makes one");
        assertThat(Files.readString(bill).replaceAll("\\s", ""))
                .contains("\"bomFormat\":\"CycloneDX\"", "\"name\":\"verbena\"")
                .containsPattern(
                        "\"dependencies\":\\[\\{\"ref\":\"pkg:maven/dev.verbena/verbena@[^\"]*\",\"dependsOn\":\\[]}]");
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

package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.Rdma;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.Slow;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import strangers.HttpOverRdma;

/**
 * A program that knows nothing of RDMA, in a jar of its own, with the provider's flag; and {@code curl} as a client. {@link
 * StockProgramTest} has a smaller one, and {@link InteropTest} a client in C.
 */
@Slow
class HttpTest {
    /** Makes a jar of one class, which {@code java -jar} starts. */
    private static Path jar(Class<?> program, Path folder) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, program.getName());
        Path jar = folder.resolve("program.jar");
        String name = program.getName().replace('.', '/') + ".class";
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest);
                InputStream in = program.getResourceAsStream("/" + name)) {
            out.putNextEntry(new JarEntry(name));
            in.transferTo(out);
        }
        return jar;
    }

    @Test
    void httpServerOfTheJdkInAJarServesItsClientAndCurlOverRdma(@TempDir Path folder) throws Exception {
        List<String> arguments = new ArrayList<>(List.of(
                "--module-path",
                ChildJvm.place(Rdma.class).toString(),
                "--add-modules=dev.verbena",
                "--enable-native-access=dev.verbena",
                "-Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.RdmaSelectorProvider",
                "-jar",
                jar(HttpOverRdma.class, folder).toString(),
                CmAddress.four(0).getAddress().getHostAddress()));
        arguments.addAll(Preload.of(List.of("curl", "--silent", "--show-error", "--max-time", "120")));
        String output =
                ChildJvm.with().runAlone(arguments.toArray(String[]::new)).successfulOutput();
        assertThat(output)
                .contains("http 1 bytes: 200 true", "http 1000 bytes: 200 true", "http 300000 bytes: 200 true")
                .contains(
                        "http in tcp: 0",
                        "http in tcp6: 0",
                        curlOpensPlainSockets() ? "curl: true 0" : "curl: (7)",
                        "done");
    }

    /**
     * Returns true if sockets of curl are of no type but SOCK_STREAM. Newer releases add SOCK_NONBLOCK, which rsockets refuse.
     * The preloaded library then opens a TCP socket, and nobody listens by TCP.
     */
    private static boolean curlOpensPlainSockets() throws Exception {
        Process curl = new ProcessBuilder("curl", "--version").start();
        String version = new String(curl.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return version.matches("(?s)curl ([0-7]|8\\.[0-8])\\..*");
    }
}

package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.FencedTest;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the program in the README runs. */
@FencedTest
class FirstProgramTest {
    @Test
    void firstProgramReadsRemoteMemory(@TempDir Path classes) throws Exception {
        assertThat(Programs.compile(Programs.FIRST, classes)).isEmpty();
        PrintStream console = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {classes.toUri().toURL()})) {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            loader.loadClass(Programs.FIRST).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(console);
        }
        assertThat(printed.toString(StandardCharsets.UTF_8)).contains("RDMA_READ", "success", "remote memory\n");
    }
}

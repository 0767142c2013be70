package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.tools.Listening;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.ConnectException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that both ends of the guide's program for two machines work together. */
@FencedTest
class TwoMachinesTest {
    @Test
    void readerReadsTheMemoryOfTheOtherSide(@TempDir Path classes) throws Exception {
        assertThat(Programs.compile("TwoMachines", classes)).isEmpty();
        int port = Listening.freePort();
        PrintStream console = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {classes.toUri().toURL()})) {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            Method main = loader.loadClass("TwoMachines").getMethod("main", String[].class);
            FutureTask<Object> holder =
                    new FutureTask<>(() -> main.invoke(null, (Object) new String[] {String.valueOf(port)}));
            Thread.ofPlatform().daemon().start(holder);
            Await.until("the holder of the memory listens", () -> reads(main, port));
            holder.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        } finally {
            System.setOut(console);
        }
        assertThat(printed.toString(StandardCharsets.UTF_8)).contains("RDMA_READ", "success", "remote memory\n");
    }

    /** Runs the reading end. Returns false if the other end does not listen yet. */
    private static boolean reads(Method main, int port) {
        try {
            main.invoke(null, (Object) new String[] {String.valueOf(port), "127.0.0.1"});
            return true;
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof ConnectException) {
                return false;
            }
            throw new AssertionError(e.getCause());
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }
}

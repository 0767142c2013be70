package dev.verbena.examples;

import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** The example {@code MemoryDisk} in a process of its own. Closing it kills the process. */
public final class Target implements AutoCloseable {
    /** The name of the disk. */
    public static final String NAME = "nqn.2026-11.dev.verbena:disk";

    private static final String PROGRAM = "dev.verbena.examples.nvme.MemoryDisk";

    public final InetSocketAddress address;
    private final Process process;
    private final StringBuffer output = new StringBuffer();

    /** Starts a target on a port, with the size and what else its command line takes, and waits until it serves. */
    public Target(int port, String... arguments) throws Exception {
        address = CmAddress.four(port);
        String[] all = new String[arguments.length + 1];
        all[0] = address.getHostString() + ":" + port;
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        process = ChildJvm.with("--enable-native-access=ALL-UNNAMED").startOnClassPath(Class.forName(PROGRAM), all);
        Thread.ofPlatform().daemon().start(this::copyOutput);
        awaitOutput("serving");
    }

    private void copyOutput() {
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                output.append(line).append('\n');
                System.out.println("target: " + line);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void awaitOutput(String text) {
        Await.until("'" + text + "' in the output of the target:\n" + output, () -> {
            if (!process.isAlive()) {
                throw new AssertionError("the target has ended:\n" + output);
            }
            return output.indexOf(text) >= 0;
        });
    }

    /** Types a larger size. */
    void grow(String size) throws IOException {
        process.getOutputStream().write((size + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    @Override
    public void close() {
        process.destroyForcibly();
        Await.until("the target ends", () -> !process.isAlive());
    }
}

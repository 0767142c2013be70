package dev.verbena.support;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** Another soft-RoCE device of the test guest, on its own network device, which a test can remove. */
public final class SecondDevice implements AutoCloseable {
    public static final String ADDRESS = "10.9.8.1";

    private static final String NAME = "rxe9";
    private static final String NETWORK = "e9";
    private static final Path OURS = Path.of("/sys/devices/virtual/net/e0");
    private static final Path VERBS = Path.of("/sys/class/infiniband_verbs");

    private SecondDevice() {}

    /** Makes the device. Outside the test guest, skips the test and does not change the network. */
    public static SecondDevice make() throws IOException {
        Assumptions.assumeTrue(
                Files.isDirectory(OURS) && TestDevice.get().name().equals("rxe0"),
                "devices are made and removed in the test guest only");
        SecondDevice device = new SecondDevice();
        run("ip", "link", "add", NETWORK, "type", "dummy");
        try {
            run("ip", "addr", "add", ADDRESS + "/24", "dev", NETWORK);
            run("ip", "link", "set", NETWORK, "up");
            run("rdma", "link", "add", NAME, "type", "rxe", "netdev", NETWORK);
            Await.until(
                    NAME,
                    () -> isThere()
                            && Device.list().stream()
                                    .anyMatch(each -> each.name().equals(NAME)));
        } catch (Throwable t) {
            device.close();
            throw t;
        }
        return device;
    }

    public Device device() {
        return Device.named(NAME);
    }

    /** Starts the removal and returns when the kernel has begun. The removal ends when the device is unused. */
    public Process remove() throws IOException {
        Process removal = new ProcessBuilder("rdma", "link", "del", NAME)
                .redirectErrorStream(true)
                .start();
        Await.until("the removal of " + NAME, () -> !isThere());
        return removal;
    }

    /** Tells whether processes can open the device. */
    private static boolean isThere() {
        try (Stream<Path> devices = Files.list(VERBS)) {
            List<Path> all = devices.filter(each -> Files.isDirectory(each)).toList();
            for (Path each : all) {
                if (name(each).equals(NAME)) {
                    return Files.exists(
                            Path.of("/dev/infiniband", each.getFileName().toString()));
                }
            }
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String name(Path device) {
        try {
            return Files.readString(device.resolve("ibdev")).strip();
        } catch (IOException gone) {
            return "";
        }
    }

    @Override
    public void close() throws IOException {
        if (isThere()) {
            run("rdma", "link", "del", NAME);
        }
        run("ip", "link", "del", NETWORK);
    }

    private static void run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.onExit()
                        .orTimeout(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS)
                        .join()
                        .exitValue())
                .as(String.join(" ", command) + ": " + output)
                .isZero();
    }
}

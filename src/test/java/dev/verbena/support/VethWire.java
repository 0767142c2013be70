package dev.verbena.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Two soft-RoCE devices of the test guest, {@code wire1} and {@code wire2}, and the wire between them. */
public final class VethWire {
    /** The address of {@code wire1}. */
    public static final String FIRST = "10.8.0.1";

    /** The address of {@code wire2}. */
    public static final String SECOND = "10.8.0.2";

    private VethWire() {}

    /** Makes the devices. */
    public static void lay() throws IOException {
        run();
    }

    /** Makes the devices with a gap in the wire, between the network devices {@code m1} and {@code m2}. */
    public static void layCut() throws IOException {
        run("cut");
    }

    public static void remove() throws IOException {
        run("down");
    }

    private static void run(String... what) throws IOException {
        List<String> command = new ArrayList<>(List.of("src/test/resources/wire.sh"));
        command.addAll(List.of(what));
        Process script = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(script.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(script.onExit().join().exitValue()).as(output).isZero();
    }
}

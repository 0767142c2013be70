package dev.verbena.support;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** The program {@code cmtime} of rdma-core, which makes and ends connections. */
public final class CmTime {
    /** The milliseconds of a step, for all connections. */
    private static final Pattern STEP = Pattern.compile("(?m)^[a-z ]+: +([0-9.]+) ");

    private CmTime() {}

    /**
     * Makes and ends connections, and prints the program's report.
     *
     * @param address an address of this machine
     * @return the milliseconds of all steps
     */
    public static double milliseconds(String address, int connections) throws Exception {
        Process server = new ProcessBuilder("cmtime", "-b", address)
                .redirectErrorStream(true)
                .start();
        try {
            Resources.awaitListener(7471);
            Process client = new ProcessBuilder("cmtime", "-s", address, "-c", "" + connections)
                    .redirectErrorStream(true)
                    .start();
            String output = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(client.waitFor(DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .as(output)
                    .isTrue();
            System.out.println("C makes " + connections + " connections, cmtime:\n" + output);
            double sum = STEP.matcher(output)
                    .results()
                    .mapToDouble(step -> Double.parseDouble(step.group(1)))
                    .sum();
            assertThat(sum).as(output).isPositive();
            return sum;
        } finally {
            server.destroyForcibly().waitFor();
        }
    }
}

package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.CmAddress;
import dev.verbena.support.LongTest;
import dev.verbena.support.Resources;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** All channels of a node lose their connections at once: the time until all are back, beside that of {@code cmtime} in C. */
@LongTest
class HealStormOnDeviceTest {
    private static final int CHANNELS = Integer.getInteger("dev.verbena.storm.channels", 500);

    /** A line of cmtime: a step, and the milliseconds that it took for all connections. */
    private static final Pattern STEP_OF_C = Pattern.compile("(?m)^([a-z ]+): +([0-9.]+) ");

    @Test
    void channelsThatLoseTheirConnectionsAtOnceComeBack() throws Exception {
        InetSocketAddress own = CmAddress.four(0);
        double inC = inC(own.getAddress().getHostAddress());
        HealStorm.Times times = HealStorm.of(own, CHANNELS);
        System.out.printf(
                "%d connections: C makes and ends them in %.0f ms; channels were made in %.0f ms, and back in %.0f ms, %.2f"
                        + " times as long as C (1.25 is wanted)%n",
                CHANNELS, inC, times.made(), times.back(), times.back() / inC);
    }

    /** Returns the time in which the program of rdma-core makes and ends connections. */
    private static double inC(String address) throws Exception {
        Process server = new ProcessBuilder("cmtime", "-b", address)
                .redirectErrorStream(true)
                .start();
        try {
            Resources.awaitListener(7471);
            Process client = new ProcessBuilder("cmtime", "-s", address, "-c", "" + CHANNELS)
                    .redirectErrorStream(true)
                    .start();
            String output = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(client.waitFor(DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .as(output)
                    .isTrue();
            System.out.println(output);
            double milliseconds = STEP_OF_C
                    .matcher(output)
                    .results()
                    .mapToDouble(step -> Double.parseDouble(step.group(2)))
                    .sum();
            assertThat(milliseconds).as(output).isPositive();
            return milliseconds;
        } finally {
            server.destroyForcibly().waitFor();
        }
    }
}

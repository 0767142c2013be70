package dev.verbena.net;

import dev.verbena.support.CmAddress;
import dev.verbena.support.LongTest;
import dev.verbena.tools.CmTime;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** All channels of a node lose their connections at once: the time until all are back, beside that of {@code cmtime} in C. */
@LongTest
class HealStormOnDeviceTest {
    private static final int CHANNELS = Integer.getInteger("dev.verbena.storm.channels", 500);

    @Test
    void channelsThatLoseTheirConnectionsAtOnceComeBack() throws Exception {
        InetSocketAddress own = CmAddress.four(0);
        double inC = CmTime.milliseconds(own.getAddress().getHostAddress(), CHANNELS);
        HealStorm.Times times = HealStorm.of(own, CHANNELS);
        System.out.printf(
                "%d connections: C makes and ends them in %.0f ms; channels were made in %.0f ms, and back in %.0f ms, %.2f"
                        + " times as long as C (1.25 is wanted)%n",
                CHANNELS, inC, times.made(), times.back(), times.back() / inC);
    }
}

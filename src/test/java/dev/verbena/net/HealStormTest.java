package dev.verbena.net;

import dev.verbena.support.FencedTest;
import org.junit.jupiter.api.Test;

/** All channels of a node lose their connections at once. {@link HealStormOnDeviceTest} compares the time with that of C. */
@FencedTest
class HealStormTest {
    private static final int CHANNELS = Integer.getInteger("dev.verbena.storm.channels", 500);

    @Test
    void channelsThatLoseTheirConnectionsAtOnceComeBack() throws Exception {
        HealStorm.Times times = HealStorm.of(NodePair.OWN, CHANNELS);
        System.out.printf("%d channels made in %.0f ms, and back in %.0f ms%n", CHANNELS, times.made(), times.back());
    }
}

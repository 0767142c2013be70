package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.support.Resources;
import dev.verbena.support.VethWire;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** A channel whose wire loses all packets for a part of each second. {@link HealFlapsTest} runs this. */
class HealFlaps {
    static final String SECONDS = "dev.verbena.flaps.seconds";

    private static final int EACH_MILLIS = 1000;
    private static final int LONGEST_MILLIS = 900;

    /** A connect needs some hundred milliseconds of a wire that works: a guest on a busy machine needs many tries. */
    private static final NodeOptions HEALS = HealOnDeviceTest.HEALS.heal(Duration.ofMinutes(2));

    @Test
    void nothingIsLostAndNothingComesTwice() throws Exception {
        long seconds = Long.getLong(SECONDS);
        try (VerbsArena arena = VerbsArena.ofShared();
                CutWire wire = new CutWire();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Node server = NodePair.open(HEALS, new InetSocketAddress(VethWire.SECOND, 0), arena);
            Node client = NodePair.open(HEALS, new InetSocketAddress(VethWire.FIRST, 0), arena);
            Future<Channel> accepting = threads.submit(() -> server.accept(DEADLINE));
            Channel channel = client.connect(server.address(), DEADLINE);
            Channel accepted = NodePair.end(accepting);
            NumberedTraffic traffic = new NumberedTraffic(new NodePair.Ends(channel, accepted), threads);
            SplittableRandom random = new SplittableRandom(seconds);
            long began = System.nanoTime();
            for (long flap = 0; flap < seconds; flap++) {
                int down = random.nextInt(LONGEST_MILLIS);
                int direction = random.nextInt(4);
                wire.lose(packet -> direction > 1 || packet.toServer() == (direction == 0));
                awaitMillis(began, flap * EACH_MILLIS + down);
                wire.lose(packet -> false);
                awaitMillis(began, (flap + 1) * EACH_MILLIS);
                assertThat(channel.cause())
                        .as("after %s flaps, %s and %s", flap + 1, channel.statistics(), accepted.statistics())
                        .isEmpty();
            }
            int calls = traffic.end();
            System.out.println("flaps: " + seconds + ", reconnects: "
                    + channel.statistics().reconnects() + ", messages to the server and calls: "
                    + accepted.statistics().received() + ", to the client: "
                    + channel.statistics().received() + ", calls: " + calls + ", resident: " + Resources.residentKib()
                    + " KiB");
        }
    }

    private static void awaitMillis(long began, long millis) {
        Await.until("the time of a flap", () -> System.nanoTime() - began > millis * 1_000_000);
    }
}

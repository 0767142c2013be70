package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.support.Await;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Channels between two machines that have two paths: the first one is the wire with the faults. */
@PairTest
class HealOverSecondPathTest {
    private static final String CUT = "wire netem limit 100000 loss 100%";
    private static final String CLEAR = "wire clear";

    /** Longer than all that a channel waits for here. */
    private static final Duration HEAL = Duration.ofMinutes(2);

    private static final NodeOptions BOTH_PATHS = HealingEnd.options(HEAL).paths(Laboratory.ownLink(0));
    /** Longer than until the end of the second attempt for the first path. */
    private static final long ATTEMPTS_NANOS = 20_000_000_000L;

    /** More numbers than both windows have. */
    private static final int MANY = 100;

    private static final String FIRST = "rxe0";
    private static final String SECOND = "rxe1";

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    private final ExecutorService threads =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());

    @AfterEach
    void endThreads() {
        threads.shutdownNow();
    }

    /** A channel, and messages in both directions without a pause. */
    private final class Busy {
        final Channel channel;
        private final HealingEnd.Traffic traffic = new HealingEnd.Traffic();
        private final Conversation peer;
        private final AtomicBoolean over = new AtomicBoolean();
        private final Future<Void> taken;
        private final Future<Long> sent;

        Busy(Node node, InetSocketAddress to, Conversation peer) throws Exception {
            this.peer = peer;
            peer.say(HealingEnd.ACCEPT);
            channel = node.connect(to, DEADLINE);
            assertThat(peer.next()).isEqualTo("done");
            taken = threads.submit(() -> traffic.take(channel));
            sent = threads.submit(() -> HealingEnd.sendUntil(over, channel));
            Await.until("a number has come", () -> traffic.firstAt() != 0);
        }

        /** Does something, and waits until numbers come over a device. Returns the longest time without one, in ms. */
        long longestPause(Step step, String device) throws Exception {
            traffic.watch();
            step.run();
            Await.until("the channel is on " + device, () -> isOn(channel, device));
            long before = traffic.taken.get();
            Await.until("numbers come over " + device, () -> traffic.taken.get() > before + MANY);
            return traffic.longestPause() / 1_000_000;
        }

        /** Ends the traffic, of which nothing is lost, twice or out of order. */
        void end() throws Exception {
            over.set(true);
            String result = sent.get() + " numbers, 0 requests";
            NodeEnd.send(channel, HealingEnd.LAST);
            assertThat(peer.ask(HealingEnd.RESULT)).startsWith(result);
            taken.get();
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    private static boolean isOn(Channel channel, String device) {
        return !channel.toString().contains("without a path")
                && channel.queuePair().context().device().name().equals(device);
    }

    private Conversation start() throws Exception {
        Conversation peer = laboratory.start(HealingEnd.class).within(DEADLINE.multipliedBy(2));
        peer.say(HEAL.toSeconds() + HealingEnd.PATHS);
        return peer;
    }

    @Test
    void channelTakesTheSecondPathWhenTheWireIsCutAndTheFirstOneAgain() throws Exception {
        Conversation peer = start();
        InetSocketAddress to = Laboratory.peer(Integer.parseInt(peer.next()));
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Busy busy = new Busy(Node.open(Laboratory.own(0), BOTH_PATHS, arena), to, peer);
            long usual = busy.longestPause(() -> {}, FIRST);
            long cut = busy.longestPause(() -> laboratory.request(CUT), SECOND);
            long back = busy.longestPause(() -> laboratory.request(CLEAR), FIRST);
            assertThat(busy.channel.statistics().reconnects()).isEqualTo(2);
            busy.end();
            System.out.println("longest time without a message: " + usual + " ms over the first path, " + cut
                    + " ms from the cut to the second path, " + back + " ms back to the first one");
        }
        peer.end();
    }

    /** The wire is cut before the node connects, and stays so: attempts over it do not disturb the channel. */
    @Test
    void secondPathCanBeTheOnlyOne() throws Exception {
        Conversation peer = start();
        peer.next();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), BOTH_PATHS, arena);
            laboratory.request(CUT);
            Busy busy = new Busy(node, Laboratory.peerLink(HealingEnd.PATH_PORT), peer);
            long usual = busy.longestPause(() -> {}, SECOND);
            long begun = System.nanoTime();
            long meanwhile = busy.longestPause(
                    () -> Await.until("two attempts were made", () -> System.nanoTime() - begun > ATTEMPTS_NANOS),
                    SECOND);
            assertThat(busy.channel.statistics().reconnects()).isZero();
            busy.end();
            System.out.println("longest time without a message: " + usual + " ms over the second path, " + meanwhile
                    + " ms while the first one is tried in vain");
        }
        peer.end();
    }
}

package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.EndReason;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.support.Await;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Channels that heal, between two machines. {@code -Ddev.verbena.cut.seconds=N} sets the time of a cut, and
 * {@code -Ddev.verbena.flaps.seconds=N} that of a wire that flaps. Above 500, it needs {@code
 * -Ddev.verbena.watchdog.seconds=2N} too. The last test leaves the other machine without power.
 */
@PairTest
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class HealOnWireTest {
    private static final String NO_PACKET = "netem limit 100000 loss 100%";
    private static final String EACH_PACKET = "pfifo_fast";
    private static final String CUT = "wire " + NO_PACKET;
    private static final String CLEAR = "wire clear";

    /** Longer than all faults after which a channel goes on. */
    private static final int HEAL = 120;

    private static final int SHORT_HEAL = 6;

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    private final ExecutorService threads =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());

    @AfterEach
    void endThreads() {
        threads.shutdownNow();
    }

    /** The places of a fault. */
    private enum Place {
        /** On the wire, in both directions, as {@code scripts/soft-roce} makes it. */
        WIRE,
        /** In what this machine sends. */
        OWN_END,
        /** In what the other machine sends. */
        END_OF_PEER
    }

    /** The faults after which a channel goes on. */
    enum Fault {
        CUT_FOR_A_MOMENT(Place.WIRE, CUT, CLEAR, 100),
        CUT_FOR_A_SECOND(Place.WIRE, CUT, CLEAR, 1000),
        CUT_FOR_LONG(Place.WIRE, CUT, CLEAR, 1000 * Integer.getInteger("dev.verbena.cut.seconds", 5)),
        CUT_FOR_HALF_A_MINUTE(Place.WIRE, CUT, CLEAR, 30_000),
        CUT_TO_THE_PEER(Place.OWN_END, NO_PACKET, EACH_PACKET, 4000),
        CUT_FROM_THE_PEER(Place.END_OF_PEER, NO_PACKET, EACH_PACKET, 4000),
        LOSS_OF_A_THIRD(Place.WIRE, "wire netem limit 100000 loss 30%", CLEAR, 10_000),
        REORDERING(Place.WIRE, "wire netem limit 100000 delay 5ms reorder 25%", CLEAR, 5000),
        NO_CARRIER(Place.WIRE, "wire down", "wire up", 4000),
        FLAPS(Place.WIRE, CUT, CLEAR, 500, Integer.getInteger("dev.verbena.flaps.seconds", 10));

        private final Place place;
        private final String begin;
        private final String end;
        private final long millis;
        private final int times;

        Fault(Place place, String begin, String end, long millis) {
            this(place, begin, end, millis, 1);
        }

        Fault(Place place, String begin, String end, long millis, int times) {
            this.place = place;
            this.begin = begin;
            this.end = end;
            this.millis = millis;
            this.times = times;
        }
    }

    private void change(Conversation peer, Place place, String how) throws Exception {
        switch (place) {
            case WIRE -> laboratory.request(how);
            case OWN_END -> Laboratory.changeOwnEnd(how);
            case END_OF_PEER -> assertThat(peer.ask(HealingEnd.WIRE + how)).isEqualTo("done");
        }
    }

    private Conversation start(int heal) throws Exception {
        Conversation peer = laboratory.start(HealingEnd.class).within(DEADLINE.multipliedBy(2));
        peer.say("" + heal);
        return peer;
    }

    private static Channel connect(Node node, Conversation peer, int port) throws Exception {
        peer.say(HealingEnd.ACCEPT);
        Channel made = node.connect(Laboratory.peer(port), DEADLINE);
        assertThat(peer.next()).isEqualTo("done");
        return made;
    }

    private static long callUntil(AtomicBoolean over, Channel channel) throws InterruptedException {
        long i = 0;
        for (; !over.get(); i++) {
            try (Message reply = channel.call(NodeEnd.numbered(channel.message(DEADLINE), i), DEADLINE)) {
                assertThat(reply.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(i);
            }
        }
        return i;
    }

    private static void awaitMillis(long millis) {
        long begun = System.nanoTime();
        Await.until("the time is over", () -> System.nanoTime() - begun > millis * 1_000_000);
    }

    private static boolean isHealing(Channel channel) {
        return channel.toString().contains("without a path");
    }

    @ParameterizedTest
    @EnumSource
    @Order(1)
    void nothingIsLostAndNothingComesTwice(Fault fault) throws Exception {
        Conversation peer = start(HEAL);
        int port = Integer.parseInt(peer.next());
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), HealingEnd.options(Duration.ofSeconds(HEAL)), arena);
            Channel channel = connect(node, peer, port);
            HealingEnd.Traffic traffic = new HealingEnd.Traffic();
            AtomicBoolean over = new AtomicBoolean();
            Future<Void> taken = threads.submit(() -> traffic.take(channel));
            Future<Long> sent = threads.submit(() -> HealingEnd.sendUntil(over, channel));
            Future<Long> called = threads.submit(() -> callUntil(over, channel));
            Await.until("traffic in both directions", () -> traffic.taken.get() > 10);
            for (int i = 0; i < fault.times; i++) {
                if (i > 0) {
                    awaitMillis(fault.millis);
                }
                change(peer, fault.place, fault.begin);
                awaitMillis(fault.millis);
                change(peer, fault.place, fault.end);
                if (i % 100 == 99) {
                    System.out.println(fault + ": " + (i + 1)); // a run without a line counts as hung
                }
            }
            traffic.watch();
            long ended = System.nanoTime();
            Await.until("a number has come", () -> traffic.firstAt() != 0);
            over.set(true);
            String result = sent.get() + " numbers, " + called.get() + " requests";
            NodeEnd.send(channel, HealingEnd.LAST);
            assertThat(peer.ask(HealingEnd.RESULT)).startsWith(result);
            taken.get();
            System.out.println(fault + ": the first message after " + (traffic.firstAt() - ended) / 1_000_000 + " ms, "
                    + channel.statistics().reconnects() + " reconnects, " + result + ", " + traffic.taken + " taken");
        }
        peer.end();
    }

    @Test
    @Order(2)
    void peerThatIsFrozenForTooLongIsLostAndItsNodeGoesOn() throws Exception {
        Conversation peer = start(SHORT_HEAL);
        int port = Integer.parseInt(peer.next());
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), HealingEnd.options(Duration.ofSeconds(SHORT_HEAL)), arena);
            Channel channel = connect(node, peer, port);
            laboratory.request("freeze b");
            assertEnds(channel, threads.submit(() -> new HealingEnd.Traffic().take(channel)));
            channel.close();
            laboratory.request("thaw b");
            assertThat(peer.ask(HealingEnd.RESULT)).isEqualTo(EndReason.LOST.name());
            Channel next = connect(node, peer, port);
            NodeEnd.send(next, HealingEnd.LAST);
            assertThat(peer.ask(HealingEnd.RESULT)).startsWith("0 numbers, 0 requests");
        }
        peer.end();
    }

    /** Its adapter goes on, and acknowledges what it gets: the connection is not lost. */
    @Test
    @Order(2)
    void peerWhoseProcessIsStoppedForLongerThanHealGoesOn() throws Exception {
        Conversation peer = start(SHORT_HEAL);
        int port = Integer.parseInt(peer.next());
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), HealingEnd.options(Duration.ofSeconds(SHORT_HEAL)), arena);
            Channel channel = connect(node, peer, port);
            HealingEnd.Traffic traffic = new HealingEnd.Traffic();
            AtomicBoolean over = new AtomicBoolean();
            Future<Void> taken = threads.submit(() -> traffic.take(channel));
            Future<Long> sent = threads.submit(() -> HealingEnd.sendUntil(over, channel));
            assertThat(peer.ask(HealingEnd.STOP + 2 * SHORT_HEAL)).isEqualTo("done");
            Await.until("the peer is stopped", () -> isQuietFor(traffic, SHORT_HEAL));
            traffic.watch();
            Await.until("a number has come", () -> traffic.firstAt() != 0);
            over.set(true);
            String result = sent.get() + " numbers, 0 requests";
            NodeEnd.send(channel, HealingEnd.LAST);
            assertThat(peer.ask(HealingEnd.RESULT)).startsWith(result);
            taken.get();
            System.out.println("stopped for " + 2 * SHORT_HEAL + " s with a limit of " + SHORT_HEAL + " s: "
                    + channel.statistics().reconnects() + " reconnects, " + result + ", " + traffic.taken + " taken");
        }
        peer.end();
    }

    private static boolean isQuietFor(HealingEnd.Traffic traffic, int seconds) {
        long before = traffic.taken.get();
        long begun = System.nanoTime();
        Await.until(
                "the time is over or a number has come",
                () -> traffic.taken.get() != before || System.nanoTime() - begun > seconds * 1_000_000_000L);
        return traffic.taken.get() == before;
    }

    /** The node of the peer has no other device, and ends. */
    @Test
    @Order(3)
    void channelWhosePeerLosesItsOnlyDeviceIsLost() throws Exception {
        Conversation peer = start(SHORT_HEAL);
        int port = Integer.parseInt(peer.next());
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), HealingEnd.options(Duration.ofSeconds(SHORT_HEAL)), arena);
            Channel channel = connect(node, peer, port);
            Future<Void> waiting = threads.submit(() -> new HealingEnd.Traffic().take(channel));
            assertThat(peer.ask(HealingEnd.DELETE_DEVICE)).isEqualTo("done");
            assertEnds(channel, waiting);
            assertThat(peer.ask(HealingEnd.RESULT)).isEqualTo(EndReason.DEVICE_REMOVED.name());
        }
        laboratory.cutPower(); // the device comes back with the machine
    }

    private static void assertEnds(Channel channel, Future<?> waiting) {
        long begun = System.nanoTime();
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(waiting::get)
                .withCauseInstanceOf(ChannelException.class);
        assertThat(channel.cause())
                .hasValueSatisfying(
                        end -> assertThat(((ChannelException) end).reason()).isEqualTo(EndReason.LOST));
        System.out.println("LOST after " + (System.nanoTime() - begun) / 1_000_000 + " ms with a limit of " + SHORT_HEAL
                + " s: " + channel.cause().orElseThrow().getMessage());
    }

    @Test
    @Order(4)
    void peerThatIsKilledWhileTheChannelHealsIsLostAndOtherChannelsLive() throws Exception {
        Conversation peer = start(SHORT_HEAL);
        int port = Integer.parseInt(peer.next());
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), HealingEnd.options(Duration.ofSeconds(SHORT_HEAL)), arena);
            Node other = Node.open(Laboratory.own(0), HealingEnd.options(Duration.ofSeconds(SHORT_HEAL)), arena);
            Channel near = other.connect(node.address(), DEADLINE);
            Channel nearToo = node.accept(DEADLINE);
            Channel channel = connect(node, peer, port);
            Future<?> waiting = threads.submit(() -> new HealingEnd.Traffic().take(channel));
            laboratory.request(CUT);
            Await.until("the channel has no path", () -> isHealing(channel));
            laboratory.cutPower();
            laboratory.request(CLEAR);
            assertEnds(channel, waiting);
            NodeEnd.send(near, 5);
            try (Message message = nearToo.receive(DEADLINE)) {
                assertThat(message.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(5);
            }
        }
    }
}

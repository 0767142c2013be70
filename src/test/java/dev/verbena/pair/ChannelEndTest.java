package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.EndReason;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Channels of a node whose peer falls silent. The last test leaves the other machine without power. */
@PairTest
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ChannelEndTest {
    private static final String CUT = "wire netem limit 100000 loss 100%";

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    @AfterEach
    void endThreads() {
        threads.shutdownNow();
    }

    /** A channel to the other guest, on which threads wait in all ways. */
    private final class Silent {
        final Channel channel;

        private final LocalMemory local;
        private final RemoteMemory remote;
        private final Map<String, Future<EndReason>> waits = new LinkedHashMap<>();

        Silent(Node node, Conversation peer, int port, VerbsArena arena) throws Exception {
            channel = connect(node, peer, port);
            remote = channel.remote(NodeEnd.TABLE, DEADLINE);
            local = node.register(arena.allocate(64, 64), AccessFlag.LOCAL_WRITE);
            channel.read(local, remote, DEADLINE);
            begin("receive", () -> channel.receive(DEADLINE));
            begin("call", () -> channel.call(channel.message(DEADLINE).length(Long.BYTES), DEADLINE));
            begin("offer", () -> channel.offer(arena.allocate(4096), new byte[0], DEADLINE));
            Message next = channel.message(DEADLINE);
            while (channel.trySend(NodeEnd.numbered(next, 1))) {
                next = channel.message(DEADLINE);
            }
            Message refused = next;
            begin("send", () -> channel.send(refused, DEADLINE));
        }

        private interface Waiting {
            void run() throws Exception;
        }

        private void begin(String name, Waiting wait) {
            waits.put(name, threads.submit(() -> {
                try {
                    wait.run();
                } catch (ChannelException ended) {
                    return ended.reason();
                }
                throw new AssertionError(name + " ended without an exception");
            }));
        }

        /** Begins to read too, and checks that all waits end in time, for the same reason. */
        void endsEverywhere() throws Exception {
            begin("read", () -> channel.read(local, remote, DEADLINE));
            long end = System.nanoTime() + NodeEnd.BOUND.toNanos();
            for (Map.Entry<String, Future<EndReason>> wait : waits.entrySet()) {
                EndReason reason = wait.getValue().get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                assertThat(reason).as(wait.getKey()).isEqualTo(EndReason.LOST);
            }
            assertThat(channel.isOpen()).isFalse();
            assertThat(channel.cause().orElseThrow()).isInstanceOf(ChannelException.class);
            System.out.println(channel.cause().orElseThrow().getMessage());
            channel.close();
        }
    }

    private static Channel connect(Node node, Conversation peer, int port) throws Exception {
        peer.say(NodeEnd.ACCEPT);
        Channel made = node.connect(Laboratory.peer(port), DEADLINE);
        assertThat(peer.next()).isEqualTo("accepted");
        return made;
    }

    private static long receive(Channel on) throws InterruptedException {
        try (Message message = on.receive(DEADLINE)) {
            return message.segment().get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Checks that a node can make another channel, and use it. */
    private static void goesOn(Node node, Conversation peer, int port) throws Exception {
        try (Channel next = connect(node, peer, port)) {
            NodeEnd.send(next, 7);
            assertThat(peer.ask(NodeEnd.ECHO)).isEqualTo("echoed");
            assertThat(receive(next)).isEqualTo(7);
        }
    }

    @Test
    @Order(1)
    void briefCutEndsNoChannel() throws Exception {
        Conversation peer = laboratory.start(NodeEnd.class);
        int port = Integer.parseInt(peer.next());
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Channel channel = connect(Node.open(Laboratory.own(0), NodeEnd.OPTIONS, arena), peer, port);
            laboratory.request(CUT);
            NodeEnd.send(channel, 3);
            assertThatThrownBy(() -> channel.receive(Duration.ofSeconds(2))).isInstanceOf(VerbsTimeoutException.class);
            laboratory.request("wire clear");
            assertThat(peer.ask(NodeEnd.ECHO)).isEqualTo("echoed");
            assertThat(receive(channel)).isEqualTo(3);
        }
        peer.end();
    }

    @Test
    @Order(2)
    void cutWireEndsTheWaitsOfBothSidesAndTheirNodesGoOn() throws Exception {
        Conversation peer = laboratory.start(NodeEnd.class);
        int port = Integer.parseInt(peer.next());
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), NodeEnd.OPTIONS, arena);
            Silent silent = new Silent(node, peer, port, arena);
            laboratory.request(CUT);
            peer.say(NodeEnd.AWAIT_END);
            silent.endsEverywhere();
            assertThat(peer.next()).isEqualTo(EndReason.LOST.name());
            assertThatThrownBy(() -> node.connect(Laboratory.peer(port), Duration.ofSeconds(2)))
                    .isInstanceOf(VerbsTimeoutException.class);
            laboratory.request("wire clear");
            goesOn(node, peer, port);
        }
        peer.end();
    }

    @Test
    @Order(3)
    void linkWithoutCarrierEndsTheWaitsOfBothSidesAndTheirNodesGoOn() throws Exception {
        Conversation peer = laboratory.start(NodeEnd.class);
        int port = Integer.parseInt(peer.next());
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), NodeEnd.OPTIONS, arena);
            Silent silent = new Silent(node, peer, port, arena);
            laboratory.request("wire down");
            peer.say(NodeEnd.AWAIT_END);
            silent.endsEverywhere();
            assertThat(peer.next()).isEqualTo(EndReason.LOST.name());
            laboratory.request("wire up");
            goesOn(node, peer, port);
        }
        peer.end();
    }

    @Test
    @Order(4)
    void killedMachineEndsTheWaitsOfItsChannelOnly() throws Exception {
        Conversation peer = laboratory.start(NodeEnd.class);
        int port = Integer.parseInt(peer.next());
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), NodeEnd.OPTIONS, arena);
            Node other = Node.open(Laboratory.own(0), NodeEnd.OPTIONS, arena);
            Channel near = other.connect(node.address(), DEADLINE);
            Channel nearToo = node.accept(DEADLINE);
            Silent silent = new Silent(node, peer, port, arena);
            laboratory.cutPower();
            silent.endsEverywhere();
            NodeEnd.send(near, 5);
            assertThat(receive(nearToo)).isEqualTo(5);
            Channel next = node.connect(other.address(), DEADLINE);
            NodeEnd.send(next, 6);
            assertThat(receive(other.accept(DEADLINE))).isEqualTo(6);
        }
    }
}

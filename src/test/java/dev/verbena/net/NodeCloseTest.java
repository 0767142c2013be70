package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Await;
import dev.verbena.support.CloseAtOnce;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Nodes that are closed while threads of the program use them. */
@FencedTest
class NodeCloseTest extends ConnectedTest {
    /** Returns the number of times that threads race with a close. The Over classes repeat fewer: a node closes alike. */
    private int rounds() {
        return getClass() == NodeCloseTest.class ? 40 : 10;
    }

    /** Such a thread closes a channel whose peer has left, for example. */
    @Test
    @NotOver("TCP")
    void nodeWaitsForAThreadThatFreesAChannel() throws Exception {
        pair(SMALL);
        Channel channel = nodes.connect().server();
        Fenced.stop("ibv_dereg_mr");
        Future<?> freeing = nodes.run(() -> channel.close());
        Fenced.awaitStopped("ibv_dereg_mr", 1);
        FutureTask<Void> closing = new FutureTask<>(nodes.server::close, null);
        Thread closer = Thread.ofPlatform().daemon().start(closing);
        Await.until(
                "the node waits",
                () -> closing.isDone() || Await.isIn(closer, ClosedChannels.class.getName(), "closeArena"));
        Fenced.calm();
        end(closing);
        end(freeing);
    }

    /** The node waits for a transfer meanwhile. */
    @Test
    void nodeThatIsBeingClosedCanNotBeReached() throws Exception {
        Future<Void> offered = nodes.offer(ends.client(), new byte[100]);
        Transfer transfer;
        try (Message message = ends.server().receive(DEADLINE)) {
            transfer = message.transfer();
        }
        InetSocketAddress address = nodes.server.address();
        Thread closer = Thread.ofPlatform().daemon().unstarted(nodes.server::close);
        transfer.fetch(
                MemorySegment.ofArray(new byte[100]),
                done -> {
                    closer.start();
                    Await.until("closed", () -> nodes.server.toString().contains("(0 of"));
                    assertThatExceptionOfType(ChannelException.class)
                            .isThrownBy(() -> nodes.client.connect(address, DEADLINE))
                            .satisfies(told -> assertThat(told.reason()).isIn(EndReason.UNREACHABLE, EndReason.LOST));
                },
                DEADLINE);
        Await.end(closer);
        assertThat(offered).failsWithin(DEADLINE);
    }

    /** A node that let peers in while it is closed waited for the goodbyes of those that nobody heard any more. */
    @Test
    void nodeClosesUnderTrafficWithoutWaitingForGoodbyesInVain() throws Exception {
        NodeOptions options = SMALL.closeTimeout(DEADLINE); // longer than the test may take
        AtomicInteger transfers = new AtomicInteger();
        for (int round = 0; round < rounds(); round++) {
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Node server = NodePair.open(options, arena);
                AtomicBoolean over = new AtomicBoolean();
                List<Thread> threads = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    threads.add(Thread.ofPlatform().daemon().start(() -> serve(server, transfers)));
                    threads.add(Thread.ofPlatform().daemon().start(() -> offer(server, over)));
                }
                int enough = transfers.get() + 1 + round % 7;
                Await.until("data flow", () -> transfers.get() >= enough);
                server.close();
                over.set(true);
                for (Thread thread : threads) {
                    Await.end(thread);
                }
            }
        }
    }

    /** The arena owns all of it. */
    @Test
    void nodeAndWhatItHasCloseAtOnce() throws Exception {
        for (int round = 0; round < rounds(); round++) {
            try (NodePair nodes = new NodePair()) {
                VerbsArena arena = VerbsArena.ofShared();
                Node server = NodePair.open(SMALL, arena);
                InetSocketAddress address = server.address();
                Future<Channel> accepting = nodes.start(() -> server.accept(DEADLINE));
                Channel client = nodes.client.connect(address, DEADLINE);
                Channel accepted = end(accepting);
                List<AutoCloseable> all = new ArrayList<>(List.of(client, accepted, server, arena));
                for (String name : List.of("one", "other")) {
                    all.add(server.export(name, arena.allocate(64), AccessFlag.REMOTE_READ)
                            .inTheClear());
                    client.remote(name, DEADLINE);
                }
                CloseAtOnce.close(
                        all,
                        List.of(
                                () -> server.accept(DEADLINE),
                                () -> accepted.receive(DEADLINE),
                                () -> client.remote("other", DEADLINE),
                                () -> nodes.client.connect(address, DEADLINE),
                                () -> {
                                    client.offer(MemorySegment.ofArray(new byte[1000]), new byte[0], DEADLINE);
                                    return null;
                                }));
            }
        }
    }

    private static void serve(Node server, AtomicInteger transfers) {
        while (true) {
            try (Channel channel = server.accept(DEADLINE);
                    Message message = channel.receive(DEADLINE);
                    Transfer transfer = message.transfer()) {
                transfer.accept(MemorySegment.ofArray(new byte[(int) transfer.length()]), done -> {}, DEADLINE);
                transfers.incrementAndGet();
            } catch (ChannelException ended) {
                // There are others.
            } catch (IllegalStateException | InterruptedException closed) {
                return;
            }
        }
    }

    private static void offer(Node server, AtomicBoolean over) {
        Duration time = Duration.ofMillis(200);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node client = NodePair.open(SMALL.closeTimeout(time), arena);
            while (!over.get()) {
                try (Channel channel = client.connect(server.address(), time)) {
                    channel.offer(MemorySegment.ofArray(new byte[100_000]), new byte[0], time);
                } catch (VerbsException | IllegalStateException closed) {
                    // The test counts what has come.
                }
            }
        } catch (InterruptedException nobodyAsksForIt) {
            throw new AssertionError(nobodyAsksForIt);
        }
    }
}

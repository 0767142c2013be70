package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.net.NodePair.receive;
import static dev.verbena.net.NodePair.send;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.link.Link;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import dev.verbena.support.Recorded;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import jdk.jfr.consumer.RecordedEvent;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages of channels: order, flow control, borrowing, and the end. */
@FencedTest
class ChannelTest extends ConnectedTest {
    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void messagesGoThereAndBack(NodeOptions.Progress progress) throws Exception {
        use(CALLER.progress(progress));
        Future<Long> echoed = nodes.start(() -> {
            long value = receive(ends.server());
            send(ends.server(), value + 1);
            return value;
        });
        send(ends.client(), 41);
        assertThat(receive(ends.client())).isEqualTo(42);
        assertThat(end(echoed)).isEqualTo(41);
    }

    /** Both sides send and receive at once, in several threads. The sizes are those where the proof of credits is tight. */
    @ParameterizedTest
    @CsvSource({"1, 1, 1", "2, 3, 1", "3, 2, 4", "4, 1, 2", "5, 7, 8"})
    void noMessageIsSentWithoutReceive(int ofClient, int ofServer, int sends) throws Exception {
        long before = Fenced.receiverNotReady();
        try (NodePair nodes = new NodePair(
                SMALL.window(ofClient).sends(sends), SMALL.window(ofServer).sends(sends))) {
            NodePair.Ends ends = nodes.connect();
            int messages = 100;
            List<Future<?>> work = new ArrayList<>();
            for (Channel side : List.of(ends.client(), ends.server())) {
                for (int i = 0; i < 2; i++) {
                    work.add(nodes.run(() -> {
                        for (int m = 0; m < messages; m++) {
                            send(side, m);
                        }
                    }));
                }
                work.add(nodes.run(() -> {
                    for (int m = 0; m < 2 * messages; m++) {
                        receive(side);
                    }
                }));
            }
            for (Future<?> each : work) {
                end(each);
            }
        }
        assertThat(Fenced.receiverNotReady()).isEqualTo(before);
    }

    @Test
    void manyVirtualThreadsShareOneChannel() throws Exception {
        int count = 400;
        List<OtherThread<?>> threads = new ArrayList<>();
        AtomicLong sum = new AtomicLong();
        for (int i = 0; i < count; i++) {
            int value = i;
            threads.add(OtherThread.start(true, () -> {
                send(ends.client(), value);
                return null;
            }));
            threads.add(OtherThread.start(true, () -> sum.addAndGet(receive(ends.server()))));
        }
        for (OtherThread<?> thread : threads) {
            thread.join();
        }
        assertThat(sum.get()).isEqualTo(count * (count - 1L) / 2);
    }

    @Test
    void segmentHasTheBytesOfTheMessageAndNoOther() throws Exception {
        for (int length : new int[] {256, 0, 1, 255, 3}) {
            byte[] bytes = new byte[length];
            Arrays.fill(bytes, (byte) length);
            Message message = ends.client().message(DEADLINE).length(length);
            message.segment().copyFrom(MemorySegment.ofArray(bytes));
            ends.client().send(message, DEADLINE);
            try (Message got = ends.server().receive(DEADLINE)) {
                assertThat(got.length()).isEqualTo(length);
                assertThat(got.segment().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
            }
        }
    }

    @Test
    void sizesOfMessagesAreThoseThatBothNodesAllow() throws Exception {
        use(SMALL.messageSize(1000), SMALL.messageSize(100));
        assertThat(ends.client().maxMessageSize()).isEqualTo(100);
        assertThat(ends.server().maxMessageSize()).isEqualTo(100);
        Message message = ends.client().message(DEADLINE);
        assertThat(message.length()).isEqualTo(100);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> message.length(101))
                .withMessageContaining("0 to 100");
        assertThatIllegalArgumentException().isThrownBy(() -> message.length(-1));
    }

    @Test
    void messagesAreSentOnTheirOwnChannel() throws Exception {
        ends.client().message(DEADLINE).length(1).send();
        ends.client().message(DEADLINE).length(2).send(DEADLINE);
        for (int length = 1; length <= 2; length++) {
            try (Message got = ends.server().receive(DEADLINE)) {
                assertThat(got.length()).isEqualTo(length);
                assertThatIllegalStateException().isThrownBy(got::send);
            }
        }
    }

    @Test
    void sendWaitsUntilThePeerClosesMessages() throws Exception {
        fillWindow(ends.client());
        Message next = ends.client().message(DEADLINE);
        assertThat(ends.client().trySend(next)).isFalse();
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> ends.client().send(next, SHORT))
                .withMessageContaining("The peer has not closed earlier messages");
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(next::send)
                .withMessageContaining("The peer has not closed earlier messages");
        Message first = ends.server().receive(DEADLINE);
        Message second = ends.server().receive(DEADLINE);
        assertThat(ends.client().trySend(next)).as("received, not closed").isFalse();
        first.close();
        second.close();
        ends.client().send(next, DEADLINE);
    }

    @Test
    void messageWaitsUntilOneIsFree() throws Exception {
        List<Message> all = new ArrayList<>();
        for (int i = 0; i < SMALL.sends(); i++) {
            all.add(ends.client().message(DEADLINE));
        }
        assertThat(ends.client().pollMessage()).isNull();
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> ends.client().message(SHORT));
        Future<Message> waiting = nodes.start(() -> ends.client().message(DEADLINE));
        all.getFirst().close();
        assertThat(end(waiting).length()).isEqualTo(SMALL.messageSize());
    }

    @Test
    void sentAndClosedMessagesAreRefused() throws Exception {
        Message sent = ends.client().message(DEADLINE);
        ends.client().send(sent, DEADLINE);
        assertThatIllegalStateException().isThrownBy(sent::segment);
        assertThatIllegalStateException().isThrownBy(() -> ends.client().trySend(sent));
        Message closed = ends.client().message(DEADLINE);
        closed.close();
        closed.close();
        assertThatIllegalStateException().isThrownBy(closed::length).withMessageContaining("closed");
        assertThatIllegalStateException().isThrownBy(() -> ends.client().trySend(closed));
        Message received = ends.server().receive(DEADLINE);
        assertThatIllegalStateException().isThrownBy(() -> ends.server().trySend(received));
        assertThatIllegalStateException().isThrownBy(() -> received.length(1));
        assertThatIllegalArgumentException().isThrownBy(() -> ends.client().trySend(received));
        received.close();
        received.close();
        assertThatIllegalStateException().isThrownBy(received::segment);
    }

    @Test
    void receivedMessageThatIsClosedTwiceReturnsOneCredit() throws Exception {
        use(SMALL.window(2));
        for (int i = 0; i < 20; i++) {
            send(ends.client(), i);
            Message message = ends.server().receive(DEADLINE);
            message.close();
            message.close();
        }
        assertThat(ends.client().isOpen()).isTrue();
    }

    @Test
    void bothSidesCanCloseAtOnce() throws Exception {
        pair(SMALL);
        for (int i = 0; i < 20; i++) {
            ends = nodes.connect();
            send(ends.client(), 1);
            send(ends.server(), 2);
            Future<?> one = nodes.run(() -> ends.client().close());
            ends.server().close();
            end(one);
        }
        assertThat(nodes.client.toString()).contains("0 of 64 channels");
    }

    @Test
    void idleChannelStaysOpen() throws Exception {
        use(SMALL.alive(NodeClock.ALIVE));
        new NodeClock(nodes.server).idle(ends.server());
        send(ends.client(), 3);
        assertThat(receive(ends.server())).isEqualTo(3);
    }

    @ParameterizedTest(name = "the peer closes: {0}")
    @ValueSource(booleans = {false, true})
    void closingEndsAllWaits(boolean byPeer) throws Exception {
        fillWindow(ends.client());
        Message extra = ends.client().message(DEADLINE);
        for (int i = 1; i < SMALL.sends(); i++) {
            ends.client().message(DEADLINE);
        }
        List<Future<?>> waits = List.of(
                nodes.start(() -> ends.client().message(DEADLINE)),
                nodes.start(() -> ends.client().message(DEADLINE)),
                nodes.start(() -> ends.client().receive(DEADLINE)),
                nodes.start(() -> ends.client().receive(DEADLINE)),
                nodes.run(() -> ends.client().send(extra, DEADLINE)));
        (byPeer ? ends.server() : ends.client()).close();
        for (Future<?> wait : waits) {
            assertThat(NodePair.failure(wait))
                    .isInstanceOf(byPeer ? ChannelException.class : IllegalStateException.class)
                    .hasMessageContaining(byPeer ? "The peer has closed the channel" : "closed");
        }
        if (byPeer) {
            VerbsException cause = ends.client().cause().orElseThrow();
            assertThat(((ChannelException) cause).reason()).isEqualTo(EndReason.CLOSED_BY_PEER);
            NodePair.failure(EndReason.CLOSED_BY_PEER, () -> ends.client().message(DEADLINE));
        }
    }

    @Test
    void closingTwiceAndUseAfterCloseAreSafe() throws Exception {
        Message held = ends.client().message(DEADLINE);
        send(ends.server(), 7);
        Message received = ends.client().receive(DEADLINE);
        MemorySegment bytes = received.segment();
        ends.client().close();
        ends.client().close();
        assertThatIllegalStateException().isThrownBy(() -> bytes.get(ValueLayout.JAVA_BYTE, 0));
        held.close();
        received.close();
        assertThatIllegalStateException().isThrownBy(() -> ends.client().trySend(held));
        assertThat(ends.client().toString()).contains("closed");
    }

    @Test
    @NotOver("TCP|SEALED.*") // sealed, the channel ends: a number of its seal is used
    void sendThatDriverRefusesLeavesTheMessageToTheProgram() throws Exception {
        use(CALLER, SMALL);
        Message message = ends.client().message(DEADLINE);
        Fenced.fail("ibv_post_send", 1, 12);
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> ends.client().trySend(message))
                .satisfies(refused -> assertThat(refused.errno()).isEqualTo(12));
        assertThat(ends.client().toString()).as("the credit is not lost").contains("4 credits, 0 under way");
        assertThat(ends.client().trySend(message)).isTrue();
        assertThat(ends.client().toString()).contains("3 credits, 1 under way, 0 arrived");
        ends.server().receive(DEADLINE).close();
    }

    @Test
    void interruptEndsAWait() throws Exception {
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(InterruptedException.class)
                .isThrownBy(() -> ends.client().receive(DEADLINE));
    }

    @Test
    void receiveEachThrowsWhatItsActionThrowsAndTheRequestFails() throws Exception {
        Future<?> loop = nodes.run(() -> {
            ends.server().receiveEach(message -> {
                throw new ArithmeticException("by zero");
            });
        });
        Message request = ends.client().message(DEADLINE).length(0);
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> ends.client().call(request, DEADLINE))
                .withMessageContaining("without a reply");
        assertThat(loop).failsWithin(DEADLINE).withThrowableThat().withCauseInstanceOf(ArithmeticException.class);
        assertThat(ends.server().isOpen()).isTrue();
    }

    /** Only a peer that closes is no failure. */
    @Test
    void receiveEachThrowsWhenTheChannelIsLost() throws Exception {
        Future<?> loop = nodes.run(() -> {
            ends.server().receiveEach(message -> {});
        });
        ends.server().session().end(EndReason.FAILED, "on purpose", null);
        assertThat(loop).failsWithin(DEADLINE).withThrowableThat().withMessageContaining("on purpose");
    }

    @Test
    void closedChannelRefusesAllCalls() throws Exception {
        Channel channel = ends.client();
        Message message = channel.message(DEADLINE);
        RemoteMemory somewhere = new RemoteMemory(0, 0, 8);
        LocalMemory local = nodes.client.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
        channel.close();
        List<ThrowingCallable> calls = List.of(
                channel::pollMessage,
                channel::pollReceive,
                channel::queuePair,
                () -> channel.message(DEADLINE),
                () -> channel.receive(DEADLINE),
                () -> channel.send(message, DEADLINE),
                () -> channel.call(message, DEADLINE),
                () -> channel.tryCall(message),
                () -> channel.callAsync(message),
                () -> channel.pollReply(1),
                () -> channel.remote("table", DEADLINE),
                () -> channel.read(local, somewhere, DEADLINE),
                () -> channel.write(local, somewhere, DEADLINE),
                () -> channel.fetchAndAdd(somewhere, 1, DEADLINE),
                () -> channel.compareAndSwap(somewhere, 1, 1, DEADLINE),
                () -> channel.isDone(1),
                () -> channel.await(1, DEADLINE),
                () -> channel.future(1),
                () -> channel.offer(MemorySegment.ofArray(new byte[8]), new byte[0], DEADLINE),
                () -> channel.listen((any, received) -> {}));
        for (ThrowingCallable call : calls) {
            assertThatIllegalStateException().isThrownBy(call).withMessageContaining("closed");
        }
    }

    @Test
    void messagesDescribeThemselves() throws Exception {
        Message message = ends.client().message(DEADLINE).length(9);
        assertThat(message.toString())
                .startsWith("message to send, 9 bytes, channel to "
                        + NodePair.own().getAddress().getHostAddress() + ":");
        assertThat(message.memory().byteSize()).isEqualTo(SMALL.messageSize());
        assertThat(message.memory().address()).isEqualTo(message.segment().address());
        long ticket = ends.client().tryCall(message);
        assertThat(ticket).isNotZero();
        assertThat(message.toString()).startsWith("closed message, channel to");
        try (Message request = ends.server().receive(DEADLINE)) {
            assertThat(request.toString())
                    .startsWith("received message of 9 bytes, channel from "
                            + NodePair.own().getAddress().getHostAddress() + ":");
            try (Message reply = request.reply().length(3)) {
                assertThat(reply.toString()).startsWith("reply to send, 3 bytes, channel from");
            }
        }
        assertThat(ends.client().toString()).contains("(open, ");
        ends.server().session().end(EndReason.LOST, "", null);
        assertThat(ends.server().toString()).endsWith("(ended: LOST)");
    }

    /** The documented size, and eight bytes for the result of each operation. */
    @ParameterizedTest
    @CsvSource({"3, 0", "15, 0", "16, 1", "32, 3", "64, 7", "72, 7"})
    @NotOver("TCP|SEALED.*|IWARP")
    void channelRegistersTheMemoryThatTheOptionsSay(int window, int spare) throws Exception {
        NodeOptions options =
                SMALL.window(window).sends(2).calls(5).operations(7).messageSize(256);
        pair(options);
        List<RecordedEvent> registrations = Recorded.during(() -> ends = nodes.connect(), "Registration");
        assertThat(ends.client().queuePair().capabilities().receiveDepth()).isEqualTo(window + spare + 5 + 4);
        assertThat(ends.client().queuePair().capabilities().sendDepth()).isEqualTo(2 + 2 * 5 + 7 + 4);
        assertThat(registrations)
                .extracting(event -> event.getLong("size"))
                .containsExactlyInAnyOrder(
                        (window + spare + 2 + 2 * 5 + 3) * (256L + 64) + 7 * Long.BYTES,
                        (window + spare + 2 + 2 * 5 + 3) * (256L + 64) + 7 * Long.BYTES,
                        Link.greetings(options.sizes()),
                        Link.greetings(options.sizes()));
    }

    @Test
    void nodesWithoutOperationsSaySo() throws Exception {
        use(SMALL.operations(0));
        assertThatIllegalStateException()
                .isThrownBy(() -> ends.client().tryFetchAndAdd(new RemoteMemory(0, 0, 8), 1))
                .withMessageContaining("has no operations: see NodeOptions.operations()");
    }
}

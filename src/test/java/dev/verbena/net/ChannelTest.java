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
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
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
import java.util.function.BooleanSupplier;
import jdk.jfr.consumer.RecordedEvent;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages of channels: order, flow control, borrowing, and the end. */
@FencedTest
class ChannelTest extends ConnectedTest {
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

    /** On iWARP, the largest message fills its memory up to the number behind it. */
    @Test
    void messagesOfAllSizesArriveWhole() throws Exception {
        use(SMALL.messageSize(1000));
        for (int length : new int[] {1000, 0, 1, 999, 3, 4, 5, 63, 64, 995, 996, 997}) {
            byte[] bytes = new byte[length];
            Arrays.fill(bytes, (byte) length);
            Message message = ends.client().message(DEADLINE).length(length);
            message.segment().copyFrom(MemorySegment.ofArray(bytes));
            if (length == 1000) { // the first one, for which there is a credit
                message.send();
            } else {
                message.send(DEADLINE);
            }
            try (Message got = ends.server().receive(DEADLINE)) {
                assertThat(got.length()).isEqualTo(length);
                assertThat(got.segment().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
                assertThatIllegalStateException().isThrownBy(got::send);
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
    void sentAndReceivedMessagesAreNotSentAgain() throws Exception {
        Message sent = ends.client().message(DEADLINE);
        ends.client().send(sent, DEADLINE);
        assertThatIllegalStateException().isThrownBy(sent::segment);
        assertThatIllegalStateException().isThrownBy(() -> ends.client().trySend(sent));
        Message received = ends.server().receive(DEADLINE);
        assertThatIllegalStateException().isThrownBy(() -> ends.server().trySend(received));
        assertThatIllegalStateException().isThrownBy(() -> received.length(1));
        assertThatIllegalArgumentException().isThrownBy(() -> ends.client().trySend(received));
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

    /** The peer has called: the credit of its request goes with the next message. */
    @ParameterizedTest
    @ValueSource(strings = {"message", "request", "reply"})
    @NotOver("TCP|SEALED.*") // sealed, the channel ends: a number of its seal is used
    void whatDriverRefusesStaysWithTheProgramAndCanBeSentAgain(String kind) throws Exception {
        use(CALLER.calls(1), SMALL);
        Channel client = ends.client();
        long ticket = ends.server().tryCall(request(ends.server(), 1));
        Message reply;
        try (Message asked = client.receive(DEADLINE)) {
            reply = asked.reply();
        }
        Message refused = kind.equals("reply") ? reply : client.message(DEADLINE);
        BooleanSupplier send = () -> kind.equals("request") ? client.tryCall(refused) != 0 : client.trySend(refused);
        Fenced.fail("ibv_post_send", 1, 12);
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(send::getAsBoolean)
                .satisfies(told -> assertThat(told.errno()).isEqualTo(12));
        assertThat(client.toString()).as("the credit is not lost").contains("4 credits, 0 under way");
        assertThat(nodes.client.statistics().calls()).isZero();
        assertThat(send.getAsBoolean()).isTrue();
        assertThat(client.toString()).contains((kind.equals("reply") ? 4 : 3) + " credits, 1 under way, 0 arrived");
        assertThat(nodes.client.statistics().calls()).isEqualTo(kind.equals("request") ? 1 : 0);
        if (kind.equals("reply")) {
            Await.next("the reply", () -> ends.server().pollReply(ticket)).close();
        } else {
            ends.server().receive(DEADLINE).close();
        }
        assertThat(ends.server().toString()).contains("4 credits");
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
    void closedChannelRefusesAllCallsAndCanBeClosedAgain() throws Exception {
        Channel channel = ends.client();
        Message message = channel.message(DEADLINE);
        send(ends.server(), 7);
        Message received = channel.receive(DEADLINE);
        MemorySegment bytes = received.segment();
        RemoteMemory somewhere = new RemoteMemory(0, 0, 8);
        LocalMemory local = nodes.client.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
        channel.close();
        channel.close();
        List<ThrowingCallable> calls = List.of(
                channel::pollMessage,
                channel::pollReceive,
                channel::queuePair,
                () -> channel.message(DEADLINE),
                () -> channel.receive(DEADLINE),
                () -> channel.send(message, DEADLINE),
                () -> channel.trySend(message),
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
                () -> channel.listen((any, got) -> {}));
        for (ThrowingCallable call : calls) {
            assertThatIllegalStateException().isThrownBy(call).withMessageContaining("closed");
        }
        assertThatIllegalStateException().isThrownBy(() -> bytes.get(ValueLayout.JAVA_BYTE, 0));
        message.close();
        received.close();
        assertThat(channel.toString()).contains("closed");
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
        assertThat(ends.client().peer()).isEqualTo(nodes.server.address());
        assertThat(ends.server().peer().getAddress()).isEqualTo(NodePair.own().getAddress());
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

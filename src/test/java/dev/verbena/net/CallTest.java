package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Calls: replies are matched, late ones are dropped, and each call ends. */
@FencedTest
class CallTest extends ConnectedTest {
    @Test
    void callThatIsNotSentInTimeLeavesTheRequestToTheProgramAndTakesNoNumber() throws Exception {
        use(SMALL.calls(1));
        fillWindow(ends.client());
        Message request = request(ends.client(), 8);
        for (int i = 0; i < 3; i++) {
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> ends.client().call(request, SHORT))
                    .withMessageContaining("The peer has not closed earlier messages");
            assertThat(ends.client().tryCall(request)).isZero();
        }
        assertThat(number(request)).isEqualTo(8);
        emptyWindow(ends.server());
        Future<Message> reply = nodes.start(() -> ends.client().call(request, DEADLINE));
        serve(ends.server(), 1);
        assertThat(number(end(reply))).isEqualTo(9);
    }

    @Test
    void requestsAndRepliesAreUsedOnce() throws Exception {
        Future<Long> called = nodes.start(() -> call(ends.client(), 1));
        Message request = ends.server().receive(DEADLINE);
        assertThat(request.isRequest()).isTrue();
        Message reply = request.reply().length(Long.BYTES);
        assertThat(request.isRequest()).isFalse();
        assertThatIllegalStateException().isThrownBy(request::reply).withMessageContaining("The request has its reply");
        assertThatIllegalStateException().isThrownBy(() -> request.refuse("no"));
        assertThatIllegalStateException().isThrownBy(request::send);
        reply.segment().set(ValueLayout.JAVA_LONG, 0, 6);
        reply.send();
        assertThatIllegalStateException().isThrownBy(reply::send);
        assertThatIllegalStateException().isThrownBy(reply::segment);
        request.close();
        assertThatIllegalStateException().isThrownBy(request::reply);
        assertThat(end(called)).isEqualTo(6);
        NodePair.send(ends.client(), 3);
        try (Message plain = ends.server().receive(DEADLINE)) {
            assertThat(plain.isRequest()).isFalse();
            assertThatIllegalStateException().isThrownBy(plain::reply).withMessageContaining("no request");
        }
    }

    @Test
    void ticketsOfEndedCallsAreRefused() throws Exception {
        Channel client = ends.client();
        long first = client.tryCall(request(client, 1));
        assertThat(client.pollReply(first)).isNull();
        serve(ends.server(), 1);
        try (Message reply = Await.next("the reply", () -> client.pollReply(first))) {
            assertThat(number(reply)).isEqualTo(2);
            assertThatIllegalArgumentException().isThrownBy(() -> client.pollReply(first));
        }
        long second = client.tryCall(request(client, 5));
        assertThat((int) second).as("the same number").isEqualTo((int) first);
        assertThatIllegalArgumentException().isThrownBy(() -> client.pollReply(first));
        client.forget(first); // does nothing
        serve(ends.server(), 1);
        assertThat(number(Await.next("the reply", () -> client.pollReply(second))))
                .isEqualTo(6);
        for (long wrong : new long[] {0, -1, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 32 | 77, 1L << 32 | SMALL.calls()}) {
            assertThatIllegalArgumentException().isThrownBy(() -> client.pollReply(wrong));
            client.forget(wrong);
        }
    }

    /** Makes calls until the channel ends. */
    private static void callUntilTheEnd(Channel on) throws InterruptedException {
        try {
            for (int i = 0; ; i++) {
                assertThat(call(on, i)).isEqualTo(i + 1);
            }
        } catch (ChannelException | IllegalStateException | CallException end) {
            // A request that was dropped by the close is a fault.
        }
    }

    /** Makes calls with futures until the channel ends, and cancels some of them meanwhile. */
    private static void callLaterUntilTheEnd(Channel on) throws InterruptedException {
        List<CompletableFuture<Message>> calls = new ArrayList<>();
        try {
            for (int i = 0; ; i++) {
                calls.add(on.callAsync(request(on, i)));
                calls.getLast().thenAccept(Message::close);
                if (i % 3 == 2) {
                    calls.get(i - 2).cancel(true);
                }
            }
        } catch (ChannelException | IllegalStateException end) {
            Await.until("all futures are done", () -> calls.stream().allMatch(Future::isDone));
        }
    }

    /** Calls of both sides race with the close of either, or of both: each ends, and no buffer, window or credit is left behind. */
    @Test
    void closeBesideCallsEndsEachCall() throws Exception {
        pair(SMALL);
        for (int round = 0; round < 20; round++) {
            ends = nodes.connect();
            List<Future<?>> work = new ArrayList<>();
            for (Channel side : List.of(ends.client(), ends.server())) {
                side.listen((channel, request) -> answer(request));
                work.add(nodes.run(() -> callUntilTheEnd(side)));
                work.add(nodes.run(() -> callUntilTheEnd(side)));
                work.add(nodes.run(() -> callLaterUntilTheEnd(side)));
            }
            call(ends.client(), round);
            List<Channel> sides =
                    round % 2 == 0 ? List.of(ends.client(), ends.server()) : List.of(ends.server(), ends.client());
            Future<?> first = nodes.run(() -> sides.getFirst().close());
            if (round % 4 < 2) {
                end(first);
            }
            sides.getLast().close();
            end(first);
            for (Future<?> each : work) {
                end(each);
            }
        }
        assertThat(nodes.client.toString()).contains("0 of 64 channels");
    }

    @Test
    void handlerThatRepliesBesideTheCloseIsNoFailure() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch closing = new CountDownLatch(1);
        ends.server().listen((channel, request) -> {
            Message reply = request.reply().length(0);
            asked.countDown();
            assertThat(closing.await(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            reply.send();
        });
        Future<?> called = nodes.run(() -> {
            assertThatExceptionOfType(ChannelException.class).isThrownBy(() -> call(ends.client(), 1));
            ends.client().close();
        });
        assertThat(asked.await(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        Future<?> close = nodes.run(() -> ends.server().close());
        Await.until("closing", () -> ends.server().toString().endsWith("(closed)"));
        closing.countDown();
        end(close); // which throws what close() throws
        end(called);
    }

    /** The object that a thread keeps of a closed message does not become the message of another thread. */
    @Test
    void staleMessageStaysStaleWhenItsMemoryIsLentAgain() throws Exception {
        use(SMALL.sends(1).window(1));
        Message stale = ends.client().message(DEADLINE);
        stale.close();
        stale.close();
        Message other = ends.client().message(DEADLINE);
        assertThatIllegalStateException().isThrownBy(stale::segment).withMessageContaining("closed");
        assertThatIllegalStateException().isThrownBy(() -> ends.client().trySend(stale));
        stale.close(); // does not give back the memory of the other
        other.length(0);
        ends.client().send(other, DEADLINE);
        Message received = ends.server().receive(DEADLINE);
        received.close();
        received.close(); // gives no second credit
        NodePair.send(ends.client(), 3);
        try (Message next = ends.server().receive(DEADLINE)) {
            received.close();
            assertThatIllegalStateException().isThrownBy(received::segment);
            assertThat(number(next)).isEqualTo(3);
        }
        for (int i = 4; i < 8; i++) { // more credits than the window has would end the channel
            NodePair.send(ends.client(), i);
            assertThat(NodePair.receive(ends.server())).isEqualTo(i);
        }
    }

    @Test
    void requestsOfOtherChannelsAreRefusedThoughNoCallIsPossible() throws Exception {
        use(SMALL.calls(1));
        NodePair.Ends others = nodes.connect();
        assertThat(ends.client().tryCall(request(ends.client(), 1))).isNotZero();
        assertThat(ends.client().tryCall(request(ends.client(), 1))).isZero();
        Message other = request(others.client(), 1);
        assertThatIllegalArgumentException().isThrownBy(() -> ends.client().tryCall(other));
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> ends.client().call(request(ends.client(), 1), SHORT))
                .withMessageContaining("has not answered earlier calls");
    }

    /** Methods that wait return new objects: what a thread keeps of one never becomes another message. */
    @Test
    void repliesOfCallsAreNewObjects() throws Exception {
        int calls = 30; // more than the channel has receives
        use(SMALL.window(1).calls(1));
        Future<?> served = nodes.run(() -> serve(ends.server(), calls));
        Set<Object> all = identities();
        for (int i = 0; i < calls; i++) {
            Message reply = ends.client().call(request(ends.client(), i), DEADLINE);
            assertThat(number(reply)).isEqualTo(i + 1);
            reply.close();
            all.add(reply);
        }
        assertThat(all).hasSize(calls);
        end(served);
    }

    /** Methods that allocate nothing return one object for each buffer. */
    @Test
    void programsThatPollGetTheSameObjectsAgain() throws Exception {
        use(SMALL.window(1).sends(1).calls(1));
        Set<Object> requests = identities();
        Set<Object> received = identities();
        Set<Object> replies = identities();
        Set<Object> answers = identities();
        for (int i = 0; i < 30; i++) {
            Message request = Await.next("a free message", ends.client()::pollMessage);
            requests.add(request);
            request.length(8).segment().set(ValueLayout.JAVA_LONG, 0, i);
            MemorySegment bytes = request.segment();
            assertThat(request.segment()).isSameAs(bytes);
            long[] ticket = new long[1];
            Await.until("credit", () -> (ticket[0] = ends.client().tryCall(request)) != 0);
            try (Message asked = Await.next("request", ends.server()::pollReceive)) {
                received.add(asked);
                Message reply = asked.reply().length(8);
                replies.add(reply);
                reply.segment().set(ValueLayout.JAVA_LONG, 0, number(asked) + 1);
                reply.send();
            }
            try (Message answer = Await.next("reply", () -> ends.client().pollReply(ticket[0]))) {
                answers.add(answer);
                assertThat(number(answer)).isEqualTo(i + 1);
            }
        }
        assertThat(requests).hasSizeLessThanOrEqualTo(2);
        assertThat(replies).hasSizeLessThanOrEqualTo(2);
        assertThat(received).hasSizeLessThanOrEqualTo(6);
        assertThat(answers).hasSizeLessThanOrEqualTo(6);
    }

    @Test
    void replyIsSentWithoutACredit() throws Exception {
        Future<Long> called = nodes.start(() -> call(ends.client(), 1));
        try (Message request = ends.server().receive(DEADLINE)) {
            fillWindow(ends.server());
            Message reply = request.reply().length(Long.BYTES);
            reply.segment().set(ValueLayout.JAVA_LONG, 0, 3);
            assertThat(ends.server().trySend(reply)).isTrue();
        }
        assertThat(end(called)).isEqualTo(3);
    }
}

package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.net.NodePair.send;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Promises that hold in whatever style a program makes calls and receives messages. */
@FencedTest
class StyleTest extends ConnectedTest {
    /** The styles of a program that makes calls. */
    enum Style {
        /** A thread waits for the reply. */
        WAIT {
            @Override
            long call(Channel on, Message request) throws InterruptedException {
                return value(on.call(request, DEADLINE));
            }

            @Override
            void giveUp(Channel on, int round) throws InterruptedException {
                Message request = request(on, 0);
                assertThatExceptionOfType(VerbsTimeoutException.class)
                        .isThrownBy(() -> on.call(request, SHORT))
                        .withMessageContaining("The peer has not answered");
            }
        },
        /** A thread asks again and again whether the reply has come. */
        POLL {
            @Override
            long call(Channel on, Message request) {
                AtomicLong ticket = new AtomicLong();
                Node node = on.session().engine.node();
                return value(Await.next("the reply", () -> {
                    node.progress();
                    if (ticket.get() == 0) {
                        ticket.set(on.tryCall(request));
                        return null;
                    }
                    return on.pollReply(ticket.get());
                }));
            }

            @Override
            void giveUp(Channel on, int round) throws InterruptedException {
                long ticket = on.tryCall(request(on, 0));
                assertThat(ticket).isNotZero();
                on.forget(ticket);
            }
        },
        /** A future completes with the reply. */
        FUTURE {
            @Override
            long call(Channel on, Message request) throws Exception {
                return outcome(begin(on, request));
            }

            private Future<Long> begin(Channel on, Message request) {
                return on.callAsync(request).thenApply(Style::value);
            }

            @Override
            Future<Long> begin(NodePair nodes, Channel on, long value) throws InterruptedException {
                return begin(on, request(on, value));
            }

            @Override
            void giveUp(Channel on, int round) throws InterruptedException {
                CompletableFuture<Message> call = on.callAsync(request(on, 0));
                switch (round % 3) {
                    case 0 -> {
                        assertThat(call.cancel(true)).isTrue();
                        assertThatExceptionOfType(CancellationException.class).isThrownBy(call::join);
                    }
                    case 1 ->
                        assertThat(call.orTimeout(1, TimeUnit.MILLISECONDS))
                                .failsWithin(DEADLINE)
                                .withThrowableThat()
                                .withCauseInstanceOf(TimeoutException.class);
                    default ->
                        assertThat(call.completeOnTimeout(null, 1, TimeUnit.MILLISECONDS))
                                .succeedsWithin(DEADLINE)
                                .isNull();
                }
            }
        };

        /** Makes a call, and returns the number in the reply. */
        abstract long call(Channel on, Message request) throws Exception;

        /** Begins a call, and returns the number in the reply later. */
        Future<Long> begin(NodePair nodes, Channel on, long value) throws Exception {
            return nodes.start(() -> call(on, request(on, value)));
        }

        /** Makes a call that is sent, and gives it up. */
        abstract void giveUp(Channel on, int round) throws InterruptedException;

        private static long value(Message reply) {
            try (reply) {
                return number(reply);
            }
        }

        /** Waits for a future, and throws what it was completed with. */
        static <T> T outcome(Future<T> of) throws Exception {
            try {
                return end(of);
            } catch (ExecutionException failed) {
                throw failed.getCause() instanceof Exception cause ? cause : failed;
            }
        }
    }

    /** The styles of a program that receives messages. */
    enum Receiver {
        WAIT {
            @Override
            void receiveAll(Channel from, Consumer<Message> action) throws InterruptedException {
                while (true) {
                    try (Message message = from.receive(DEADLINE)) {
                        action.accept(message);
                    }
                }
            }
        },
        POLL {
            @Override
            void receiveAll(Channel from, Consumer<Message> action) {
                while (true) {
                    try (Message message = Await.next("a message", from::pollReceive)) {
                        action.accept(message);
                    }
                }
            }
        },
        EACH {
            @Override
            void receiveAll(Channel from, Consumer<Message> action) throws InterruptedException {
                from.receiveEach(action);
                throw (ChannelException) from.cause().orElseThrow();
            }
        },
        HANDLER {
            @Override
            void receiveAll(Channel from, Consumer<Message> action) throws Exception {
                CompletableFuture<Void> end = new CompletableFuture<>();
                from.listen(new Handler() {
                    @Override
                    public void received(Channel channel, Message message) {
                        action.accept(message);
                    }

                    @Override
                    public void closed(Channel channel) {
                        end.completeExceptionally(channel.cause().orElseThrow());
                    }
                });
                Style.outcome(end);
            }
        };

        /** Gives each message of a channel to an action, and throws the end of the channel. */
        abstract void receiveAll(Channel from, Consumer<Message> action) throws Exception;
    }

    /** Makes as many calls at once as may be open, has them answered in another order, and uses all messages. */
    private void assertNothingIsKept(Style style, int calls) throws Exception {
        List<Future<Long>> open = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            open.add(style.begin(nodes, ends.client(), 10L * i));
        }
        List<Message> replies = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            try (Message request = Await.next("a request", ends.server()::pollReceive)) {
                Message reply = request.reply().length(Long.BYTES);
                reply.segment().set(ValueLayout.JAVA_LONG, 0, number(request) + 1);
                replies.add(reply);
            }
        }
        Collections.reverse(replies);
        replies.forEach(Message::send);
        for (int i = 0; i < calls; i++) {
            assertThat(end(open.get(i))).isEqualTo(10L * i + 1);
        }
        assertAllIsFree(ends.client());
    }

    @ParameterizedTest
    @EnumSource
    void callsReturnTheirRepliesInWhateverOrderTheyCome(Style style) throws Exception {
        for (NodeOptions.Progress progress : NodeOptions.Progress.values()) {
            use(SMALL.progress(progress).closeTimeout(SHORT));
            Future<?> served = nodes.run(() -> serve(ends.server(), 20));
            for (int i = 0; i < 20; i++) {
                assertThat(end(style.begin(nodes, ends.client(), i))).isEqualTo(i + 1);
            }
            end(served);
        }
        use(SMALL.window(8));
        for (int calls : new int[] {SMALL.calls(), 1, SMALL.calls()}) {
            assertNothingIsKept(style, calls);
        }
    }

    /** Many threads of both sides call at once in all styles, and send messages. No send comes without a receive. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void callsOfAllStylesInBothDirectionsShareTheirChannels(boolean handlers) throws Exception {
        long before = Fenced.receiverNotReady();
        use(SMALL.window(3).sends(2).calls(5));
        int count = 30;
        AtomicInteger right = new AtomicInteger();
        AtomicLong sum = new AtomicLong();
        Consumer<Message> take = message -> {
            if (message.isRequest()) {
                answer(message);
            } else {
                sum.addAndGet(number(message));
            }
        };
        List<OtherThread<?>> threads = new ArrayList<>();
        for (NodePair.Ends each : List.of(ends, nodes.connect())) {
            for (Channel side : List.of(each.client(), each.server())) {
                for (int i = 0; i < count; i++) {
                    int value = i;
                    threads.add(virtual(() -> send(side, value)));
                    for (Style style : Style.values()) {
                        threads.add(virtual(() -> {
                            if (style.call(side, request(side, value)) == value + 1) {
                                right.incrementAndGet();
                            }
                        }));
                    }
                }
                if (handlers) {
                    side.listen((channel, message) -> take.accept(message));
                }
                for (int i = 0; !handlers && i < (Style.values().length + 1) * count; i++) {
                    threads.add(virtual(() -> {
                        try (Message message = side.receive(DEADLINE)) {
                            take.accept(message);
                        }
                    }));
                }
            }
        }
        for (OtherThread<?> thread : threads) {
            thread.join();
        }
        Await.until("all messages have come", () -> sum.get() == 2 * 2 * count * (count - 1) / 2);
        assertThat(right).hasValue(2 * 2 * Style.values().length * count);
        assertThat(Fenced.receiverNotReady()).isEqualTo(before);
    }

    private static OtherThread<?> virtual(NodePair.Step work) {
        return OtherThread.start(true, () -> {
            work.run();
            return null;
        });
    }

    /** Each way in which a program leaves a request without a reply, and the reason that the caller gets. */
    enum Refusal {
        TEXT("no such key: für 1", request -> request.refuse("no such key: für 1")),
        NO_TEXT("", request -> request.refuse("")),
        LONG_TEXT("x".repeat(SMALL.messageSize()), request -> request.refuse("x".repeat(10_000))),
        CLOSED_REQUEST("", Message::close),
        CLOSED_REPLY("", request -> request.reply().close());

        private final String reason;
        private final Consumer<Message> step;

        Refusal(String reason, Consumer<Message> step) {
            this.reason = reason;
            this.step = step;
        }
    }

    @ParameterizedTest
    @EnumSource
    void refusedCallsFailWithTheReasonAndTheChannelGoesOn(Style style) throws Exception {
        for (Refusal refusal : Refusal.values()) {
            Future<Long> refused = style.begin(nodes, ends.client(), 1);
            try (Message request = ends.server().receive(DEADLINE)) {
                refusal.step.accept(request);
            }
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> Style.outcome(refused))
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(refusal.reason))
                    .satisfies(told -> assertThat(told.errno()).isZero())
                    .withMessageContaining(refusal.reason.isEmpty() ? "without a reply" : refusal.reason);
        }
        assertNothingIsKept(style, SMALL.calls());
        ends.server().listen((channel, request) -> {
            if (number(request) == 13) {
                throw new IOException("of the program"); // HandlerFailureTest: and the message
            }
            answer(request);
        });
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> Style.outcome(style.begin(nodes, ends.client(), 13)))
                .withMessageContaining("java.io.IOException");
        assertThat(end(style.begin(nodes, ends.client(), 14))).isEqualTo(15);
    }

    /** The next call waits where one may be open. */
    @ParameterizedTest
    @EnumSource
    void callThatIsGivenUpDropsItsReplyAndKeepsNothing(Style style) throws Exception {
        for (int calls : new int[] {1, SMALL.calls()}) {
            use(SMALL.calls(calls).window(64)); // so that no call waits for a credit
            for (int round = 0; round < SMALL.calls(); round++) {
                style.giveUp(ends.client(), round);
                Future<Long> next = style.begin(nodes, ends.client(), 2);
                try (Message late = ends.server().receive(DEADLINE)) {
                    answer(late, 100);
                }
                serve(ends.server(), 1);
                assertThat(end(next)).as("not the reply to the first").isEqualTo(3);
            }
            assertNothingIsKept(style, calls);
        }
    }

    /** The thing that is closed while calls are open. */
    enum Closed {
        CHANNEL,
        PEER,
        NODE
    }

    /** The calls that wait, that are sent, and whose reply comes beside the end. */
    @ParameterizedTest
    @EnumSource
    void closingEndsCallsOfBothSides(Style style) throws Exception {
        for (NodeOptions.Progress progress : NodeOptions.Progress.values()) {
            pair(SMALL.progress(progress).calls(2).closeTimeout(Duration.ofMillis(200)), SMALL.calls(2));
            for (Closed closed : Closed.values()) {
                ends = nodes.connect();
                assertCloseEndsCalls(style, closed);
            }
        }
    }

    private void assertCloseEndsCalls(Style style, Closed closed) throws Exception {
        List<Future<Long>> calls = new ArrayList<>();
        for (int i = 0; i < SMALL.sends(); i++) {
            calls.add(style.begin(nodes, ends.client(), i));
        }
        Message request = ends.server().receive(DEADLINE);
        Future<Long> back = style.begin(nodes, ends.server(), 1);
        ends.client().receive(DEADLINE);
        Future<?> closing = nodes.run(() -> {
            switch (closed) {
                case CHANNEL -> ends.client().close();
                case NODE -> nodes.client.close();
                case PEER -> ends.server().close();
            }
        });
        for (Future<Long> call : calls) {
            assertEnds(closed == Closed.PEER, call);
        }
        assertEnds(closed != Closed.PEER, back);
        if (closed != Closed.PEER) {
            assertThatExceptionOfType(ChannelException.class).isThrownBy(request::reply);
        }
        request.close();
        end(closing);
    }

    private static void assertEnds(boolean byThePeer, Future<Long> call) {
        if (byThePeer) {
            NodePair.failure(EndReason.CLOSED_BY_PEER, () -> Style.outcome(call));
        } else {
            assertThatIllegalStateException()
                    .isThrownBy(() -> Style.outcome(call))
                    .withMessageContaining("closed");
        }
    }

    /** Such a request stays with the program, which can send it where that is possible. */
    @ParameterizedTest
    @EnumSource
    void wrongRequestsThrowAndStayWithTheProgram(Style style) throws Exception {
        Channel client = ends.client();
        try (Message foreign = ends.server().message(DEADLINE)) {
            assertThatIllegalArgumentException().isThrownBy(() -> style.call(client, foreign));
            assertThat(foreign.length(1).length()).isEqualTo(1);
        }
        Message closed = client.message(DEADLINE);
        closed.close();
        assertThatIllegalStateException().isThrownBy(() -> style.call(client, closed));
        Future<Long> call = style.begin(nodes, client, 1);
        try (Message request = ends.server().receive(DEADLINE)) {
            assertThatIllegalStateException().isThrownBy(() -> style.call(ends.server(), request));
            Message reply = request.reply();
            assertThatIllegalStateException().isThrownBy(() -> style.call(ends.server(), reply));
            assertThatIllegalArgumentException().isThrownBy(() -> style.call(client, reply));
            reply.length(Long.BYTES).segment().set(ValueLayout.JAVA_LONG, 0, 8);
            reply.send();
        }
        assertThat(end(call)).isEqualTo(8);
        use(SMALL, SMALL.calls(0));
        Message request = request(ends.client(), 1);
        assertThatIllegalStateException()
                .isThrownBy(() -> style.call(ends.client(), request))
                .withMessageContaining("has no calls: see NodeOptions.calls()");
        ends.client().send(request, DEADLINE);
        assertThat(NodePair.receive(ends.server())).isEqualTo(1);
    }

    /** The node's own thread makes progress while its handler waits; elsewhere that would be a deadlock. */
    @ParameterizedTest
    @EnumSource(names = {"WAIT", "FUTURE"})
    void handlersMayCallAndWait(Style style) throws Exception {
        ends.client().listen((channel, request) -> answer(request)); // asks the client back
        ends.server()
                .listen((channel, request) -> answer(request, style.call(channel, request(channel, number(request)))));
        for (int i = 0; i < 10; i++) {
            assertThat(end(style.begin(nodes, ends.client(), i))).isEqualTo(i + 1);
        }
    }

    /** As many messages as the window has wait when the program begins to receive, or more come meanwhile. */
    @ParameterizedTest
    @CsvSource({"WAIT, true", "WAIT, false", "POLL, true", "EACH, false", "HANDLER, true"})
    void messagesAreReceivedInOrderAndThenTheEnd(Receiver receiver, boolean clientCloses) throws Exception {
        for (int count : new int[] {SMALL.window(), 100}) {
            NodePair.Ends both = nodes.connect();
            Channel closer = clientCloses ? both.client() : both.server();
            Channel other = clientCloses ? both.server() : both.client();
            Future<?> sent = nodes.run(() -> {
                for (int i = 0; i < count; i++) {
                    send(closer, i);
                }
                closer.close();
            });
            if (count == SMALL.window()) {
                end(sent);
            }
            List<Long> numbers = new ArrayList<>();
            NodePair.failure(
                    EndReason.CLOSED_BY_PEER,
                    () -> receiver.receiveAll(other, message -> numbers.add(number(message))));
            assertThat(numbers).isSorted().doesNotHaveDuplicates().hasSize(count);
            assertThat(other.isOpen()).isFalse();
            assertThat(closer.cause()).isEmpty();
            end(sent);
            other.close();
        }
    }
}

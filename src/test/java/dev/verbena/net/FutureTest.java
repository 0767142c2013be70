package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
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
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Futures of calls and operations: each completes once, with the reply or the cause of the end, and nothing is kept. */
@FencedTest
class FutureTest extends ConnectedTest {
    private static final NodeOptions CALLER =
            SMALL.progress(NodeOptions.Progress.CALLER).closeTimeout(Duration.ofMillis(20));

    private static Message request(Channel on, long value) throws InterruptedException {
        Message request = on.message(DEADLINE).length(Long.BYTES);
        request.segment().set(ValueLayout.JAVA_LONG, 0, value);
        return request;
    }

    private static long value(Message reply) {
        try (reply) {
            return reply.segment().get(ValueLayout.JAVA_LONG, 0);
        }
    }

    private static CompletableFuture<Long> call(Channel on, long value) throws InterruptedException {
        return on.callAsync(request(on, value)).thenApply(FutureTest::value);
    }

    private static void answer(Message request) {
        Message reply = request.reply().length(Long.BYTES);
        reply.segment().set(ValueLayout.JAVA_LONG, 0, request.segment().get(ValueLayout.JAVA_LONG, 0) + 1);
        reply.send();
    }

    /** Waits for messages until all of a channel are free, and gives them back. */
    private static void assertAllIsFree(Channel channel) throws InterruptedException {
        List<Message> all = new ArrayList<>();
        for (int i = 0; i < SMALL.sends(); i++) {
            all.add(channel.message(DEADLINE));
        }
        assertThat(channel.pollMessage()).isNull();
        all.forEach(Message::close);
    }

    /** Makes as many calls at once as may be open, so that no number is kept. */
    private static void assertAllNumbersAreFree(NodePair.Ends ends) throws Exception {
        List<CompletableFuture<Long>> calls = new ArrayList<>();
        for (int i = 0; i < SMALL.calls(); i++) {
            calls.add(call(ends.client(), i));
        }
        List<Message> requests = new ArrayList<>();
        for (int i = 0; i < SMALL.calls(); i++) {
            requests.add(ends.server().receive(DEADLINE));
        }
        for (Message each : requests) {
            try (Message request = each) {
                answer(request);
            }
        }
        for (int i = 0; i < SMALL.calls(); i++) {
            assertThat(end(calls.get(i))).isEqualTo(i + 1);
        }
    }

    private static ChannelException failureOf(CompletableFuture<?> future) {
        return (ChannelException) assertThat(future)
                .failsWithin(DEADLINE)
                .withThrowableThat()
                .havingCause()
                .isInstanceOf(ChannelException.class)
                .actual();
    }

    @Test
    void repliesInAnyOrderAreMatched() throws Exception {
        List<CompletableFuture<Long>> calls = new ArrayList<>();
        for (int i = 0; i < SMALL.calls(); i++) {
            calls.add(call(ends.client(), 10 * i));
        }
        List<Message> requests = new ArrayList<>();
        for (int i = 0; i < SMALL.calls(); i++) {
            requests.add(ends.server().receive(DEADLINE));
        }
        Collections.reverse(requests);
        for (Message each : requests) {
            try (Message request = each) {
                answer(request);
            }
        }
        for (int i = 0; i < SMALL.calls(); i++) {
            assertThat(end(calls.get(i))).isEqualTo(10 * i + 1);
        }
        assertAllIsFree(ends.client());
    }

    /** One thread makes all calls, far more than may be open, and waits for messages only. */
    @Test
    void callsBeyondTheLimitsWaitAndAreSentInOrder() throws Exception {
        long before = Fenced.receiverNotReady();
        use(SMALL.sends(16).calls(3), SMALL.window(2));
        List<Long> seen = Collections.synchronizedList(new ArrayList<>());
        ends.server().listen((channel, request) -> {
            seen.add(request.segment().get(ValueLayout.JAVA_LONG, 0));
            answer(request);
        });
        List<CompletableFuture<Long>> calls = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            calls.add(call(ends.client(), i));
        }
        for (int i = 0; i < 1000; i++) {
            assertThat(end(calls.get(i))).isEqualTo(i + 1);
        }
        assertThat(seen).isSorted().hasSize(1000);
        assertThat(nodes.client.statistics().calls()).isEqualTo(1000);
        assertThat(Fenced.receiverNotReady()).isEqualTo(before);
    }

    /** Calls of threads, of futures and of tickets share the numbers and the credits. */
    @Test
    void callsOfAllStylesShareAChannel() throws Exception {
        use(SMALL.sends(8).calls(2));
        ends.server().listen((channel, request) -> answer(request));
        List<Future<Long>> work = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            long value = 2 * i;
            work.add(nodes.start(() -> value(ends.client().call(request(ends.client(), value), DEADLINE))));
            work.add(call(ends.client(), value + 1));
        }
        for (int i = 0; i < 200; i++) {
            assertThat(end(work.get(i))).isEqualTo(i + 1);
        }
    }

    @Test
    void refusedCallsFailWithTheReason() throws Exception {
        for (int i = 0; i < 3 * SMALL.calls(); i++) {
            CompletableFuture<Long> call = call(ends.client(), i);
            try (Message request = ends.server().receive(DEADLINE)) {
                request.refuse("not " + i);
            }
            assertThat(call)
                    .failsWithin(DEADLINE)
                    .withThrowableThat()
                    .withCauseInstanceOf(CallException.class)
                    .withMessageContaining("not " + i);
        }
    }

    /** Each way to complete a future early: cancel, a time limit, and a value of the program. */
    @Test
    void callsThatAreGivenUpDropTheirRepliesAndKeepNothing() throws Exception {
        use(SMALL.window(8));
        for (int round = 0; round < SMALL.calls(); round++) {
            CompletableFuture<Message> cancelled = ends.client().callAsync(request(ends.client(), 1));
            CompletableFuture<Message> late = ends.client().callAsync(request(ends.client(), 2));
            CompletableFuture<Message> replaced = ends.client().callAsync(request(ends.client(), 3));
            assertThat(cancelled.cancel(true)).isTrue();
            assertThatExceptionOfType(CancellationException.class).isThrownBy(cancelled::join);
            assertThat(late.orTimeout(1, TimeUnit.MILLISECONDS))
                    .failsWithin(DEADLINE)
                    .withThrowableThat()
                    .withCauseInstanceOf(TimeoutException.class);
            assertThat(replaced.completeOnTimeout(null, 1, TimeUnit.MILLISECONDS))
                    .succeedsWithin(DEADLINE)
                    .isNull();
            for (int i = 0; i < 3; i++) {
                try (Message request = ends.server().receive(DEADLINE)) {
                    answer(request);
                }
            }
            assertAllNumbersAreFree(ends);
            assertAllIsFree(ends.client());
        }
    }

    /** A request that waits for a number is given back, and never sent. */
    @Test
    void callThatWaitsIsTakenBack() throws Exception {
        use(SMALL.calls(1));
        CompletableFuture<Long> first = call(ends.client(), 1);
        Message request = request(ends.client(), 2);
        CompletableFuture<Message> second = ends.client().callAsync(request);
        assertThatIllegalStateException().isThrownBy(request::segment);
        request.close(); // must not take the request from the channel
        CompletableFuture<Long> third = call(ends.client(), 3);
        second.cancel(false);
        for (long value : List.of(1, 3)) {
            try (Message got = ends.server().receive(DEADLINE)) {
                assertThat(got.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(value);
                answer(got);
            }
        }
        assertThat(end(first)).isEqualTo(2);
        assertThat(end(third)).isEqualTo(4);
        assertAllIsFree(ends.client());
    }

    /** The futures that wait, that are sent, and whose reply comes beside the end. */
    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void peersCloseCompletesAllFutures(NodeOptions.Progress progress) throws Exception {
        NodeOptions options = SMALL.progress(progress).calls(2).closeTimeout(Duration.ofMillis(200));
        use(options, SMALL.calls(2));
        List<CompletableFuture<Long>> calls = new ArrayList<>();
        for (int i = 0; i < SMALL.sends(); i++) {
            calls.add(call(ends.client(), i));
        }
        ends.server().receive(DEADLINE);
        Future<?> closing = nodes.run(() -> ends.server().close());
        for (CompletableFuture<Long> call : calls) {
            // the methods that wait make progress where the thread has to
            assertThatExceptionOfType(ExecutionException.class)
                    .isThrownBy(() -> call.get(DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .withCauseInstanceOf(ChannelException.class)
                    .satisfies(told -> assertThat(((ChannelException) told.getCause()).reason())
                            .isEqualTo(EndReason.CLOSED_BY_PEER));
        }
        end(closing);
    }

    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void closingCompletesAllFuturesOfThisSide(NodeOptions.Progress progress) throws Exception {
        for (boolean node : new boolean[] {false, true}) {
            NodeOptions options = SMALL.progress(progress).calls(2);
            use(options, SMALL.calls(2));
            List<CompletableFuture<Long>> calls = new ArrayList<>();
            for (int i = 0; i < SMALL.sends(); i++) {
                calls.add(call(ends.client(), i));
            }
            ends.server().receive(DEADLINE);
            if (node) {
                nodes.client.close();
            } else {
                ends.client().close();
            }
            for (CompletableFuture<Long> call : calls) {
                assertThat(call)
                        .failsWithin(DEADLINE)
                        .withThrowableThat()
                        .withCauseInstanceOf(IllegalStateException.class)
                        .withMessageContaining("closed");
            }
        }
    }

    /** Replies, the end, and the program complete the same futures at once. */
    @Test
    void closeBesideCallsCompletesEachFutureOnce() throws Exception {
        for (int round = 0; round < 20; round++) {
            use(SMALL);
            ends.server().listen((channel, request) -> answer(request));
            List<CompletableFuture<Message>> calls = Collections.synchronizedList(new ArrayList<>());
            Future<?> calling = nodes.start(() -> {
                while (true) {
                    CompletableFuture<Message> call = ends.client().callAsync(request(ends.client(), 1));
                    call.thenAccept(Message::close);
                    calls.add(call);
                }
            });
            Future<?> cancelling = nodes.run(() -> {
                while (ends.client().isOpen()) {
                    if (!calls.isEmpty()) {
                        calls.get(calls.size() / 2).cancel(true);
                    }
                    Thread.yield();
                }
            });
            Await.until("some calls", () -> calls.size() > 20);
            (round % 2 == 0 ? ends.server() : ends.client()).close();
            assertThat(calling).failsWithin(DEADLINE);
            end(cancelling);
            for (CompletableFuture<Message> call : List.copyOf(calls)) {
                Await.until("the future is done", call::isDone);
            }
        }
    }

    /** The only thread of a program waits for the reply of another node of the same program. */
    @Test
    void threadThatPollsWaitsForItsFutures() throws Exception {
        use(CALLER, SMALL);
        ends.server().listen((channel, request) -> answer(request));
        for (int i = 0; i < 20; i++) {
            assertThat(call(ends.client(), i).join()).isEqualTo(i + 1);
            assertThat(call(ends.client(), i).get()).isEqualTo(i + 1);
        }
        CompletableFuture<Long> external = new CompletableFuture<>();
        CompletableFuture<Long> both = call(ends.client(), 4).thenCombine(external, Long::sum);
        assertThatExceptionOfType(TimeoutException.class).isThrownBy(() -> both.get(1, TimeUnit.MILLISECONDS));
        nodes.start(() -> external.complete(10L));
        assertThat(both.join()).isEqualTo(15);
    }

    @Test
    void programThatPollsCompletesItsFutures() throws Exception {
        use(CALLER, SMALL);
        ends.server().listen((channel, request) -> answer(request));
        CompletableFuture<Long> call = call(ends.client(), 6);
        AtomicReference<Thread> completer = new AtomicReference<>();
        CompletableFuture<Long> told = call.whenComplete((result, failure) -> completer.set(Thread.currentThread()));
        while (!told.isDone()) {
            nodes.client.progress();
        }
        assertThat(completer.get()).isSameAs(Thread.currentThread());
        assertThat(told).isCompletedWithValue(7L);
    }

    /** In the node's thread, all methods that wait make progress; elsewhere that would be a deadlock. */
    @Test
    void handlersAndActionsMayWaitForFutures() throws Exception {
        ends.client().listen((channel, request) -> answer(request)); // asks the client back
        ends.server().listen((channel, request) -> {
            long asked = request.segment().get(ValueLayout.JAVA_LONG, 0);
            long found = asked < 0
                    ? 100
                    : call(channel, asked).join() + call(channel, asked).get();
            Message reply = request.reply().length(Long.BYTES);
            reply.segment().set(ValueLayout.JAVA_LONG, 0, found);
            reply.send();
        });
        CompletableFuture<Long> twice = call(ends.client(), 5).thenApply(first -> {
            try {
                return first + call(ends.client(), -1).join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        assertThat(end(twice)).isEqualTo(12 + 100);
    }

    @Test
    void actionsRunOneAfterTheOtherOnTheNodesThread() throws Exception {
        ends.server().listen((channel, request) -> answer(request));
        List<CompletableFuture<Thread>> threads = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            CompletableFuture<Thread> thread = new CompletableFuture<>();
            Message request = request(ends.client(), i);
            CompletableFuture<Message> call = ends.client().callAsync(request);
            if (call.isDone()) { // then the action runs here
                call.join().close();
                continue;
            }
            call.thenAccept(reply -> {
                reply.close();
                thread.complete(Thread.currentThread());
            });
            threads.add(thread);
        }
        for (CompletableFuture<Thread> thread : threads) {
            assertThat(end(thread).getName())
                    .satisfiesAnyOf(
                            name -> assertThat(name).startsWith("verbena-node-progress-"),
                            name -> assertThat(name)
                                    .isEqualTo(Thread.currentThread().getName()));
        }
    }

    @Test
    void actionThatThrowsHarmsNobody() throws Exception {
        ends.server().listen((channel, request) -> answer(request));
        CompletableFuture<Object> broken = call(ends.client(), 1).thenApply(value -> {
            throw new AssertionError("an action");
        });
        assertThat(broken).failsWithin(DEADLINE).withThrowableThat().withMessageContaining("an action");
        assertThat(end(call(ends.client(), 2))).isEqualTo(3);
    }

    @Test
    void wrongRequestsThrowAndStayWithTheProgram() throws Exception {
        Message foreign = ends.server().message(DEADLINE);
        assertThatIllegalArgumentException().isThrownBy(() -> ends.client().callAsync(foreign));
        foreign.length(1).close();
        Message closed = ends.client().message(DEADLINE);
        closed.close();
        assertThatIllegalStateException().isThrownBy(() -> ends.client().callAsync(closed));
        CompletableFuture<Long> call = call(ends.client(), 1);
        try (Message request = ends.server().receive(DEADLINE)) {
            assertThatIllegalStateException().isThrownBy(() -> ends.server().callAsync(request));
            Message reply = request.reply();
            assertThatIllegalStateException().isThrownBy(() -> ends.server().callAsync(reply));
            reply.length(Long.BYTES).segment().set(ValueLayout.JAVA_LONG, 0, 8);
            reply.send();
        }
        assertThat(end(call)).isEqualTo(8);
        use(SMALL.calls(0));
        Message request = request(ends.client(), 1);
        assertThatIllegalStateException()
                .isThrownBy(() -> ends.client().callAsync(request))
                .withMessageContaining("no calls");
        ends.client().send(request, DEADLINE);
    }

    /** Tickets of calls are numbers with a generation, so a program can guess those of futures. */
    @Test
    void callsOfFuturesHaveNoTickets() throws Exception {
        use(SMALL.calls(1));
        long ticket = ends.client().tryCall(request(ends.client(), 1));
        try (Message request = ends.server().receive(DEADLINE)) {
            answer(request);
        }
        AtomicReference<Message> reply = new AtomicReference<>();
        Await.until("the reply", () -> {
            reply.set(ends.client().pollReply(ticket));
            return reply.get() != null;
        });
        reply.get().close();
        CompletableFuture<Long> call = call(ends.client(), 2);
        long next = ticket + (1L << 32);
        assertThatIllegalArgumentException().isThrownBy(() -> ends.client().pollReply(next));
        ends.client().forget(next);
        try (Message request = ends.server().receive(DEADLINE)) {
            answer(request);
        }
        assertThat(end(call)).isEqualTo(3);
    }

    /** The table of a server, and memory of the client to read it into. */
    private record Table(LocalMemory local, RemoteMemory remote, MemorySegment bytes) {
        static Table of(NodePair nodes, Channel channel) throws InterruptedException {
            MemorySegment bytes = nodes.arena.allocate(64, 64);
            nodes.server
                    .export("table", bytes, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC)
                    .inTheClear();
            LocalMemory local = nodes.client.register(nodes.arena.allocate(64, 64), AccessFlag.LOCAL_WRITE);
            return new Table(local, channel.remote("table", DEADLINE), bytes);
        }
    }

    @Test
    void operationsCompleteFutures() throws Exception {
        use(SMALL.operations(2));
        Table table = Table.of(nodes, ends.client());
        table.bytes.set(ValueLayout.JAVA_LONG, 8, 40);
        for (int i = 0; i < 10; i++) {
            long ticket = ends.client().tryFetchAndAdd(table.remote.slice(8, 8), 2);
            CompletableFuture<Long> added = ends.client().future(ticket);
            CompletableFuture<Long> read = ends.client().future(ends.client().tryRead(table.local, table.remote));
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().isDone(ticket));
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().future(ticket));
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().await(ticket, DEADLINE));
            assertThat(end(added)).isEqualTo(40 + 2 * i);
            assertThat(end(read)).isZero();
            assertThat(table.local.segment().get(ValueLayout.JAVA_LONG, 8)).isEqualTo(42 + 2 * i);
        }
    }

    /** A mistake of a program: both would wait for the same result, and one for ever. */
    @Test
    void futureOfATicketEndsTheWaitForIt() throws Exception {
        use(SMALL.operations(1));
        Table table = Table.of(nodes, ends.client());
        NodePair.hold(ends.client());
        long ticket = ends.client().tryRead(table.local, table.remote);
        CompletableFuture<Thread> waiting = new CompletableFuture<>();
        Future<?> wait = nodes.start(() -> {
            waiting.complete(Thread.currentThread());
            return ends.client().await(ticket, DEADLINE);
        });
        Thread waiter = end(waiting);
        Await.until("it waits", () -> waiter.getState() == Thread.State.TIMED_WAITING);
        CompletableFuture<Long> read = ends.client().future(ticket);
        assertThat(wait).failsWithin(DEADLINE).withThrowableThat().withCauseInstanceOf(IllegalArgumentException.class);
        NodePair.letGo(ends.client());
        assertThat(end(read)).isZero();
    }

    @Test
    void futureOfAnOperationThatIsDoneIsDone() throws Exception {
        use(SMALL.operations(1));
        Table table = Table.of(nodes, ends.client());
        long ticket = ends.client().tryRead(table.local, table.remote);
        Await.until("the operation is done", () -> ends.client().isDone(ticket));
        assertThat(ends.client().future(ticket)).isCompletedWithValue(0L);
        assertThat(ends.client().tryRead(table.local, table.remote)).isNotZero();
    }

    /** The number of an operation that is given up is free again when the adapter is done, and not before. */
    @Test
    void operationThatIsGivenUpKeepsNothing() throws Exception {
        use(SMALL.operations(1));
        Table table = Table.of(nodes, ends.client());
        for (int i = 0; i < 20; i++) {
            AtomicReference<Long> ticket = new AtomicReference<>();
            Await.until("a free operation", () -> {
                ticket.set(ends.client().tryRead(table.local, table.remote));
                return ticket.get() != 0;
            });
            CompletableFuture<Long> read = ends.client().future(ticket.get());
            read.cancel(true);
            assertThat(read).isDone();
        }
        ends.client().read(table.local, table.remote, DEADLINE);
    }

    @Test
    void endOfTheChannelIsThatOfItsFutures() throws Exception {
        use(SMALL.closeTimeout(Duration.ofMillis(20)));
        Table table = Table.of(nodes, ends.client());
        CompletableFuture<Long> denied =
                ends.client().future(ends.client().tryRead(table.local.slice(0, 8), outside(table.remote)));
        CompletableFuture<Long> call = new CompletableFuture<>();
        try {
            call = call(ends.client(), 1);
        } catch (ChannelException ended) {
            call.completeExceptionally(ended);
        }
        assertThat(failureOf(denied).reason()).isEqualTo(EndReason.ACCESS_DENIED);
        assertThat(failureOf(call).reason()).isEqualTo(EndReason.ACCESS_DENIED);
    }

    private static RemoteMemory outside(RemoteMemory memory) {
        return new RemoteMemory(memory.address() + 4096, memory.key(), 8);
    }
}

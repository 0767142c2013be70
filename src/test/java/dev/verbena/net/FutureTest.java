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
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Futures of calls and operations: each completes once, with the reply or the cause of the end, and nothing is kept. */
@FencedTest
class FutureTest extends ConnectedTest {
    private static long value(Message reply) {
        try (reply) {
            return number(reply);
        }
    }

    private static CompletableFuture<Long> callLater(Channel on, long value) throws InterruptedException {
        return on.callAsync(request(on, value)).thenApply(FutureTest::value);
    }

    /** One thread makes all calls, far more than may be open, and waits for messages only. */
    @Test
    void callsBeyondTheLimitsWaitAndAreSentInOrder() throws Exception {
        long before = Fenced.receiverNotReady();
        use(SMALL.sends(16).calls(3), SMALL.window(2));
        List<Long> seen = Collections.synchronizedList(new ArrayList<>());
        ends.server().listen((channel, request) -> {
            seen.add(number(request));
            answer(request);
        });
        List<CompletableFuture<Long>> calls = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            calls.add(callLater(ends.client(), i));
        }
        for (int i = 0; i < 1000; i++) {
            assertThat(end(calls.get(i))).isEqualTo(i + 1);
        }
        assertThat(seen).isSorted().hasSize(1000);
        assertThat(nodes.client.statistics().calls()).isEqualTo(1000);
        assertThat(Fenced.receiverNotReady()).isEqualTo(before);
    }

    /** A request that waits for a number is given back, and never sent. */
    @Test
    void callThatWaitsIsTakenBack() throws Exception {
        use(SMALL.calls(1));
        CompletableFuture<Long> first = callLater(ends.client(), 1);
        Message request = request(ends.client(), 2);
        CompletableFuture<Message> second = ends.client().callAsync(request);
        assertThatIllegalStateException().isThrownBy(request::segment);
        request.close(); // must not take the request from the channel
        CompletableFuture<Long> third = callLater(ends.client(), 3);
        second.cancel(false);
        for (long value : List.of(1, 3)) {
            try (Message got = ends.server().receive(DEADLINE)) {
                assertThat(number(got)).isEqualTo(value);
                answer(got);
            }
        }
        assertThat(end(first)).isEqualTo(2);
        assertThat(end(third)).isEqualTo(4);
        assertAllIsFree(ends.client());
    }

    /** The only thread of a program waits for the reply of another node of the same program. */
    @Test
    void threadThatPollsWaitsForItsFutures() throws Exception {
        use(CALLER, SMALL);
        ends.server().listen((channel, request) -> answer(request));
        for (int i = 0; i < 20; i++) {
            assertThat(callLater(ends.client(), i).join()).isEqualTo(i + 1);
            assertThat(callLater(ends.client(), i).get()).isEqualTo(i + 1);
        }
        CompletableFuture<Long> external = new CompletableFuture<>();
        CompletableFuture<Long> both = callLater(ends.client(), 4).thenCombine(external, Long::sum);
        assertThatExceptionOfType(TimeoutException.class).isThrownBy(() -> both.get(1, TimeUnit.MILLISECONDS));
        nodes.start(() -> external.complete(10L));
        assertThat(both.join()).isEqualTo(15);
    }

    @Test
    void programThatPollsCompletesItsFutures() throws Exception {
        use(CALLER, SMALL);
        ends.server().listen((channel, request) -> answer(request));
        CompletableFuture<Long> call = callLater(ends.client(), 6);
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
    void actionsMayWaitForFutures() throws Exception {
        ends.server().listen((channel, request) -> answer(request));
        CompletableFuture<Long> all = callLater(ends.client(), 5).thenApply(first -> {
            try {
                return first
                        + callLater(ends.client(), 10).join()
                        + callLater(ends.client(), 20).get();
            } catch (InterruptedException | ExecutionException e) {
                throw new AssertionError(e);
            }
        });
        assertThat(end(all)).isEqualTo(6 + 11 + 21);
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
        CompletableFuture<Object> broken = callLater(ends.client(), 1).thenApply(value -> {
            throw new AssertionError("an action");
        });
        assertThat(broken).failsWithin(DEADLINE).withThrowableThat().withMessageContaining("an action");
        assertThat(end(callLater(ends.client(), 2))).isEqualTo(3);
    }

    /** Tickets of calls are numbers with a generation, so a program can guess those of futures. */
    @Test
    void callsOfFuturesHaveNoTickets() throws Exception {
        use(SMALL.calls(1));
        long ticket = ends.client().tryCall(request(ends.client(), 1));
        serve(ends.server(), 1);
        Await.next("the reply", () -> ends.client().pollReply(ticket)).close();
        CompletableFuture<Long> call = callLater(ends.client(), 2);
        long next = ticket + (1L << 32);
        assertThatIllegalArgumentException().isThrownBy(() -> ends.client().pollReply(next));
        ends.client().forget(next);
        serve(ends.server(), 1);
        assertThat(end(call)).isEqualTo(3);
    }

    /** The table of a server, and memory of the client to read it into. */
    private record Table(LocalMemory local, RemoteMemory remote, MemorySegment bytes) {
        static Table of(NodePair nodes, Channel channel) throws InterruptedException {
            MemorySegment bytes = nodes.arena.allocate(64, 64);
            nodes.server
                    .export("table", bytes, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)
                    .inTheClear();
            LocalMemory local = nodes.client.register(nodes.arena.allocate(64, 64), AccessFlag.LOCAL_WRITE);
            return new Table(local, channel.remote("table", DEADLINE), bytes);
        }
    }

    /** Those that are under way together too. */
    @Test
    void operationsCompleteFutures() throws Exception {
        use(CALLER.operations(3), SMALL);
        Table table = Table.of(nodes, ends.client());
        table.bytes.set(ValueLayout.JAVA_LONG, 8, 39);
        for (int i = 0; i < 10; i++) {
            CompletableFuture<Long> before =
                    ends.client().future(ends.client().tryFetchAndAdd(table.remote.slice(8, 8), 1));
            long ticket = ends.client().tryFetchAndAdd(table.remote.slice(8, 8), 1);
            CompletableFuture<Long> added = ends.client().future(ticket);
            CompletableFuture<Long> read = ends.client().future(ends.client().tryRead(table.local, table.remote));
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().isDone(ticket));
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().future(ticket));
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().await(ticket, DEADLINE));
            assertThat(end(read)).isZero();
            assertThat(end(before)).as("has memory of its own").isEqualTo(39 + 2 * i);
            assertThat(end(added)).isEqualTo(40 + 2 * i);
            assertThat(table.local.segment().get(ValueLayout.JAVA_LONG, 8)).isEqualTo(41 + 2 * i);
        }
    }

    /** A mistake of a program: both would wait for the same result, and one for ever. */
    @Test
    @NotOver("TCP")
    void futureOfATicketEndsTheWaitForIt() throws Exception {
        use(SMALL.operations(1));
        Table table = Table.of(nodes, ends.client());
        NodePair.hold(ends.client());
        long ticket = ends.client().tryRead(table.local, table.remote);
        OtherThread<Long> wait =
                OtherThread.start(() -> ends.client().await(ticket, DEADLINE)).asleep();
        CompletableFuture<Long> read = ends.client().future(ticket);
        assertThat(wait.failure()).isInstanceOf(IllegalArgumentException.class);
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
            long[] ticket = new long[1];
            Await.until("a free operation", () -> (ticket[0] = ends.client().tryRead(table.local, table.remote)) != 0);
            CompletableFuture<Long> read = ends.client().future(ticket[0]);
            read.cancel(true);
            assertThat(read).isDone();
        }
        ends.client().read(table.local, table.remote, DEADLINE);
    }

    /** No progress is made before the program says so, and so the first two writes stay under way. */
    private Table useWithRoomForTwo() throws Exception {
        use(CALLER.operations(2), SMALL);
        Table table = Table.of(nodes, ends.client());
        for (int i = 0; i < 8; i++) {
            table.local.segment().setAtIndex(ValueLayout.JAVA_LONG, i, 10 + i);
        }
        return table;
    }

    private CompletableFuture<Long> writeLater(Table table, int place) {
        return ends.client().writeAsync(table.local.slice(8L * place, 8), table.remote.slice(8L * place, 8));
    }

    private void awaitInProgress(CompletableFuture<?> future) {
        Await.until("the future is done", () -> {
            nodes.client.progress();
            return future.isDone();
        });
    }

    @Test
    void readsAndWritesBeyondTheLimitWaitInTheChannel() throws Exception {
        Table table = useWithRoomForTwo();
        List<CompletableFuture<Long>> writes = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            writes.add(writeLater(table, i));
        }
        for (int i = 0; i < 3; i++) {
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> writeLater(table, 4))
                    .withMessageContaining("writeAsync")
                    .withMessageContaining("NodeOptions.operations()");
        }
        assertThat(ends.client().tryWrite(table.local, table.remote)).isZero();
        assertThat(writes.get(2).cancel(true)).isTrue();
        writes.set(2, writeLater(table, 4)); // in the place of the third
        awaitInProgress(writes.get(2));
        assertThat(writes).allSatisfy(written -> assertThat(written).isCompletedWithValue(0L));
        assertThat(table.bytes.toArray(ValueLayout.JAVA_LONG)).containsExactly(10, 11, 0, 13, 14, 0, 0, 0);
        table.bytes.set(ValueLayout.JAVA_LONG, 0, 99);
        CompletableFuture<Long> read = ends.client().readAsync(table.local, table.remote);
        awaitInProgress(read);
        assertThat(read).isCompletedWithValue(0L);
        assertThat(table.local.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(99);
    }

    @Test
    void writeThatCanNotBeMadeLaterFailsAloneAndTheNextAreMade() throws Exception {
        Table table = useWithRoomForTwo();
        MemoryRegion other = nodes.client.register(nodes.arena.allocate(8, 8), AccessFlag.LOCAL_WRITE);
        writeLater(table, 0);
        writeLater(table, 1);
        CompletableFuture<Long> third = ends.client().writeAsync(other.slice(0, 8), table.remote.slice(16, 8));
        CompletableFuture<Long> fourth = writeLater(table, 3);
        other.close();
        awaitInProgress(fourth);
        assertThat(fourth).isCompletedWithValue(0L);
        awaitInProgress(third);
        assertThat(third).isCompletedExceptionally();
        assertThat(table.bytes.toArray(ValueLayout.JAVA_LONG)).containsExactly(10, 11, 0, 13, 0, 0, 0, 0);
    }

    /** The driver refuses the request that has waited for a number. */
    @Test
    @NotOver("TCP|SEALED.*")
    void callThatCanNotBeMadeLaterFailsAloneAndGivesItsRequestBack() throws Exception {
        use(CALLER.calls(1), SMALL);
        CompletableFuture<Long> first = callLater(ends.client(), 1);
        CompletableFuture<Long> second = callLater(ends.client(), 2);
        serve(ends.server(), 1);
        Fenced.fail("ibv_post_send", 1, 12);
        awaitInProgress(second);
        Fenced.calm();
        assertThat(second).isCompletedExceptionally();
        assertThat(first).isCompletedWithValue(2L);
        assertAllIsFree(ends.client());
    }

    @Test
    void moreFuturesThanOneTurnCompletesEndWithTheirChannel() throws Exception {
        use(CALLER.operations(80), SMALL);
        Table table = Table.of(nodes, ends.client());
        List<CompletableFuture<Long>> writes = new ArrayList<>();
        for (int i = 0; i < 160; i++) {
            writes.add(ends.client().writeAsync(table.local, table.remote));
        }
        ends.client().close();
        Await.until("all are done", () -> {
            nodes.client.progress();
            return writes.stream().allMatch(CompletableFuture::isDone);
        });
    }

    @Test
    void writesThatWaitEndWithTheirChannel() throws Exception {
        Table table = useWithRoomForTwo();
        List<CompletableFuture<Long>> writes = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            writes.add(writeLater(table, i));
        }
        ends.client().close();
        for (CompletableFuture<Long> each : writes) {
            assertThat(each).failsWithin(DEADLINE).withThrowableThat().withCauseInstanceOf(IllegalStateException.class);
        }
        assertThatIllegalStateException().isThrownBy(() -> writeLater(table, 0));
    }
}

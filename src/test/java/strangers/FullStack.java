package strangers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import dev.verbena.support.Await;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.QueuePairAttributes;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** A program whose threads overflow their stacks in calls of the library, and which then closes what they used. */
final class FullStack {
    private static final int FRAMES = 200;
    private static final int DESCENTS = 16;

    private static final long STACK = 256 << 10;
    private static final Duration NOW = Duration.ZERO;
    private static final InetSocketAddress OWN = new InetSocketAddress("10.9.9.1", 0);

    private FullStack() {}

    private interface Call {
        void run() throws Exception;
    }

    /** Makes calls from 1 to 200 frames above the end of the stack. Returns the number of frames below. */
    private static int descend(List<Call> calls, int round) {
        int left;
        try {
            left = ((round & 1) == 0 ? descend(calls, round) : descendWide(calls, round, round, round)) + 1;
        } catch (StackOverflowError e) {
            return 0;
        }
        if (left <= FRAMES) {
            try {
                calls.get((left + round) % calls.size()).run();
            } catch (StackOverflowError | Exception full) {
                // as expected so near to the end of the stack, or of a queue
            }
        }
        return left;
    }

    /** Does the same with larger frames, so that the stack ends elsewhere. */
    private static int descendWide(List<Call> calls, int round, long more, long yetMore) {
        return descend(calls, round) + (more == yetMore ? 1 : 0);
    }

    /** Has a thread make calls near the end of its stack, closes, and lets the thread end only afterwards. */
    private static void closeAfter(List<Call> calls, int round, Runnable close) throws Exception {
        CountDownLatch closed = new CountDownLatch(1);
        CountDownLatch called = new CountDownLatch(1);
        Thread caller = new Thread(
                null,
                () -> {
                    for (int i = 0; i < DESCENTS; i++) {
                        descend(calls, DESCENTS * round + i);
                    }
                    called.countDown();
                    awaitForEver(closed);
                },
                "caller",
                STACK);
        caller.start();
        assertThat(called.await(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        FutureTask<Void> closing = new FutureTask<>(() -> closeOrName(close, caller, closed), null);
        new Thread(closing, "closer").start();
        closing.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        closed.countDown();
        Await.end(caller);
    }

    /** Closes while a thread lives that may have stayed in a call; or else, is refused for that thread alone. */
    private static void closeOrName(Runnable close, Thread caller, CountDownLatch closed) {
        try {
            close.run();
        } catch (ResourceBusyException refused) {
            assertThat(refused).hasMessageContaining("Thread '" + caller.getName() + "'");
            closed.countDown();
            end(caller);
            close.run();
        }
    }

    private static void end(Thread caller) {
        try {
            Await.end(caller);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void awaitForEver(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void closeQueues(int rounds) throws Exception {
        for (int i = 0; i < rounds; i++) {
            Loopback pair = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none());
            Completions cursor = pair.left.queue.completions(4);
            List<Call> calls = List.of(
                    () -> pair.left.pair.postWrite(1, pair.left.buffer, pair.right.buffer.remote()),
                    cursor::poll,
                    () -> pair.right.pair.postReceive(1, pair.right.buffer),
                    () -> pair.left.queue.poll(),
                    () -> pair.left.queue.await(NOW),
                    () -> pair.left.pair.query(),
                    () -> pair.left.pair.endpoint(),
                    () -> pair.right.pair.endpoint(),
                    () -> pair.left.pair.postWrite(1, pair.left.buffer, pair.right.buffer.remote()));
            if (i == 0) { // classes are initialised where there is room
                for (Call call : calls) {
                    runOnce(call);
                }
            }
            closeAfter(calls, i, pair::close);
        }
    }

    private static void runOnce(Call call) {
        try {
            call.run();
        } catch (Exception refused) {
            // it was called
        }
    }

    private static void closeNodes(int rounds, boolean inHandler) throws Exception {
        NodeOptions options = NodeOptions.defaults()
                .window(4)
                .sends(4)
                .calls(4)
                .messageSize(256)
                .closeTimeout(Duration.ofMillis(20));
        for (int i = 0; i < rounds; i++) {
            VerbsArena arena = VerbsArena.ofShared();
            Node server = Node.open(OWN, options, arena);
            Node client = Node.open(OWN, options, arena);
            int round = i;
            Loopback own = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none());
            CountDownLatch handled = new CountDownLatch(1);
            server.listen((channel, message) -> {
                if (inHandler) {
                    List<Call> calls = new ArrayList<>(callsOf(channel));
                    calls.add(() -> own.left.pair.query());
                    calls.add(() -> own.left.pair.endpoint());
                    calls.add(() -> own.right.pair.endpoint());
                    for (int j = 0; j < DESCENTS; j++) {
                        descend(calls, DESCENTS * round + j);
                    }
                    handled.countDown();
                }
            });
            Channel channel = client.connect(server.address(), Loopback.DEADLINE);
            List<Call> calls = callsOf(channel);
            if (i == 0) {
                for (Call call : calls) {
                    runOnce(call);
                }
            }
            if (inHandler) {
                send(channel);
                assertThat(handled.await(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                        .isTrue();
                boolean closed = closesWhileHandlersThreadSleeps(own);
                closeAfter(List.of(() -> {}), i, arena::close);
                if (!closed) {
                    own.close(); // the thread has ended
                }
            } else {
                closeAfter(calls, i, arena::close);
                own.close();
            }
        }
    }

    /** Makes progress near the end of the stack, which must harm neither a node nor its channels. */
    private static void makeProgress(int rounds, Transport transport) throws Exception {
        NodeOptions options = NodeOptions.defaults()
                .window(4)
                .messageSize(256)
                .transport(transport)
                .alive(Loopback.DEADLINE) // as long as no call makes progress, the node hears nothing of its peer
                .progress(NodeOptions.Progress.CALLER);
        InetSocketAddress own = transport == Transport.TCP ? new InetSocketAddress("127.0.0.1", 0) : OWN;
        VerbsArena arena = VerbsArena.ofShared();
        Node server = Node.open(own, options, arena);
        Node client = Node.open(own, options.progress(NodeOptions.Progress.BACKGROUND), arena);
        FutureTask<Channel> accepting = new FutureTask<>(() -> server.accept(Loopback.DEADLINE));
        new Thread(accepting).start();
        Channel sending = client.connect(server.address(), Loopback.DEADLINE);
        Channel receiving = accepting.get();
        for (int i = 0; i < rounds; i++) {
            send(sending);
            send(sending);
            if (i > 0) { // classes are initialised where there is room
                closeAfter(List.of(server::progress), i, () -> {});
            }
            for (int j = 0; j < 2; j++) {
                receiving.receive(Loopback.DEADLINE).close();
            }
            receiving.send(receiving.message(Loopback.DEADLINE), Loopback.DEADLINE);
            sending.receive(Loopback.DEADLINE).close();
        }
        arena.close();
    }

    /** Closes what a thread waits at, near the end of the stack. */
    private static void closeAtTheEnd(int rounds) throws Exception {
        for (int i = 0; i < rounds; i++) {
            VerbsArena arena = VerbsArena.ofShared();
            AsyncEvents events = TestDevice.get().open(arena).events();
            Thread waiter = Thread.ofPlatform().start(() -> awaitEnd(events));
            Await.until("a thread waits", () -> Await.isAsleep(waiter));
            int round = i;
            Thread closer = new Thread(
                    null,
                    () -> {
                        if (round == 0) { // classes are initialised where there is room
                            arena.close();
                        } else {
                            closeFromTheEnd(arena, round);
                        }
                    },
                    "closer",
                    STACK);
            closer.start();
            Await.end(closer);
            assertThat(arena.scope().isAlive()).isFalse();
            Await.end(waiter);
        }
    }

    private static void awaitEnd(AsyncEvents events) {
        try {
            events.await(Loopback.DEADLINE);
        } catch (InterruptedException | IllegalStateException closed) {
            return;
        }
    }

    /** Closes at the end of the stack, and from each frame above, until there is room. */
    private static boolean closeFromTheEnd(VerbsArena arena, int round) {
        boolean closed = false;
        try {
            closed = (round & 1) == 0 ? closeFromTheEnd(arena, round) : closeWide(arena, round, round, round);
        } catch (StackOverflowError end) {
            // closes here
        }
        if (!closed) {
            try {
                arena.close();
                closed = true;
            } catch (StackOverflowError full) {
                closed = !arena.scope().isAlive(); // else it closes above
            }
        }
        return closed;
    }

    private static boolean closeWide(VerbsArena arena, int round, long more, long yetMore) {
        return closeFromTheEnd(arena, round) || more != yetMore;
    }

    private static boolean closesWhileHandlersThreadSleeps(Loopback own) {
        try {
            own.close();
            return true;
        } catch (ResourceBusyException refused) {
            assertThat(refused).hasMessageContaining("Thread 'verbena-node-progress");
            return false;
        }
    }

    private static List<Call> callsOf(Channel channel) {
        return List.of(
                () -> send(channel),
                () -> {
                    Message got = channel.receive(NOW);
                    if (got != null) {
                        got.close();
                    }
                },
                channel::isOpen,
                () -> channel.message(NOW).close());
    }

    private static void send(Channel channel) throws Exception {
        channel.send(channel.message(NOW).length(Long.BYTES), NOW);
    }

    /** Takes the names of what to do, each followed by how often. */
    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < arguments.length; i += 2) {
            int rounds = Integer.parseInt(arguments[i + 1]);
            switch (arguments[i]) {
                case "queues" -> closeQueues(rounds);
                case "callers" -> closeNodes(rounds, false);
                case "handlers" -> closeNodes(rounds, true);
                case "progress" -> makeProgress(rounds, Transport.RDMA);
                case "progress-tcp" -> makeProgress(rounds, Transport.TCP);
                case "closers" -> closeAtTheEnd(rounds);
                default -> throw new IllegalArgumentException(arguments[i]);
            }
        }
        System.out.println("all closed");
    }
}

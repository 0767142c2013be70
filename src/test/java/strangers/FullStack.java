package strangers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.support.Await;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.QueuePairAttributes;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A program whose threads overflow their stacks in calls of the library, and which then closes what they used. It is outside
 * the packages of the library, as programs are, because a close looks for methods of the library on the stacks of threads.
 */
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
    private static void closeAfter(List<Call> calls, int round, Runnable close) throws InterruptedException {
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
        Thread closer = new Thread(close, "closer");
        closer.start();
        Await.end(closer);
        closed.countDown();
        Await.end(caller);
    }

    private static void awaitForEver(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void closeQueues(int rounds) throws InterruptedException {
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
                closeAfter(List.of(() -> {}), i, own::close); // the handler's thread sleeps on
                closeAfter(List.of(() -> {}), i, arena::close);
            } else {
                closeAfter(calls, i, arena::close);
                own.close();
            }
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

    /** Takes what to close, {@code queues}, {@code callers} or {@code handlers}, and how often. */
    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[1]);
        switch (arguments[0]) {
            case "queues" -> closeQueues(rounds);
            case "callers" -> closeNodes(rounds, false);
            case "handlers" -> closeNodes(rounds, true);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        System.out.println("all closed");
    }
}

package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A role with a node whose channels heal. The first line is the time for that, in seconds, and says whether the node has a
 * second path. It accepts channels, sends numbers on each and takes those of the test, answers requests, and changes its end
 * of the wire, as the test asks.
 */
final class HealingEnd implements Role {
    static final String PATHS = " paths";

    /** The port of the second path. */
    static final int PATH_PORT = 7174;

    static final String ACCEPT = "accept";
    static final String WIRE = "wire ";
    static final String RESULT = "result";

    /** Stops this process for a number of seconds, soon after the answer. */
    static final String STOP = "stop ";

    /** Begins to remove the device. The kernel waits for the end of this process, in which librdmacm keeps the device open. */
    static final String DELETE_DEVICE = "rdma link delete rxe0";

    /** The last number of both sides. */
    static final long LAST = -1;

    static NodeOptions options(Duration heal) {
        return NodeOptions.defaults()
                .window(8)
                .sends(8)
                .messageSize(256)
                .heal(heal)
                .alive(Duration.ofSeconds(1))
                .handshakeTimeout(DEADLINE);
    }

    /** Sends numbers until a word to end. Returns how many. */
    static long sendUntil(AtomicBoolean over, Channel channel) throws InterruptedException {
        long i = 0;
        for (; !over.get(); i++) {
            NodeEnd.send(channel, i);
        }
        return i;
    }

    /** Numbers that one side sends and the other takes, and requests of one side. */
    static final class Traffic {
        final AtomicLong taken = new AtomicLong();
        final AtomicLong requests = new AtomicLong();

        /** The time of the first number after the last call of {@link #watch}; 0 before. */
        private volatile long firstAt;

        private volatile long lastAt;

        /** The longest time between two numbers since then. */
        private volatile long longestPause;

        void watch() {
            longestPause = 0;
            firstAt = 0;
        }

        long firstAt() {
            return firstAt;
        }

        long longestPause() {
            return longestPause;
        }

        private void came() {
            long now = System.nanoTime();
            if (firstAt == 0) {
                firstAt = now;
            } else {
                longestPause = Math.max(longestPause, now - lastAt);
            }
            lastAt = now;
        }

        /** Takes numbers up to the last one, which have to come once and in order, and answers requests. */
        @Nullable
        Void take(Channel channel) throws InterruptedException {
            while (true) {
                try (Message message = channel.receive(DEADLINE)) {
                    long number = message.segment().get(ValueLayout.JAVA_LONG, 0);
                    came();
                    long expected = (message.isRequest() ? requests : taken).getAndIncrement();
                    if (number == LAST) {
                        return null;
                    }
                    if (number != expected) {
                        throw new AssertionError(number + " came in place of " + expected);
                    }
                    if (message.isRequest()) {
                        NodeEnd.numbered(message.reply(), number).send();
                    }
                }
            }
        }
    }

    private final ExecutorService threads =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());
    private @Nullable Channel channel;
    private @Nullable Traffic traffic;
    private @Nullable Future<Void> taking;

    @Override
    public void play(Conversation test) throws Exception {
        test.within(Duration.ofHours(1)); // the wire may flap for as long as the test was told
        String first = test.next();
        NodeOptions options = options(Duration.ofSeconds(Long.parseLong(first.replace(PATHS, ""))));
        if (first.endsWith(PATHS)) {
            options = options.paths(Laboratory.ownLink(PATH_PORT));
        }
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), options, arena);
            test.say("" + node.address().getPort());
            for (String asked = test.next(); !asked.equals(PeerDriver.END); asked = test.next()) {
                test.say(answer(node, asked));
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private String answer(Node node, String asked) throws Exception {
        if (asked.equals(ACCEPT)) {
            begin(node.accept(DEADLINE));
        } else if (asked.startsWith(WIRE)) {
            Laboratory.changeOwnEnd(asked.substring(WIRE.length()));
        } else if (asked.startsWith(STOP)) {
            long own = ProcessHandle.current().pid();
            new ProcessBuilder(
                            "sh",
                            "-c",
                            "sleep 1; kill -STOP " + own + "; sleep " + asked.substring(STOP.length()) + "; kill -CONT "
                                    + own)
                    .start();
        } else if (asked.equals(DELETE_DEVICE)) {
            new ProcessBuilder(asked.split(" ")).inheritIO().start();
        } else {
            return result();
        }
        return "done";
    }

    private void begin(Channel accepted) {
        Traffic begun = new Traffic();
        channel = accepted;
        traffic = begun;
        taking = threads.submit(() -> begun.take(accepted));
        threads.submit(() -> {
            for (long i = 0; !taking.isDone(); i++) {
                NodeEnd.send(accepted, i);
            }
            NodeEnd.send(accepted, LAST);
            return null;
        });
    }

    /** Returns how many numbers and requests have come, or the reason why the channel has ended. */
    private String result() throws Exception {
        try {
            taking.get();
            return traffic.taken.get() - 1 + " numbers, " + traffic.requests.get() + " requests, "
                    + channel.statistics().reconnects() + " reconnects";
        } catch (ExecutionException e) {
            if (e.getCause() instanceof ChannelException end) {
                return end.reason().name();
            }
            throw e;
        }
    }
}

package dev.verbena.tools;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemorySlice;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Locale;

/**
 * A guided tour, run by {@code scripts/demo}: two queue pairs of one device move bytes by send, write, read and atomic.
 */
public final class Tour {
    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private static final int ROUNDS = 1_000;
    private static final int WARM_UP = 500;
    private static final int SPINS = 1_000;
    private static final int MESSAGE = 64;

    private Tour() {}

    /** One step of the tour, which returns the object to show. */
    private interface Step {
        Object show() throws Exception;
    }

    /**
     * Runs the tour.
     *
     * @param args the name of a device, or nothing for the first one
     * @throws Exception if anything fails
     */
    public static void main(String[] args) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            run(args.length == 0 ? Device.first() : Device.named(args[0]), arena);
        }
    }

    private static void run(Device device, VerbsArena arena) throws Exception {
        Context[] opened = new Context[1];
        LoopbackPair[] connected = new LoopbackPair[1];

        step("Device", () -> device);
        step("Open the device", () -> opened[0] = device.open(arena));
        Context context = opened[0];
        step("Port 1 of the device", () -> context.port(1));
        step("Its address (GID)", () -> context.bestGid(1));
        step("Register memory, connect two queue pairs", () -> connected[0] = LoopbackPair.connect(context));
        LoopbackPair.End left = connected[0].left();
        LoopbackPair.End right = connected[0].right();
        say(left.buffer());
        say(left.pair().endpoint() + "  <->  " + right.pair().endpoint());

        step("Send with immediate data", () -> {
            right.pair().postReceive(1, right.buffer());
            left.buffer().segment().setString(0, "Hello, RDMA");
            left.pair().postSendImmediate(2, left.buffer().slice(0, 12), 2026);
            left.queue().await(DEADLINE).orThrow();
            WorkCompletion received = right.queue().await(DEADLINE).orThrow();
            return '"' + right.buffer().segment().getString(0) + "\", " + received.byteLength() + " bytes, immediate "
                    + received.immediate();
        });
        step("RDMA write: the peer's CPU takes no part", () -> {
            left.buffer().segment().setString(0, "written by the other side");
            left.pair().postWrite(3, left.buffer().slice(0, 26), right.buffer().remote());
            left.queue().await(DEADLINE).orThrow();
            return '"' + right.buffer().segment().getString(0) + '"';
        });
        step("RDMA read", () -> {
            right.buffer().segment().setString(0, "read from the other side");
            left.pair().postRead(4, left.buffer().slice(0, 25), right.buffer().remote());
            left.queue().await(DEADLINE).orThrow();
            return '"' + left.buffer().segment().getString(0) + '"';
        });
        step("Atomic fetch-and-add on the peer's memory", () -> {
            MemorySegment counter = right.buffer().segment();
            counter.set(ValueLayout.JAVA_LONG, 0, 40);
            left.pair().postFetchAndAdd(5, left.buffer(), right.buffer().remote(), 2);
            left.queue().await(DEADLINE).orThrow();
            return left.buffer().segment().get(ValueLayout.JAVA_LONG, 0) + " became "
                    + counter.get(ValueLayout.JAVA_LONG, 0);
        });
        step("A failed request: the wrong key", () -> {
            RemoteMemory wrong =
                    new RemoteMemory(right.buffer().address(), ~right.buffer().remoteKey(), 8);
            left.pair().postRead(6, left.buffer().slice(0, 8), wrong);
            return left.queue().await(DEADLINE);
        });
        recover(left, right);
        pingPong(left, right, WARM_UP);
        double micros = pingPong(left, right, ROUNDS);
        System.out.printf(
                Locale.ROOT, "%nJava, round trips of %d bytes, %d times:  %.2f usec/iter%n", MESSAGE, ROUNDS, micros);
    }

    /** Resets a failed pair and connects it anew, with the same memory and queues. */
    private static void recover(LoopbackPair.End left, LoopbackPair.End right) {
        for (LoopbackPair.End end : new LoopbackPair.End[] {left, right}) {
            if (end.pair().query().state() != QueuePairState.RESET) {
                end.pair().reset();
            }
        }
        left.pair().connect(right.pair().endpoint());
        right.pair().connect(left.pair().endpoint());
    }

    /** Runs a ping-pong with a polling thread for each end. Returns the microseconds of a round. */
    private static double pingPong(LoopbackPair.End left, LoopbackPair.End right, int rounds) throws Exception {
        left.pair().postReceive(1, left.buffer().slice(MESSAGE, MESSAGE));
        right.pair().postReceive(1, right.buffer().slice(MESSAGE, MESSAGE));
        Thread answering = Thread.ofPlatform().daemon().name("answering").start(() -> play(right, rounds, false));
        long start = System.nanoTime();
        play(left, rounds, true);
        long nanos = System.nanoTime() - start;
        answering.join(DEADLINE);
        return nanos / 1e3 / rounds;
    }

    private static void play(LoopbackPair.End end, int rounds, boolean begins) {
        Completions done = end.queue().completions(8);
        MemorySlice send = end.buffer().slice(0, MESSAGE);
        MemorySlice receive = end.buffer().slice(MESSAGE, MESSAGE);
        int sent = 0;
        int received = 0;
        if (begins) {
            end.pair().postSend(2, send);
        }
        int idle = 0;
        long limit = System.nanoTime() + DEADLINE.toNanos();
        while (sent < rounds || received < rounds) {
            if (done.poll() == 0) {
                if (System.nanoTime() > limit) {
                    throw new IllegalStateException("No answer within " + DEADLINE.toSeconds() + " s");
                }
                if (++idle > SPINS) { // the other end may need this processor
                    Thread.yield();
                }
                Thread.onSpinWait();
                continue;
            }
            idle = 0;
            while (done.next()) {
                done.orThrow();
                if (!done.isReceive()) {
                    sent++;
                    continue;
                }
                received++;
                if (received < rounds) {
                    end.pair().postReceive(1, receive);
                }
                if (!begins || received < rounds) {
                    end.pair().postSend(2, send);
                }
            }
        }
    }

    private static void step(String title, Step step) throws Exception {
        long start = System.nanoTime();
        Object seen = step.show();
        double millis = (System.nanoTime() - start) / 1e6;
        System.out.printf(Locale.ROOT, "%n%s  (%.1f ms)%n", title, millis);
        if (!(seen instanceof LoopbackPair)) {
            say(seen);
        }
    }

    private static void say(Object what) {
        System.out.println("    " + what);
    }
}

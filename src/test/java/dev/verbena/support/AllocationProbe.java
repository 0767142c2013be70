package dev.verbena.support;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.verbena.VerbsArena;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;

/**
 * A program for {@link ChildJvm}: repeats each operation of the data path until it allocates nothing, or until its time
 * is over, and prints the bytes allocated by the last round. Needs the optimising compiler.
 */
public final class AllocationProbe {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int OPERATIONS = 4_000;
    private static final int CLEAN_ROUNDS = 2;
    private static final long PATIENCE = Duration.ofSeconds(60).toNanos();
    private static final int BATCH = 8;
    private static final int ATTEMPTS = 5;

    /** The compiler has decided long before, because the operations wait for it: see {@link #cleanRows}. */
    private static final int MOST_ROUNDS = 200;

    private final Loopback loopback;
    private final Completions leftDone;
    private final Completions rightDone;
    private final LocalMemory local;
    private final LocalMemory remoteSide;
    private final RemoteMemory remote;
    private final MemorySegment inline;
    private final SendBatch writes;
    private final SendBatch sends;
    private final ReceiveBatch receives;
    private long checksum;

    private AllocationProbe(VerbsArena arena) {
        loopback = Loopback.connected(arena, QueuePairAttributes.none());
        leftDone = loopback.left.queue.completions(BATCH);
        rightDone = loopback.right.queue.completions(BATCH);
        local = loopback.left.buffer.slice(0, 64);
        remoteSide = loopback.right.buffer.slice(0, 64);
        remote = remoteSide.remote();
        inline = arena.allocate(16, 8);
        writes = loopback.left.pair.sendBatch(BATCH);
        sends = loopback.left.pair.sendBatch(BATCH);
        receives = loopback.right.pair.receiveBatch(BATCH);
    }

    public static void main(String[] args) {
        try (VerbsArena arena = args[0].equals("shared") ? VerbsArena.ofShared() : VerbsArena.ofConfined()) {
            new AllocationProbe(arena).measureAll();
        }
    }

    /**
     * Runs a probe until each of its rows has been clean in one of the runs, and at most a few times. What the code
     * allocates it allocates in each run. Whether the compiler sees through a call is decided anew in each, now and then
     * badly. Operations wait while the compiler works, so that a number of them is enough on a busy machine too. Returns the
     * names of the clean rows, and prints the output if some are not.
     */
    public static Set<String> cleanRows(int rows, Supplier<ChildJvm> jvm, Class<?> probe, String... arguments) {
        Set<String> clean = new HashSet<>();
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < ATTEMPTS && clean.size() < rows; i++) {
            String output = jvm.get()
                    .option("-Xbatch")
                    .optimizing()
                    .runOnClassPath(probe, arguments)
                    .successfulOutput();
            all.append(output);
            List<String> measured =
                    output.lines().filter(line -> line.contains(" bytes in ")).toList();
            assertThat(measured).hasSize(rows);
            measured.stream()
                    .filter(line -> line.contains(": 0 bytes in "))
                    .forEach(line -> clean.add(line.substring(0, line.indexOf(':'))));
        }
        if (clean.size() < rows) {
            System.out.println(all);
        }
        return clean;
    }

    private void measureAll() {
        measure("nothing", () -> {});
        measure("empty poll", leftDone::poll);
        measure("write", () -> {
            loopback.left.pair.postWrite(1, local, remote);
            take(leftDone, 1);
        });
        measure("inline write", () -> {
            loopback.left.pair.postWriteInline(2, inline, remote);
            take(leftDone, 1);
        });
        measure("read", () -> {
            loopback.left.pair.postRead(3, local, remote);
            take(leftDone, 1);
        });
        measure("fetch-and-add", () -> {
            loopback.left.pair.postFetchAndAdd(4, local, remote, 1);
            take(leftDone, 1);
        });
        measure("compare-and-swap", () -> {
            loopback.left.pair.postCompareAndSwap(5, local, remote, 1, 2);
            take(leftDone, 1);
        });
        measure("receive and send", () -> {
            loopback.right.pair.postReceive(6, remoteSide);
            loopback.left.pair.postSend(7, local);
            take(leftDone, 1);
            take(rightDone, 1);
        });
        measure("receive, send and write of a range", () -> {
            loopback.right.pair.postReceive(11, remoteSide, 8, 16);
            loopback.left.pair.postSend(12, local, 4, 12);
            loopback.left.pair.postWrite(13, local, 16, 8, remote);
            take(leftDone, 2);
            take(rightDone, 1);
        });
        measure("unsignaled write before an inline one", () -> {
            loopback.left.pair.unsignaled().postWrite(14, local, remote);
            loopback.left.pair.postWriteInline(15, inline, remote);
            take(leftDone, 1);
        });
        measureDeep("write by a deep caller", () -> {
            loopback.left.pair.postWrite(8, local, remote);
            take(leftDone, 1);
        });
        writes.write(0, local, remote);
        measureDeep("standing write by a deep caller", () -> {
            writes.id(9).post();
            take(leftDone, 1);
        });
        measureDeep("standing write of another range by a deep caller", () -> {
            writes.at(0).id(10).range(local, 8, 16).post();
            take(leftDone, 1);
        });
        measure("batch of writes", () -> {
            writes.clear();
            for (int i = 0; i < BATCH; i++) {
                writes.write(i, local, remote);
            }
            writes.post();
            take(leftDone, BATCH);
        });
        measure("batches of receives and sends", () -> {
            receives.clear();
            sends.clear();
            for (int i = 0; i < BATCH; i++) {
                receives.receive(i, remoteSide);
                sends.send(i, local).immediate(i).solicited();
            }
            receives.post();
            sends.post();
            take(leftDone, BATCH);
            take(rightDone, BATCH);
        });
        System.out.println("checksum " + checksum);
    }

    /** Measures an operation below eight frames. It is made once: made anew each time, it would itself be allocated. */
    private static void measureDeep(String name, Runnable operation) {
        measure(name, () -> eighth(operation));
    }

    // The frames of a program: the compiler does not inline all that a deep caller calls.

    private static void eighth(Runnable operation) {
        Objects.requireNonNull(operation);
        seventh(operation);
    }

    private static void seventh(Runnable operation) {
        Objects.requireNonNull(operation);
        sixth(operation);
    }

    private static void sixth(Runnable operation) {
        Objects.requireNonNull(operation);
        fifth(operation);
    }

    private static void fifth(Runnable operation) {
        Objects.requireNonNull(operation);
        fourth(operation);
    }

    private static void fourth(Runnable operation) {
        Objects.requireNonNull(operation);
        third(operation);
    }

    private static void third(Runnable operation) {
        Objects.requireNonNull(operation);
        second(operation);
    }

    private static void second(Runnable operation) {
        Objects.requireNonNull(operation);
        operation.run();
    }

    /** Reads all fields of the completions from a cursor. */
    private void take(Completions done, int count) {
        for (int left = count; left > 0; ) {
            int found = done.poll();
            if (found == 0) {
                Thread.yield();
            }
            left -= found;
            while (done.next()) {
                done.orThrow();
                checksum += done.id()
                        + done.status().code()
                        + done.opcode().code()
                        + done.byteLength()
                        + done.queuePairNumber()
                        + done.flagBits()
                        + (done.hasImmediate() ? done.immediate() : 0)
                        + (done.isReceive() ? 1 : 0)
                        + done.vendorError()
                        + done.statusCode();
            }
        }
    }

    /**
     * Repeats an operation until rounds of it allocate nothing, or until there were enough, and prints the bytes that the
     * last round has allocated.
     */
    public static void measure(String name, Runnable operation) {
        long end = System.nanoTime() + PATIENCE;
        int rounds = 0;
        int clean = 0;
        long bytes;
        do {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < OPERATIONS; i++) {
                operation.run();
            }
            bytes = THREADS.getCurrentThreadAllocatedBytes() - before;
            clean = bytes == 0 ? clean + 1 : 0;
            rounds++;
        } while (clean < CLEAN_ROUNDS && rounds < MOST_ROUNDS && System.nanoTime() < end);
        System.out.println(
                name + ": " + bytes + " bytes in " + OPERATIONS + " operations, after " + rounds + " rounds");
    }
}

package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.AllocationProbe;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Posting and polling allocate nothing once they are compiled: not one byte in thousands of operations. */
@FencedTest
class AllocationTest {
    private static final int ROWS = 16;

    @ParameterizedTest
    @CsvSource({"confined, true", "shared, true", "confined, false", "shared, false"})
    void dataPathAllocatesNothing(String arena, boolean critical) {
        Set<String> clean = AllocationProbe.cleanRows(
                ROWS,
                () -> ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        "-Ddev.verbena.critical=" + critical,
                        "-Ddev.verbena.libibverbs=" + System.getProperty("dev.verbena.libibverbs")),
                DataPath.class,
                arena);
        assertThat(clean).as("what allocates nothing").hasSize(ROWS);
    }

    /** A program for {@link ChildJvm} that measures each operation of the data path. */
    static final class DataPath {
        private static final int BATCH = 8;

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

        private DataPath(VerbsArena arena) {
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
                new DataPath(arena).measureAll();
            }
        }

        private void measureAll() {
            AllocationProbe.measure("nothing", () -> {});
            AllocationProbe.measure("empty poll", leftDone::poll);
            AllocationProbe.measure("write", () -> {
                loopback.left.pair.postWrite(1, local, remote);
                take(leftDone, 1);
            });
            AllocationProbe.measure("inline write", () -> {
                loopback.left.pair.postWriteInline(2, inline, remote);
                take(leftDone, 1);
            });
            AllocationProbe.measure("read", () -> {
                loopback.left.pair.postRead(3, local, remote);
                take(leftDone, 1);
            });
            AllocationProbe.measure("fetch-and-add", () -> {
                loopback.left.pair.postFetchAndAdd(4, local, remote, 1);
                take(leftDone, 1);
            });
            AllocationProbe.measure("compare-and-swap", () -> {
                loopback.left.pair.postCompareAndSwap(5, local, remote, 1, 2);
                take(leftDone, 1);
            });
            AllocationProbe.measure("receive and send", () -> {
                loopback.right.pair.postReceive(6, remoteSide);
                loopback.left.pair.postSend(7, local);
                take(leftDone, 1);
                take(rightDone, 1);
            });
            AllocationProbe.measure("receives, inline send, send and write with immediate data", () -> {
                for (int i = 0; i < 3; i++) {
                    loopback.right.pair.postReceive(6, remoteSide);
                }
                loopback.left.pair.postSendInline(16, inline);
                loopback.left.pair.postSendImmediate(17, local, 5);
                loopback.left.pair.postWriteImmediate(18, local, remote, 5);
                take(leftDone, 3);
                take(rightDone, 3);
            });
            AllocationProbe.measure("receive, send and write of a range", () -> {
                loopback.right.pair.postReceive(11, remoteSide, 8, 16);
                loopback.left.pair.postSend(12, local, 4, 12);
                loopback.left.pair.postWrite(13, local, 16, 8, remote);
                take(leftDone, 2);
                take(rightDone, 1);
            });
            AllocationProbe.measure("unsignaled write before an inline one", () -> {
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
            AllocationProbe.measure("batch of writes", () -> {
                writes.clear();
                for (int i = 0; i < BATCH; i++) {
                    writes.write(i, local, remote);
                }
                writes.post();
                take(leftDone, BATCH);
            });
            AllocationProbe.measure("batches of receives and sends", () -> {
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
            AllocationProbe.measure(name, () -> eighth(operation));
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
    }
}

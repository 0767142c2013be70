package dev.verbena.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.List;

/**
 * The same work by bare calls of {@code java.lang.foreign}, as fast as a careful program can have it: nothing is checked,
 * and nothing is kept from being closed. What Verbena takes longer is the price of its safety, and of objects in place of
 * the static fields here: after each call into C, Java loads again what C keeps in registers. The calls are critical, unless
 * the property says that all calls are plain.
 */
final class Bare {
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    /** The property that Verbena reads too: what is measured beside plain calls is plain. */
    private static final Linker.Option[] OPTIONS = "none".equals(System.getProperty("dev.verbena.critical"))
            ? new Linker.Option[0]
            : new Linker.Option[] {Linker.Option.critical(false)};

    private static final MethodHandle POST = link(LONG, LONG, LONG);
    private static final MethodHandle POLL = link(LONG, INT, LONG);

    private static final int MAX = 64;
    private static final int LENGTH = 64;
    private static final int BATCH = Loops.BATCH;
    private static final int SLICES = Loops.SLICES;

    // struct ibv_send_wr and struct ibv_recv_wr
    private static final long REQUEST = 128;
    private static final long NEXT = 8;
    private static final long PIECES = 16;
    private static final long PIECE_COUNT = 24;
    private static final long OPCODE = 28;
    private static final long FLAGS = 32;
    private static final long REMOTE_ADDRESS = 40;
    private static final long REMOTE_KEY = 48;
    private static final int SIGNALED = 2;
    private static final int RDMA_READ = 4;
    // struct ibv_sge
    private static final long PIECE = 16;
    private static final long PIECE_LENGTH = 8;
    private static final long PIECE_KEY = 12;
    // struct ibv_wc
    private static final long COMPLETION = 48;
    private static final long STATUS = 8;
    // what twin_addresses gives
    private static final int ADDRESSES = 23;

    private static long pair;
    private static long sent;
    private static long received;
    private static long postSend;
    private static long postReceive;
    private static long pollFunction;
    private static final long[] localAddress = new long[SLICES];
    private static final int[] localKey = new int[SLICES];
    private static final long[] remoteAddress = new long[SLICES];
    private static final int[] remoteKey = new int[SLICES];
    private static long[] extended;
    private static long requests;
    private static long pieces;
    private static long completions;
    private static long refused;
    private static long wrong;
    private static long expected;

    private Bare() {}

    /** Uses the queues of a twin in C. Its own loops must not run meanwhile. */
    static void use(Twin twin) {
        MemorySegment memory = Arena.global().allocate(MAX * (REQUEST + PIECE + COMPLETION) + Long.BYTES, 64);
        requests = memory.address();
        pieces = requests + MAX * REQUEST;
        completions = pieces + MAX * PIECE;
        refused = completions + MAX * COMPLETION;
        long[] found = twin.addresses(ADDRESSES);
        pair = found[0];
        sent = found[1];
        received = found[2];
        postSend = found[3];
        postReceive = found[4];
        pollFunction = found[5];
        for (int i = 0; i < SLICES; i++) {
            localAddress[i] = ALL.get(LONG, found[6] + i * PIECE);
            localKey[i] = ALL.get(INT, found[6] + i * PIECE + PIECE_KEY);
            remoteAddress[i] = ALL.get(LONG, found[7] + i * PIECE);
            remoteKey[i] = ALL.get(INT, found[7] + i * PIECE + Long.BYTES);
        }
        extended = Arrays.copyOfRange(found, 8, ADDRESSES);
        for (int i = 0; i < MAX; i++) {
            ALL.set(LONG, request(i) + PIECES, pieces + i * PIECE);
            fill(i, i, 0);
        }
    }

    private static long request(int index) {
        return requests + index * REQUEST;
    }

    private static void fill(int index, long id, int slice) {
        long piece = pieces + index * PIECE;
        ALL.set(LONG, piece, localAddress[slice]);
        ALL.set(INT, piece + PIECE_LENGTH, LENGTH);
        ALL.set(INT, piece + PIECE_KEY, localKey[slice]);
        long request = request(index);
        ALL.set(LONG, request, id);
        ALL.set(INT, request + PIECE_COUNT, 1);
        ALL.set(INT, request + OPCODE, 0);
        ALL.set(INT, request + FLAGS, SIGNALED);
        ALL.set(LONG, request + REMOTE_ADDRESS, remoteAddress[slice]);
        ALL.set(INT, request + REMOTE_KEY, remoteKey[slice]);
    }

    private static void linkAll(int size) {
        for (int i = 0; i < size; i++) {
            ALL.set(LONG, request(i) + NEXT, i + 1 < size ? request(i + 1) : 0);
        }
    }

    private static long post(long function) {
        try {
            return (int) POST.invokeExact(function, pair, requests, refused);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private static int poll(long queue, int most) {
        try {
            return (int) POLL.invokeExact(pollFunction, queue, most, completions);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private static long takeOne(long queue, long id) {
        int found;
        do {
            found = poll(queue, 1);
        } while (found == 0);
        return found == 1 && ALL.get(INT, completions + STATUS) == 0 && ALL.get(LONG, completions) == id ? 0 : 1;
    }

    private static long takeBatch(int size, long firstId) {
        long bad = 0;
        long id = firstId;
        for (int left = size; left > 0; ) {
            int found = poll(sent, size);
            for (int i = 0; i < found; i++) {
                long at = completions + i * COMPLETION;
                bad += ALL.get(INT, at + STATUS) == 0 && ALL.get(LONG, at) == id++ ? 0 : 1;
            }
            left -= found;
        }
        return bad;
    }

    /** Runs a step again and again: a loop of static fields needs no variables of its own. */
    private static Work work(int size, Work.Step step) {
        return new Work(
                n -> {
                    long bad = 0;
                    for (long id = 0; id < n; id += size) {
                        bad += step.once(id);
                    }
                    return bad;
                },
                step);
    }

    static Work standing() {
        return work(1, id -> {
            ALL.set(LONG, requests, id);
            return post(postSend) + takeOne(sent, id);
        });
    }

    static Work reads() {
        ALL.set(INT, requests + OPCODE, RDMA_READ);
        return standing();
    }

    static Work rebuilt() {
        return work(1, id -> {
            fill(0, id, 0);
            return post(postSend) + takeOne(sent, id);
        });
    }

    static Work slices() {
        return work(1, id -> {
            fill(0, id, (int) id % SLICES);
            return post(postSend) + takeOne(sent, id);
        });
    }

    /** Posts a batch with new ids. */
    private static long postBatch(int size, long firstId) {
        for (int i = 0; i < size; i++) {
            ALL.set(LONG, request(i), firstId + i);
        }
        return post(postSend);
    }

    static Work batch16() {
        return batches(BATCH);
    }

    static Work batch64() {
        return batches(MAX);
    }

    private static Work batches(int size) {
        linkAll(size);
        return work(size, id -> postBatch(size, id) + takeBatch(size, id));
    }

    static Work batch16Rebuilt() {
        linkAll(BATCH);
        return work(BATCH, id -> {
            for (int i = 0; i < BATCH; i++) {
                fill(i, id + i, 0);
            }
            return post(postSend) + takeBatch(BATCH, id);
        });
    }

    static Work batch16Slices() {
        linkAll(BATCH);
        return work(BATCH, id -> {
            for (int i = 0; i < BATCH; i++) {
                fill(i, id + i, (int) (id + i) % SLICES);
            }
            return post(postSend) + takeBatch(BATCH, id);
        });
    }

    static Work receive() {
        return work(1, id -> {
            ALL.set(LONG, requests, id);
            return post(postReceive) + takeOne(received, id);
        });
    }

    static Work emptyPoll() {
        return work(1, _ -> poll(sent, 1));
    }

    /** Takes the address of a completion. */
    private interface Callback {
        void accept(long completion);
    }

    /** Three callbacks by turns, so that none of their calls is inlined. */
    static Work callbacks() {
        linkAll(BATCH);
        List<Callback> callbacks = List.of(Bare::first, Bare::second, Bare::third);
        return work(BATCH, id -> {
            wrong = postBatch(BATCH, id);
            expected = id;
            for (int left = BATCH; left > 0; ) {
                int found = poll(sent, BATCH);
                for (int i = 0, k = 0; i < found; i++, k = k == 2 ? 0 : k + 1) {
                    callbacks.get(k).accept(completions + i * COMPLETION);
                }
                left -= found;
            }
            return wrong;
        });
    }

    private static void first(long at) {
        wrong += ALL.get(INT, at + STATUS) == 0 && ALL.get(LONG, at) == expected++ ? 0 : 1;
    }

    private static void second(long at) {
        wrong += ALL.get(LONG, at) == expected++ && ALL.get(INT, at + STATUS) == 0 ? 0 : 1;
    }

    private static void third(long at) {
        wrong += ALL.get(LONG, at) != expected++ || ALL.get(INT, at + STATUS) != 0 ? 1 : 0;
    }

    /** A completion with all fields of {@code struct ibv_wc}. */
    private record Kept(
            long id,
            int status,
            int opcode,
            int vendorError,
            int byteLength,
            int immediate,
            int pair,
            int source,
            int flags,
            short pkey,
            short lid,
            byte level,
            byte path) {
        static Kept at(long at) {
            return new Kept(
                    ALL.get(LONG, at),
                    ALL.get(INT, at + STATUS),
                    ALL.get(INT, at + 12),
                    ALL.get(INT, at + 16),
                    ALL.get(INT, at + 20),
                    ALL.get(INT, at + 24),
                    ALL.get(INT, at + 28),
                    ALL.get(INT, at + 32),
                    ALL.get(INT, at + 36),
                    ALL.get(ValueLayout.JAVA_SHORT, at + 40),
                    ALL.get(ValueLayout.JAVA_SHORT, at + 42),
                    ALL.get(ValueLayout.JAVA_BYTE, at + 44),
                    ALL.get(ValueLayout.JAVA_BYTE, at + 45));
        }
    }

    static Work records() {
        linkAll(BATCH);
        Kept[] kept = new Kept[BATCH];
        return work(BATCH, id -> {
            long bad = postBatch(BATCH, id);
            for (int count = 0; count < BATCH; ) {
                int found = poll(sent, BATCH - count);
                for (int i = 0; i < found; i++) {
                    kept[count++] = Kept.at(completions + i * COMPLETION);
                }
            }
            for (int i = 0; i < BATCH; i++) {
                bad += kept[i].status() == 0 && kept[i].id() == id + i ? 0 : 1;
            }
            return bad;
        });
    }

    static Work extendedPair() {
        ExtendedPair.use(extended);
        return work(1, ExtendedPair::once);
    }

    static Work extendedQueue() {
        ExtendedQueue.use(extended);
        return work(1, ExtendedQueue::once);
    }

    private static final class ExtendedPair {
        private static final MethodHandle ONE = link(LONG);
        private static final MethodHandle WRITE = link(LONG, INT, LONG);
        private static final MethodHandle PIECE_OF = link(LONG, INT, LONG, INT);

        private static long queue;
        private static long start;
        private static long write;
        private static long setPiece;
        private static long complete;
        private static long idField;
        private static long flagsField;

        static void use(long[] found) {
            queue = found[0];
            start = found[1];
            write = found[2];
            setPiece = found[3];
            complete = found[4];
            idField = found[5];
            flagsField = found[6];
        }

        static long once(long id) {
            try {
                int ignored = (int) ONE.invokeExact(start, queue);
                ALL.set(LONG, idField, id);
                ALL.set(INT, flagsField, SIGNALED);
                ignored = (int) WRITE.invokeExact(write, queue, remoteKey[0], remoteAddress[0]);
                ignored = (int) PIECE_OF.invokeExact(setPiece, queue, localKey[0], localAddress[0], LENGTH);
                return (int) ONE.invokeExact(complete, queue) + takeOne(sent, id);
            } catch (Throwable t) {
                throw new AssertionError(t);
            }
        }
    }

    private static final class ExtendedQueue {
        private static final MethodHandle ONE = link(LONG);
        private static final MethodHandle START = link(LONG, LONG);
        private static final int WRITTEN = 1;
        private static final long ATTRIBUTES =
                Arena.global().allocate(Long.BYTES).address();

        private static long queue;
        private static long start;
        private static long end;
        private static long opcode;
        private static long flags;
        private static long length;
        private static long statusField;
        private static long idField;

        static void use(long[] found) {
            queue = found[7];
            start = found[8];
            end = found[9];
            opcode = found[10];
            flags = found[11];
            length = found[12];
            statusField = found[13];
            idField = found[14];
        }

        static long once(long id) {
            ALL.set(LONG, requests, id);
            long bad = post(postSend);
            try {
                int errno;
                do {
                    errno = (int) START.invokeExact(start, queue, ATTRIBUTES);
                } while (errno != 0);
                bad += ALL.get(INT, statusField) == 0 && ALL.get(LONG, idField) == id ? 0 : 1;
                bad += (int) ONE.invokeExact(opcode, queue) == WRITTEN ? 0 : 1;
                bad += (int) ONE.invokeExact(flags, queue);
                bad += (int) ONE.invokeExact(length, queue) == LENGTH ? 0 : 1;
                int ignored = (int) ONE.invokeExact(end, queue);
                return bad;
            } catch (Throwable t) {
                throw new AssertionError(t);
            }
        }
    }

    /** Links a function that returns an {@code int}, or nothing. Its address is the first argument. */
    private static MethodHandle link(ValueLayout... arguments) {
        try {
            MethodHandle ofAddress = MethodHandles.lookup()
                    .findStatic(
                            MemorySegment.class, "ofAddress", MethodType.methodType(MemorySegment.class, long.class));
            MethodHandle call = Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(INT, arguments), OPTIONS);
            return MethodHandles.filterArguments(call, 0, ofAddress);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}

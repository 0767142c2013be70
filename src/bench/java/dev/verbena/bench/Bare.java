package dev.verbena.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * The same work by bare calls of {@code java.lang.foreign}, as fast as a careful program can have it: nothing is checked,
 * and nothing is kept from being closed. What Verbena takes longer is the price of its safety.
 */
final class Bare {
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
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
    // struct ibv_sge
    private static final long PIECE = 16;
    private static final long PIECE_LENGTH = 8;
    private static final long PIECE_KEY = 12;
    // struct ibv_wc
    private static final long COMPLETION = 48;
    private static final long STATUS = 8;
    // what twin_addresses gives
    private static final int ADDRESSES = 23;

    private final long pair;
    private final long sent;
    private final long received;
    private final long postSend;
    private final long postReceive;
    private final long pollFunction;
    private final long[] localAddress = new long[SLICES];
    private final int[] localKey = new int[SLICES];
    private final long[] remoteAddress = new long[SLICES];
    private final int[] remoteKey = new int[SLICES];
    private final long[] extended;
    private final long requests;
    private final long pieces;
    private final long completions;
    private final long refused;

    /** Takes the queues of a twin in C. Its own loops must not run meanwhile. */
    Bare(Twin twin) {
        MemorySegment memory = Arena.global().allocate(MAX * (REQUEST + PIECE + COMPLETION) + Long.BYTES, 64);
        this.requests = memory.address();
        this.pieces = requests + MAX * REQUEST;
        this.completions = pieces + MAX * PIECE;
        this.refused = completions + MAX * COMPLETION;
        long[] found = twin.addresses(ADDRESSES);
        this.pair = found[0];
        this.sent = found[1];
        this.received = found[2];
        this.postSend = found[3];
        this.postReceive = found[4];
        this.pollFunction = found[5];
        for (int i = 0; i < SLICES; i++) {
            localAddress[i] = ALL.get(LONG, found[6] + i * PIECE);
            localKey[i] = ALL.get(INT, found[6] + i * PIECE + PIECE_KEY);
            remoteAddress[i] = ALL.get(LONG, found[7] + i * PIECE);
            remoteKey[i] = ALL.get(INT, found[7] + i * PIECE + Long.BYTES);
        }
        this.extended = java.util.Arrays.copyOfRange(found, 8, ADDRESSES);
        for (int i = 0; i < MAX; i++) {
            ALL.set(LONG, request(i) + PIECES, pieces + i * PIECE);
            fill(i, i, 0);
        }
    }

    private long request(int index) {
        return requests + index * REQUEST;
    }

    private void fill(int index, long id, int slice) {
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

    private void linkAll(int size) {
        for (int i = 0; i < size; i++) {
            ALL.set(LONG, request(i) + NEXT, i + 1 < size ? request(i + 1) : 0);
        }
    }

    private long post(long function) {
        try {
            return (int) POST.invokeExact(function, pair, requests, refused);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private int poll(long queue, int most) {
        try {
            return (int) POLL.invokeExact(pollFunction, queue, most, completions);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private long takeOne(long queue, long id) {
        int found;
        do {
            found = poll(queue, 1);
        } while (found == 0);
        return found == 1 && ALL.get(INT, completions + STATUS) == 0 && ALL.get(LONG, completions) == id ? 0 : 1;
    }

    private long takeBatch(int size, long firstId) {
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

    Step standing() {
        return new Step() {
            @Override
            public long once(long id) {
                ALL.set(LONG, requests, id);
                return post(postSend) + takeOne(sent, id);
            }
        };
    }

    Step rebuilt() {
        return new Step() {
            @Override
            public long once(long id) {
                fill(0, id, 0);
                return post(postSend) + takeOne(sent, id);
            }
        };
    }

    Step slices() {
        return new Step() {
            @Override
            public long once(long id) {
                fill(0, id, (int) id % SLICES);
                return post(postSend) + takeOne(sent, id);
            }
        };
    }

    Step batch16() {
        linkAll(BATCH);
        return new Step() {
            @Override
            public long once(long id) {
                for (int i = 0; i < BATCH; i++) {
                    ALL.set(LONG, request(i), id + i);
                }
                return post(postSend) + takeBatch(BATCH, id);
            }
        };
    }

    Step batch16Rebuilt() {
        linkAll(BATCH);
        return new Step() {
            @Override
            public long once(long id) {
                for (int i = 0; i < BATCH; i++) {
                    fill(i, id + i, 0);
                }
                return post(postSend) + takeBatch(BATCH, id);
            }
        };
    }

    Step batch16Slices() {
        linkAll(BATCH);
        return new Step() {
            @Override
            public long once(long id) {
                for (int i = 0; i < BATCH; i++) {
                    fill(i, id + i, (int) (id + i) % SLICES);
                }
                return post(postSend) + takeBatch(BATCH, id);
            }
        };
    }

    Step receive() {
        return new Step() {
            @Override
            public long once(long id) {
                ALL.set(LONG, requests, id);
                return post(postReceive) + takeOne(received, id);
            }
        };
    }

    Step emptyPoll() {
        return new Step() {
            @Override
            public long once(long id) {
                return poll(sent, 1);
            }
        };
    }

    Step extendedPair() {
        return new ExtendedPair();
    }

    Step extendedQueue() {
        return new ExtendedQueue();
    }

    private final class ExtendedPair implements Step {
        private static final MethodHandle ONE = link(LONG);
        private static final MethodHandle WRITE = link(LONG, INT, LONG);
        private static final MethodHandle PIECE_OF = link(LONG, INT, LONG, INT);

        private final long queue = extended[0];
        private final long start = extended[1];
        private final long write = extended[2];
        private final long setPiece = extended[3];
        private final long complete = extended[4];
        private final long idField = extended[5];
        private final long flagsField = extended[6];

        @Override
        public long once(long id) {
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

    private final class ExtendedQueue implements Step {
        private static final MethodHandle ONE = link(LONG);
        private static final MethodHandle START = link(LONG, LONG);
        private static final int WRITTEN = 1;

        private final long queue = extended[7];
        private final long start = extended[8];
        private final long end = extended[9];
        private final long opcode = extended[10];
        private final long flags = extended[11];
        private final long length = extended[12];
        private final long statusField = extended[13];
        private final long idField = extended[14];
        private final long attributes = Arena.global().allocate(Long.BYTES).address();

        @Override
        public long once(long id) {
            ALL.set(LONG, requests, id);
            long bad = post(postSend);
            try {
                int errno;
                do {
                    errno = (int) START.invokeExact(start, queue, attributes);
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

    /** Links a critical function that returns an {@code int}, or nothing. Its address is the first argument. */
    private static MethodHandle link(ValueLayout... arguments) {
        try {
            MethodHandle ofAddress = MethodHandles.lookup()
                    .findStatic(
                            MemorySegment.class, "ofAddress", MethodType.methodType(MemorySegment.class, long.class));
            MethodHandle call = Linker.nativeLinker()
                    .downcallHandle(FunctionDescriptor.of(INT, arguments), Linker.Option.critical(false));
            return MethodHandles.filterArguments(call, 0, ofAddress);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}

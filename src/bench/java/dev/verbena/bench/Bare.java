package dev.verbena.bench;

import dev.verbena.bench.Row.Change;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Bare calls of {@code java.lang.foreign}, as fast as a careful program can have them: nothing is checked, and nothing is
 * kept from being closed. What Verbena takes longer is the price of its safety, and of objects in place of the static fields
 * here: after each call into C, Java loads again what C keeps in registers. The calls are critical, unless the property says
 * that all calls are plain.
 */
final class Bare extends Subject {
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    /** The property that Verbena reads too: what is measured beside plain calls is plain. */
    private static final Linker.Option[] OPTIONS = "none".equals(System.getProperty("dev.verbena.critical"))
            ? new Linker.Option[0]
            : new Linker.Option[] {Linker.Option.critical(false)};

    private static final MethodHandle POST = link(LONG, LONG, LONG);
    private static final MethodHandle POLL = link(LONG, INT, LONG);

    // struct ibv_send_wr and struct ibv_recv_wr
    private static final long REQUEST = 128;
    private static final long NEXT = 8;
    private static final long PIECES = 16;
    private static final long PIECE_COUNT = 24;
    private static final long OPCODE = 28;
    private static final long FLAGS = 32;
    private static final long REMOTE_ADDRESS = 40;
    private static final long REMOTE_KEY = 48;
    private static final int SIGNALED = INLINE ? 2 | 8 : 2; // IBV_SEND_SIGNALED, IBV_SEND_INLINE
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
    private static long queue;
    private static long postFunction;
    private static long pollFunction;
    private static final long[] localAddress = new long[SLICES];
    private static final int[] localKey = new int[SLICES];
    private static final long[] remoteAddress = new long[SLICES];
    private static final int[] remoteKey = new int[SLICES];
    private static long requests;
    private static long pieces;
    private static long completions;
    private static long refused;

    /** Uses the queues of a twin in C. Its own loops must not run meanwhile. */
    Bare(Twin twin) {
        use(twin);
    }

    private static void use(Twin twin) {
        MemorySegment memory = Arena.global().allocate(SIZE * (REQUEST + PIECE + COMPLETION) + Long.BYTES, 64);
        requests = memory.address();
        pieces = requests + SIZE * REQUEST;
        completions = pieces + SIZE * PIECE;
        refused = completions + SIZE * COMPLETION;
        long[] found = twin.addresses(ADDRESSES);
        pair = found[0];
        queue = found[RECEIVES ? 2 : 1];
        postFunction = found[RECEIVES ? 4 : 3];
        pollFunction = found[5];
        for (int i = 0; i < SLICES; i++) {
            localAddress[i] = ALL.get(LONG, found[6] + i * PIECE);
            localKey[i] = ALL.get(INT, found[6] + i * PIECE + PIECE_KEY);
            remoteAddress[i] = ALL.get(LONG, found[7] + i * PIECE);
            remoteKey[i] = ALL.get(INT, found[7] + i * PIECE + Long.BYTES);
        }
        for (int i = 0; i < SIZE; i++) {
            ALL.set(LONG, request(i) + PIECES, pieces + i * PIECE);
            ALL.set(LONG, request(i) + NEXT, i + 1 < SIZE ? request(i + 1) : 0);
            fill(i, i, 0);
        }
        if (READS) {
            ALL.set(INT, requests + OPCODE, RDMA_READ);
        }
        if (EXTENDED_PAIR) {
            ExtendedPair.use(found);
        } else if (EXTENDED_QUEUE) {
            ExtendedQueue.use(found);
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

    @Override
    long turn(long id) {
        return once(id);
    }

    @Override
    long run(int operations) {
        long bad = 0;
        if (AHEAD > 0) {
            for (long id = 0; id < operations + AHEAD; id++) {
                bad += id < operations ? post(id) : 0;
                bad += id >= AHEAD ? takeOne(id - AHEAD) : 0;
            }
            return bad;
        }
        for (long id = 0; id < operations; id += SIZE) {
            bad += once(id);
        }
        return bad;
    }

    @Override
    long posts(long id) {
        return EXTENDED_PAIR ? ExtendedPair.write(id) : post(id);
    }

    @Override
    long takes(long id) {
        return takeAll(id);
    }

    @Override
    long half(boolean posts, long from, int operations) {
        long bad = 0;
        for (long id = from; id < from + operations; id += SIZE) {
            bad += posts ? posts(id) : takeAll(id);
        }
        return bad;
    }

    private static long once(long id) {
        if (CHANGE == Change.NOTHING) {
            return poll();
        }
        return (EXTENDED_PAIR ? ExtendedPair.write(id) : post(id)) + takeAll(id);
    }

    private static long takeAll(long id) {
        if (EXTENDED_QUEUE) {
            return ExtendedQueue.take(id);
        }
        return SIZE == 1 ? takeOne(id) : takeBatch(id);
    }

    private static long post(long id) {
        for (int i = 0; i < SIZE; i++) {
            if (CHANGE == Change.ID) {
                ALL.set(LONG, request(i), id + i);
            } else {
                fill(i, id + i, (int) (id + i) % SLICES);
            }
        }
        try {
            return (int) POST.invokeExact(postFunction, pair, requests, refused);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private static int poll() {
        try {
            return (int) POLL.invokeExact(pollFunction, queue, SIZE, completions);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private static long takeOne(long id) {
        int found;
        do {
            found = poll();
        } while (found == 0);
        return found == 1 && ALL.get(INT, completions + STATUS) == 0 && ALL.get(LONG, completions) == id ? 0 : 1;
    }

    private static long takeBatch(long firstId) {
        long bad = 0;
        long id = firstId;
        for (int left = SIZE; left > 0; ) {
            int found = poll();
            for (int i = 0; i < found; i++) {
                long at = completions + i * COMPLETION;
                bad += ALL.get(INT, at + STATUS) == 0 && ALL.get(LONG, at) == id++ ? 0 : 1;
            }
            left -= found;
        }
        return bad;
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
            queue = found[8];
            start = found[9];
            write = found[10];
            setPiece = found[11];
            complete = found[12];
            idField = found[13];
            flagsField = found[14];
        }

        static long write(long id) {
            try {
                int ignored = (int) ONE.invokeExact(start, queue);
                ALL.set(LONG, idField, id);
                ALL.set(INT, flagsField, SIGNALED);
                ignored = (int) WRITE.invokeExact(write, queue, remoteKey[0], remoteAddress[0]);
                ignored = (int) PIECE_OF.invokeExact(setPiece, queue, localKey[0], localAddress[0], LENGTH);
                return (int) ONE.invokeExact(complete, queue);
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
            queue = found[15];
            start = found[16];
            end = found[17];
            opcode = found[18];
            flags = found[19];
            length = found[20];
            statusField = found[21];
            idField = found[22];
        }

        static long take(long id) {
            try {
                int errno;
                do {
                    errno = (int) START.invokeExact(start, queue, ATTRIBUTES);
                } while (errno != 0);
                long bad = ALL.get(INT, statusField) == 0 && ALL.get(LONG, idField) == id ? 0 : 1;
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

package dev.verbena.internal;

import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The functions that post a request with one piece of memory, of the first extended queue pair of a program. Nearly always,
 * all queue pairs have the same. Each has a constant handle, which spares a load and a check for each call.
 *
 * <p>All calls are critical. {@link ExtendedCalls} says when they may be, and how arguments are passed.
 */
public final class FirstSends {
    private static final AtomicReference<long @Nullable []> FIRST = new AtomicReference<>();
    private static final int START = 0;
    private static final int SET_PIECE = 1;
    private static final int COMPLETE = 2;
    private static final int SEND = 3;
    private static final int WRITE = 4;
    private static final int READ = 5;

    private final boolean same;
    private final boolean send;
    private final boolean write;
    private final boolean read;

    /**
     * Compares the functions of a queue pair with those of the first one, which they become if there is none yet.
     *
     * @param start {@code wr_start}
     * @param setPiece {@code wr_set_sge}
     * @param complete {@code wr_complete}
     * @param send {@code wr_send}, or 0
     * @param write {@code wr_rdma_write}, or 0
     * @param read {@code wr_rdma_read}, or 0
     */
    public FirstSends(long start, long setPiece, long complete, long send, long write, long read) {
        long[] functions = {start, setPiece, complete, send, write, read};
        FIRST.compareAndSet(null, functions);
        long[] first = first();
        this.same = Arrays.equals(first, 0, SEND, functions, 0, SEND);
        this.send = same && send != 0 && first[SEND] == send;
        this.write = same && write != 0 && first[WRITE] == write;
        this.read = same && read != 0 && first[READ] == read;
    }

    private static long[] first() {
        long[] first = FIRST.get();
        if (first == null) {
            throw new IllegalStateException("No extended queue pair has been made");
        }
        return first;
    }

    private static MethodHandle link(int which, int arguments) {
        return ExtendedCalls.ofOneFunction(first()[which], arguments);
    }

    /** Returns true if {@link #send} calls this queue pair's function. */
    public boolean hasSend() {
        return send;
    }

    /** Returns true if {@link #write} calls this queue pair's function. */
    public boolean hasWrite() {
        return write;
    }

    /** Returns true if {@link #read} calls this queue pair's function. */
    public boolean hasRead() {
        return read;
    }

    private static final class Start {
        static final MethodHandle HANDLE = link(START, 1);
    }

    private static final class SetPiece {
        static final MethodHandle HANDLE = link(SET_PIECE, 4);
    }

    private static final class Complete {
        static final MethodHandle HANDLE = link(COMPLETE, 1);
    }

    private static final class Send {
        static final MethodHandle HANDLE = link(SEND, 1);
    }

    private static final class Write {
        static final MethodHandle HANDLE = link(WRITE, 3);
    }

    private static final class Read {
        static final MethodHandle HANDLE = link(READ, 3);
    }

    /** Calls {@code wr_start}. */
    public static void start(long queue) {
        try {
            long ignored = (long) Start.HANDLE.invokeExact(queue);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls {@code wr_send}. */
    public static void send(long queue) {
        try {
            long ignored = (long) Send.HANDLE.invokeExact(queue);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls {@code wr_rdma_write}. */
    public static void write(long queue, long remoteKey, long remoteAddress) {
        try {
            long ignored = (long) Write.HANDLE.invokeExact(queue, remoteKey, remoteAddress);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls {@code wr_rdma_read}. */
    public static void read(long queue, long remoteKey, long remoteAddress) {
        try {
            long ignored = (long) Read.HANDLE.invokeExact(queue, remoteKey, remoteAddress);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls {@code wr_set_sge}. */
    public static void setPiece(long queue, long key, long address, long length) {
        try {
            long ignored = (long) SetPiece.HANDLE.invokeExact(queue, key, address, length);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /** Calls {@code wr_complete}. Returns 0 or an error number, with undefined high bits. */
    public static long complete(long queue) {
        try {
            return (long) Complete.HANDLE.invokeExact(queue);
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }
}

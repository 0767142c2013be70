package dev.verbena.sockets;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.LinkedHandle;
import dev.verbena.internal.NativeLibraries;
import dev.verbena.internal.PollSet;
import dev.verbena.internal.SystemCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The functions of {@code rdma/rsocket.h} that are called. On failure they return -1 and set {@code errno}.
 *
 * <p>Functions that take a user's memory have a handle of their own: a downcall with a {@code MemorySegment} keeps the
 * memory alive until C returns. The segment is an argument after the last one of C, which does not see it, and the address
 * is another: so a part of a segment needs no slice, which is an object.
 *
 * <p>{@code rpoll} only looks, and never waits: all threads that wait in it wake whenever one of them has an event. And in
 * rdma-core 44, each {@code rpoll} whose time is over leaves a count behind, after which all of them spin.
 */
final class Rsocket {
    static final CFunction SOCKET = function("rsocket");
    static final CFunction BIND = function("rbind");
    static final CFunction LISTEN = function("rlisten");
    static final CFunction ACCEPT = function("raccept");
    static final CFunction CONNECT = function("rconnect");
    static final CFunction SHUTDOWN = function("rshutdown");
    static final CFunction CLOSE = function("rclose");
    static final CFunction RECEIVE = function("rrecv");
    static final CFunction SEND = function("rsend");
    static final CFunction POLL = function("rpoll");
    static final CFunction GET_PEER_NAME = function("rgetpeername");
    static final CFunction GET_SOCKET_NAME = function("rgetsockname");
    static final CFunction SET_OPTION = function("rsetsockopt");
    static final CFunction GET_OPTION = function("rgetsockopt");
    static final CFunction CONTROL = function("rfcntl");
    static final CFunction MAP = function("riomap");
    static final CFunction UNMAP = function("riounmap");
    static final CFunction PLACE = function("riowrite");

    /** The type of all rsockets ({@code SOCK_STREAM}). */
    static final int STREAM = 1;

    private static final int PEEK = 2;
    private static final int DO_NOT_WAIT = 0x40;
    private static final LinkedHandle LINK = new LinkedHandle(
            LinkedHandle.Kind.ERRNO, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS);

    /**
     * Holds the handle, in a class of its own: linking takes some 10 ms. The three functions that use it write the call out:
     * with one more frame, C2 does not see through it, and each call allocates 40 bytes (2026-11-25).
     */
    private static final class Transfer {
        static final MethodHandle HANDLE = LINK.get();
        static final MemorySegment RECEIVE_FUNCTION = RECEIVE.address();
        static final MemorySegment SEND_FUNCTION = SEND.address();
        static final MemorySegment PLACE_FUNCTION = PLACE.address();
    }

    private Rsocket() {}

    /** Opens a stream rsocket ({@code rsocket}). */
    static int open(int family) {
        return (int) SOCKET.call(family, STREAM, 0);
    }

    /** Finds and links what transfers data, before the first socket is opened. */
    static void prepare() {
        RECEIVE.address();
        SEND.address();
        PLACE.address();
        LINK.get();
    }

    private static CFunction function(String name) {
        return new CFunction(NativeLibraries.CM, name);
    }

    /**
     * Receives bytes at an offset of a segment ({@code rrecv}). Returns their number, 0 at the end of the stream, or the error
     * number negated.
     *
     * @param wait whether to poll for some microseconds and arm the completion channel if there are none: see
     *     {@code HiddenDescriptor.completionChannel}
     */
    static long receive(int socket, MemorySegment to, long at, long length, boolean wait) {
        try {
            long result = (long) Transfer.HANDLE.invokeExact(
                    Transfer.RECEIVE_FUNCTION,
                    CFunction.captured(),
                    socket,
                    to.address() + at,
                    length,
                    flags(wait),
                    0L,
                    to);
            return result < 0 ? -CFunction.errno() : result;
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    private static long flags(boolean wait) {
        return wait ? 0 : DO_NOT_WAIT;
    }

    /** Makes functions of C fail with {@code EAGAIN} where they would wait; or makes them wait. Returns 0, or -1. */
    static int setNonBlocking(int socket, boolean on) {
        return (int) CONTROL.call(socket, SystemCall.SET_FLAGS, on ? SystemCall.NON_BLOCKING : 0);
    }

    /** Returns the events that a socket has now ({@code rpoll}). */
    static int look(int socket, int events) {
        try (Arena scratch = Arena.ofConfined()) {
            PollSet one = new PollSet(1, scratch);
            one.set(0, socket, events);
            look(one, 1);
            return one.reported(0);
        }
    }

    /** Notes the events that each socket of a set has now ({@code rpoll}). */
    static void look(PollSet sockets, int size) {
        POLL.call(sockets.address(), size, 0);
    }

    /** Announces what was mapped, with a placement of no bytes. Returns 0, or -1. */
    static int announce(int socket) {
        return (int) PLACE.call(socket, 0, 0, 0, DO_NOT_WAIT);
    }

    /**
     * Arms the completion channel of a connected rsocket, and takes its events, if nothing can be read ({@code rrecv} of no
     * bytes). Returns false if there is something to read, or the stream has ended: the channel is not armed then.
     */
    static boolean arm(int socket) {
        return RECEIVE.call(socket, 0, 0, PEEK) < 0 && CFunction.errno() == Errno.EAGAIN;
    }

    /** Copies bytes that were received, and leaves them ({@code MSG_PEEK}). Returns their number, or -1. */
    static long peek(int socket, MemorySegment to, long length) {
        return RECEIVE.call(socket, to.address(), length, PEEK | DO_NOT_WAIT);
    }

    /**
     * Sends bytes at an offset of a segment ({@code rsend}). Returns their number, or the error number negated.
     *
     * @param wait as for {@link #receive}
     */
    static long send(int socket, MemorySegment from, long at, long length, boolean wait) {
        try {
            long result = (long) Transfer.HANDLE.invokeExact(
                    Transfer.SEND_FUNCTION,
                    CFunction.captured(),
                    socket,
                    from.address() + at,
                    length,
                    flags(wait),
                    0L,
                    from);
            return result < 0 ? -CFunction.errno() : result;
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }

    /**
     * Places bytes into memory that the peer has mapped ({@code riowrite}). Returns their number, which is 0 if nothing is
     * mapped at the offset, or the error number negated. The bytes must not run over the end of a mapping: C then posts
     * empty writes until the send queue is full.
     *
     * @param wait as for {@link #receive}
     */
    static long place(int socket, MemorySegment from, long length, long offset, boolean wait) {
        try {
            long result = (long) Transfer.HANDLE.invokeExact(
                    Transfer.PLACE_FUNCTION,
                    CFunction.captured(),
                    socket,
                    from.address(),
                    length,
                    offset,
                    flags(wait),
                    from);
            return result < 0 ? -CFunction.errno() : result;
        } catch (Throwable t) {
            throw CFunction.unexpected(t);
        }
    }
}

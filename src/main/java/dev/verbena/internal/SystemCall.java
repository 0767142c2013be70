package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A function of libc that works on descriptors, or that knows how many there may be. */
public enum SystemCall {
    OPEN("open"),
    DUP("dup"),
    DUP3("dup3"),
    FCNTL("fcntl"),
    EPOLL_CREATE("epoll_create1"),
    EPOLL_CTL("epoll_ctl"),
    EPOLL_WAIT("epoll_wait"),
    EVENTFD("eventfd"),
    PIPE2("pipe2"),
    PPOLL("ppoll"),
    READ("read"),
    WRITE("write"),
    CLOSE("close"),
    GETRLIMIT("getrlimit");

    private static final int GET_FLAGS = 3;

    /** {@code F_DUPFD_CLOEXEC}. */
    private static final int DUPLICATE = 1030;

    /** {@code F_SETFL}, also for {@code rfcntl}. */
    public static final int SET_FLAGS = 4;

    /** {@code O_NONBLOCK}. */
    public static final int NON_BLOCKING = 04000;

    private final CFunction function;

    SystemCall(String call) {
        this.function = new CFunction(NativeLibraries.C, call);
    }

    /** Returns the function, for callers that convert its failures themselves. */
    public CFunction function() {
        return function;
    }

    /**
     * Calls the function, again when a signal interrupts it.
     *
     * @throws SystemCallException if it fails
     */
    public int call(long... arguments) {
        int result;
        do {
            result = (int) function.call(arguments);
        } while (result < 0 && CFunction.errno() == Errno.EINTR);
        if (result < 0) {
            throw new SystemCallException(function.name(), CFunction.errno());
        }
        return result;
    }

    /**
     * Calls the function as {@link #call(long...)} does, and allocates nothing: no shortage of memory keeps a thread from
     * being woken. A call that fails is repeated, for its error number.
     *
     * @throws SystemCallException if it fails
     */
    public int call(long first, long second, long third, long fourth) {
        int result = quietly(first, second, third, fourth);
        return result < 0 ? call(new long[] {first, second, third, fourth}) : result;
    }

    /** Calls the function without an allocation. The error number of a failure is lost. */
    public int quietly(long first, long second, long third, long fourth) {
        return (int) function.callQuietly(first, second, third, fourth);
    }

    /** Closes a descriptor. The descriptor is closed even if the call reports an error. Allocates nothing. */
    public static void close(int descriptor) {
        CLOSE.quietly(descriptor, 0, 0, 0);
    }

    /**
     * Duplicates a descriptor, which programs that this one starts do not get.
     *
     * @throws SystemCallException if there are too many
     */
    public static int duplicate(int descriptor) {
        return FCNTL.call(descriptor, DUPLICATE, 0);
    }

    /**
     * Makes reads of a descriptor answer {@code EAGAIN} where they would block.
     *
     * @throws SystemCallException if {@code fcntl} fails
     */
    public static void makeNonBlocking(int descriptor) {
        FCNTL.call(descriptor, SET_FLAGS, FCNTL.call(descriptor, GET_FLAGS) | NON_BLOCKING);
    }

    /** Returns a soft limit of the process ({@code getrlimit}); -1 for none. */
    static long softLimit(int resource) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment limits = scratch.allocate(ValueLayout.JAVA_LONG, 2);
            GETRLIMIT.call(resource, limits.address());
            return limits.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Returns the flags of a descriptor ({@code F_GETFL}); negative if there is no such descriptor. */
    public static int flags(int descriptor) {
        return (int) FCNTL.function.call(descriptor, GET_FLAGS);
    }
}

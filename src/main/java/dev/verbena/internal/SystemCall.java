package dev.verbena.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** A function of libc that waiting for descriptors needs, or that knows how many there may be. */
enum SystemCall {
    EPOLL_CREATE("epoll_create1"),
    EPOLL_CTL("epoll_ctl"),
    EPOLL_WAIT("epoll_wait"),
    EVENTFD("eventfd"),
    POLL("poll"),
    TIMERFD_CREATE("timerfd_create"),
    TIMERFD_SETTIME("timerfd_settime"),
    READ("read"),
    WRITE("write"),
    CLOSE("close"),
    GETRLIMIT("getrlimit");

    private static final int GET_FLAGS = 3;

    /** {@code F_SETFL}, also for {@code rfcntl}. */
    static final int SET_FLAGS = 4;

    /** {@code O_NONBLOCK}. */
    static final int NON_BLOCKING = 04000;

    private final MemorySegment address;
    private final String call;

    SystemCall(String call) {
        this.call = call;
        this.address = find(call);
    }

    private static MemorySegment find(String call) {
        return Linker.nativeLinker().defaultLookup().find(call).orElseThrow();
    }

    /**
     * Calls the function, again when a signal interrupts it.
     *
     * @throws SystemCallException if it fails
     */
    int call(long... arguments) {
        int result;
        do {
            result = (int) CFunction.callAt(address, arguments);
        } while (result < 0 && CFunction.errno() == Errno.EINTR);
        if (result < 0) {
            throw new SystemCallException(call, CFunction.errno());
        }
        return result;
    }

    /** Closes a descriptor. The descriptor is closed even if the call reports an error. */
    static void close(int descriptor) {
        CFunction.callAt(CLOSE.address, descriptor);
    }

    /** Makes reads of a descriptor answer {@code EAGAIN} where they would block. */
    static void makeNonBlocking(int descriptor) {
        int flags = Control.call(descriptor, GET_FLAGS, 0);
        Control.call(descriptor, SET_FLAGS, flags | NON_BLOCKING);
    }

    /** Returns the flags of a descriptor ({@code F_GETFL}); negative if there is no such descriptor. */
    static int flags(int descriptor) {
        return Control.tryToCall(descriptor, GET_FLAGS, 0);
    }

    /** The function {@code fcntl}, whose third argument is variadic. */
    private static final class Control {
        private static final MethodHandle FCNTL = Linker.nativeLinker()
                .downcallHandle(
                        find("fcntl"),
                        FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
                        Linker.Option.firstVariadicArg(2));

        private static int tryToCall(int descriptor, int command, int argument) {
            try {
                return (int) FCNTL.invokeExact(descriptor, command, argument);
            } catch (Throwable t) {
                throw CFunction.unexpected(t);
            }
        }

        private static int call(int descriptor, int command, int argument) {
            int result = tryToCall(descriptor, command, argument);
            if (result < 0) {
                throw new SystemCallException("fcntl", Errno.EBADF); // these two commands fail for no other reason
            }
            return result;
        }
    }
}

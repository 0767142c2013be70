package dev.verbena.internal;

import dev.verbena.internal.LinkedHandle.Kind;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The calls of the extended data path: {@code ibv_wr_*}, {@code ibv_start_poll} and {@code ibv_wc_read_*}, which C
 * reaches through function pointers in the queue itself. A queue chooses {@link #CRITICAL} or {@link #PLAIN} calls once.
 * {@link SystemCall} makes its calls here that must not allocate.
 *
 * <p>All integers and pointers are passed as {@code long}, as in {@link CFunction}, and C leaves arguments unread that a
 * function does not take. A narrower result has undefined high bits, and the caller cuts it. A call allocates nothing and
 * does not keep {@code errno}: these functions return it.
 *
 * <p>{@code ibv_start_poll} and {@code ibv_wr_start} take a lock that is then held in Java. A second thread that spins
 * on the lock in a <em>critical</em> call would keep the virtual machine from its safepoint, while the holder may wait at
 * that very safepoint. So these two calls are critical only where there can be no second thread.
 */
public abstract sealed class ExtendedCalls {
    /** Calls without a change of thread state: see {@link Driver}. */
    public static final ExtendedCalls CRITICAL = new Critical();

    /** Calls with a change of thread state. */
    public static final ExtendedCalls PLAIN = new Plain();

    private static final int FEW = 2;
    private static final int MOST = 6;

    private static final LinkedHandle FEW_CRITICAL = LinkedHandle.ofLongs(Kind.CRITICAL, FEW);
    private static final LinkedHandle MOST_CRITICAL = LinkedHandle.ofLongs(Kind.CRITICAL, MOST);
    private static final LinkedHandle FEW_PLAIN = LinkedHandle.ofLongs(Kind.PLAIN, FEW);
    private static final LinkedHandle MOST_PLAIN = LinkedHandle.ofLongs(Kind.PLAIN, MOST);

    ExtendedCalls() {}

    /** Calls a function of the object and at most one argument. */
    public abstract long call(MemorySegment function, long object, long a);

    /** Calls a function of the object and at most five arguments. */
    public abstract long call(MemorySegment function, long object, long a, long b, long c, long d, long e);

    /**
     * Links the handle for few or many arguments, unless it is linked already. Makers of what makes such calls do this first:
     * see {@link LinkedHandle}.
     */
    public abstract void prepare(boolean many);

    /** Calls a function of the object alone. */
    public final long call(MemorySegment function, long object) {
        return call(function, object, 0);
    }

    private static final class Critical extends ExtendedCalls {
        /** Holds a handle, in a class of its own, so that only what is called is linked. */
        private static final class Few {
            static final MethodHandle HANDLE = FEW_CRITICAL.get();
        }

        private static final class Most {
            static final MethodHandle HANDLE = MOST_CRITICAL.get();
        }

        @Override
        public void prepare(boolean many) {
            (many ? MOST_CRITICAL : FEW_CRITICAL).get();
        }

        @Override
        public long call(MemorySegment function, long object, long a) {
            try {
                return (long) Critical.Few.HANDLE.invokeExact(function, object, a);
            } catch (Throwable t) {
                throw CFunction.unexpected(t);
            }
        }

        @Override
        public long call(MemorySegment function, long object, long a, long b, long c, long d, long e) {
            try {
                return (long) Critical.Most.HANDLE.invokeExact(function, object, a, b, c, d, e);
            } catch (Throwable t) {
                throw CFunction.unexpected(t);
            }
        }
    }

    private static final class Plain extends ExtendedCalls {
        private static final class Few {
            static final MethodHandle HANDLE = FEW_PLAIN.get();
        }

        private static final class Most {
            static final MethodHandle HANDLE = MOST_PLAIN.get();
        }

        @Override
        public void prepare(boolean many) {
            (many ? MOST_PLAIN : FEW_PLAIN).get();
        }

        @Override
        public long call(MemorySegment function, long object, long a) {
            try {
                return (long) Plain.Few.HANDLE.invokeExact(function, object, a);
            } catch (Throwable t) {
                throw CFunction.unexpected(t);
            }
        }

        @Override
        public long call(MemorySegment function, long object, long a, long b, long c, long d, long e) {
            try {
                return (long) Plain.Most.HANDLE.invokeExact(function, object, a, b, c, d, e);
            } catch (Throwable t) {
                throw CFunction.unexpected(t);
            }
        }
    }
}

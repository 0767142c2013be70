package dev.verbena.sockets;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Shares the events of a completion channel between the thread that reads a connection and the one that writes.
 *
 * <p>An event is for both, but only one call of C takes it. So one thread leads: it alone calls functions that take events
 * and waits for the next one. The other thread follows: it parks, and tries again whenever the leader has tried. The
 * follower registers first, tries, and parks then, so that it misses nothing.
 */
final class WaitTurn {
    private static final VarHandle LEADER;

    static {
        try {
            LEADER = MethodHandles.lookup().findVarHandle(WaitTurn.class, "leader", Waiter.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @SuppressWarnings("unused") // the handle uses it
    private volatile @Nullable Waiter leader;

    private volatile @Nullable Thread follower;

    /** Makes a waiter the leader if there is none. */
    boolean lead(Waiter waiter) {
        return LEADER.compareAndSet(this, null, waiter);
    }

    /** Ends the leader's turn. The follower tries to lead. */
    void endLead() {
        leader = null;
        wakeFollower();
    }

    /** Registers or removes the thread that follows. */
    void follower(@Nullable Thread thread) {
        follower = thread;
    }

    /** Has the follower try again. */
    void wakeFollower() {
        Thread thread = follower;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }
}

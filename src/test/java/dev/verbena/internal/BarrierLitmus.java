package dev.verbena.internal;

import dev.verbena.support.SystemCallFilter;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;

/**
 * Two threads that each store to one variable and then read the other's, as a user and a closing thread do. At least one of
 * them must see the other's store. Only the second thread pays for a fence.
 */
final class BarrierLitmus {
    private static final Duration ENOUGH = Duration.ofSeconds(3);
    private static final VarHandle BUSY;
    private static final VarHandle CLOSED;

    private int busy;
    private int closed;
    private volatile int round;
    private volatile int done;
    private volatile int seenByUser;

    static {
        try {
            BUSY = MethodHandles.lookup().findVarHandle(BarrierLitmus.class, "busy", int.class);
            CLOSED = MethodHandles.lookup().findVarHandle(BarrierLitmus.class, "closed", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private BarrierLitmus() {}

    private void use() {
        for (int i = 1; ; i++) {
            while (round != i) {
                if (round < 0) {
                    return;
                }
                Thread.onSpinWait();
            }
            BUSY.setOpaque(this, i);
            int seen = (int) CLOSED.getOpaque(this);
            seenByUser = seen;
            done = i;
        }
    }

    /** Returns the number of the round in which neither thread saw the other's store, or 0. */
    private int close() throws InterruptedException {
        Thread user = Thread.ofPlatform().daemon().start(this::use);
        long end = System.nanoTime() + ENOUGH.toNanos();
        int bad = 0;
        for (int i = 1; bad == 0 && System.nanoTime() - end < 0; i++) {
            round = i;
            for (int delay = i % 64; delay > 0; delay--) {
                Thread.onSpinWait();
            }
            CLOSED.setVolatile(this, i);
            Barrier.allThreads();
            int seen = (int) BUSY.getAcquire(this);
            while (done != i) {
                Thread.onSpinWait();
            }
            if (seen != i && seenByUser != i) {
                bad = i;
            }
        }
        round = -1;
        user.join();
        return bad;
    }

    /** With an argument, forbids {@code membarrier} once it is in use. */
    public static void main(String[] arguments) throws InterruptedException {
        if (arguments.length > 0) {
            SystemCallFilter.forbidMembarrierInUse();
        }
        int bad = new BarrierLitmus().close();
        System.out.println(bad == 0 ? "all rounds were seen" : "neither thread saw the other in round " + bad);
    }
}

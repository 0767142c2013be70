package dev.verbena.sockets;

import dev.verbena.internal.Daemons;
import dev.verbena.internal.PollSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The end of a connection in steps that wait for no peer. In all releases of librdmacm, {@code rclose} and {@code rshutdown}
 * wait until the peer's adapter has acknowledged all data, and soft-RoCE never gives up.
 *
 * <p>They do not wait once the completion channel is known and non-blocking: see {@link SocketDescriptor#findChannel}.
 */
final class RcloseWaitsForPeer implements Runnable {
    private static final int CLOSERS = 16;

    /** The longest time for the last data of a closed socket, which is about as long as TCP takes. */
    private static final long LONGEST = TimeUnit.SECONDS.toNanos(60);

    private static final long SHORTEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(50);

    /** The threads that close. They wait for no peer, and end when they have nothing to do. */
    private static final ScheduledThreadPoolExecutor APART = new ScheduledThreadPoolExecutor(
            CLOSERS, Daemons.named("socket-closer").factory());

    static {
        APART.setKeepAliveTime(1, TimeUnit.SECONDS);
        APART.allowCoreThreadTimeOut(true);
    }

    private final SocketDescriptor descriptor;
    private final CountDownLatch gone = new CountDownLatch(1);
    private final Runnable stepping = this::step; // made now: memory may be missing later
    private final Runnable finishing = this::finish;
    private long start;
    private long pause = SHORTEST_PAUSE;
    private boolean there;
    private boolean told;

    RcloseWaitsForPeer(SocketDescriptor descriptor) {
        this.descriptor = descriptor;
    }

    private static void later(Runnable work, long nanoseconds) {
        Future<?> _ = APART.schedule(work, nanoseconds, TimeUnit.NANOSECONDS);
    }

    /** Makes the threads' pool, which has no thread yet, before there is a socket to close. */
    static void prepare() {
        assert APART.getCorePoolSize() == CLOSERS;
    }

    /** Has other threads close the rsocket, which nobody uses any more. */
    void begin() {
        start = System.nanoTime();
        try {
            APART.execute(this);
        } catch (OutOfMemoryError noThread) {
            run();
        }
    }

    /** Takes a step of closing. */
    @Override
    public void run() {
        untilDone(stepping);
    }

    /** Does work again after a pause while memory is missing for it: nobody else closes the rsocket. */
    private static void untilDone(Runnable work) {
        while (true) {
            try {
                work.run();
                return;
            } catch (OutOfMemoryError shortage) {
                LockSupport.parkNanos(LONGEST_PAUSE);
            }
        }
    }

    /** Takes a step. The channel of a connection that is not there yet is not looked for: C would wait then. */
    private void step() {
        there = there || descriptor.isThere(); // C says so until the peer is told the end
        if (!there) {
            finish(); // there is no data
        } else if (!descriptor.findChannel()) {
            Daemons.named("socket-last-data").start(() -> untilDone(finishing)); // C waits
        } else if (isEnded() || System.nanoTime() - start > LONGEST) {
            finish();
        } else {
            later(this, pause);
            pause = Math.min(2 * pause, LONGEST_PAUSE);
        }
    }

    /**
     * Tells the peer the end, and returns whether its adapter has acknowledged that. A connection that was told to end is
     * always readable.
     */
    private boolean isEnded() {
        told = told || descriptor.shutdown(SocketDescriptor.SHUTDOWN_BOTH);
        int reported = Rsocket.look(descriptor.number(), PollSet.IN);
        return reported == 0 || (told && (reported & PollSet.FAILED) != 0);
    }

    private void finish() {
        boolean over = true;
        try {
            descriptor.finish();
        } catch (OutOfMemoryError shortage) {
            over = false;
            throw shortage;
        } finally {
            if (over) {
                gone.countDown();
            }
        }
    }

    /** Waits until C has closed the rsocket, or the time is over. An interrupt ends the wait, and stays set. */
    void await(long milliseconds) {
        try {
            if (!gone.await(milliseconds, TimeUnit.MILLISECONDS)) {
                return; // the closer goes on
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends a call of C that places bytes, which may be long: see {@link MappedMemory#place}. The channel is closing. */
    void endPlacing() {
        if (descriptor.mapped().isPlacing() && descriptor.tryEnter()) {
            APART.execute(() -> {
                try {
                    descriptor.shutdown(SocketDescriptor.SHUTDOWN_BOTH);
                } finally {
                    descriptor.leave();
                }
            });
        }
    }

    /**
     * Ends the stream to the peer ({@code rshutdown}). Where the send queue has no room for that, or C would wait for the
     * peer, another thread does it.
     */
    void endOutput(Runnable then) {
        boolean mayWait = !descriptor.findChannel();
        if (!mayWait && descriptor.shutdown(SocketDescriptor.SHUTDOWN_WRITE)) {
            then.run();
        } else if (descriptor.tryEnter()) {
            if (mayWait) {
                Daemons.named("socket-last-data").start(() -> endOutputEntered(then));
            } else {
                later(() -> endOutputEntered(then), LONGEST_PAUSE);
            }
        }
    }

    private void endOutputEntered(Runnable then) {
        if (descriptor.isClosed() || descriptor.shutdown(SocketDescriptor.SHUTDOWN_WRITE)) {
            descriptor.leave();
            then.run();
        } else {
            later(() -> endOutputEntered(then), LONGEST_PAUSE);
        }
    }
}

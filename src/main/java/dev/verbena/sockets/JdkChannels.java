package dev.verbena.sockets;

import dev.verbena.internal.Daemons;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.StackRoom;
import dev.verbena.internal.Waiters;
import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * The channels of the JDK that are registered with an RDMA selector, and the thread that selects them.
 *
 * <p>The thread selects while the RDMA selector waits. When channels are ready, it wakes the RDMA selector and rests until
 * that selector waits again.
 */
final class JdkChannels {
    private final Selector selector;
    private final Waiters outer;
    private final Mutex lock = new Mutex();
    private final Condition changed = lock.newCondition();
    private volatile State state = State.RESTING;

    /** True while the RDMA selector waits, or is about to. */
    private boolean mayRun;

    private volatile @Nullable Throwable failure;

    /** What the thread does. Only while it selects may no other thread use the selector. */
    private enum State {
        /** The thread rests until it may run. */
        RESTING,
        SELECTING,
        /** The thread rests, for channels are ready that the RDMA selector has not taken. */
        READY,
        FAILED,
        CLOSED
    }

    /** Takes what is ready. */
    interface Reporter {
        int report(RdmaSelectionKey key, int ready);
    }

    JdkChannels(Selector selector, Waiters outer) {
        this.selector = selector;
        this.outer = outer;
        Daemons.named("socket-selector").start(this::run);
    }

    /** Registers a channel without operations. */
    void add(RdmaSelectionKey key) throws IOException {
        key.inner = key.channel().register(selector, 0, key);
        selector.wakeup();
    }

    /** Sets the operations of interest. */
    void interest(SelectionKey inner, int operations) {
        try {
            inner.interestOps(operations);
            selector.wakeup();
        } catch (CancelledKeyException e) {
            return; // the channel was closed; its key of the RDMA selector is cancelled too
        }
    }

    /** Deregisters a channel. */
    void remove(RdmaSelectionKey key) throws IOException {
        SelectionKey inner = key.inner;
        if (inner != null) {
            inner.cancel();
            try (var _ = lock.held()) {
                if (state == State.RESTING || state == State.READY) {
                    selector.selectNow(); // which deregisters it
                } else {
                    selector.wakeup();
                }
            }
        }
    }

    /** Has the thread select, or, for a selection that does not wait, selects here. */
    void prepare(boolean wait) throws IOException {
        try (var _ = lock.held()) {
            if (wait) {
                mayRun = true;
                changed.signalAll();
                return;
            }
            mayRun = false;
            while (state == State.SELECTING) {
                StackRoom.check();
                selector.wakeup();
                changed.awaitUninterruptibly();
            }
            if (state == State.RESTING || state == State.READY) {
                selector.selectNow();
                state = selector.selectedKeys().isEmpty() ? State.RESTING : State.READY;
            }
        }
    }

    /** Returns whether channels are ready, or selecting them has failed. */
    boolean isReady() {
        return state == State.READY || state == State.FAILED;
    }

    /** Reports the channels that are ready, and returns the sum of the answers. */
    int takeReady(Reporter reporter) throws IOException {
        Throwable failed = failure;
        if (failed != null) {
            throw new IOException("The thread that selects the JDK's channels failed: " + failed, failed);
        }
        int count = 0;
        try (var _ = lock.held()) {
            if (state != State.READY) {
                return 0;
            }
            mayRun = false;
            state = State.RESTING;
            selector.selectedKeys().clear();
            selector.selectNow(); // what was ready may have been read meanwhile
            for (SelectionKey inner : selector.selectedKeys()) {
                RdmaSelectionKey key = (RdmaSelectionKey) inner.attachment();
                if (key.isValid() && inner.isValid()) {
                    count += reporter.report(key, inner.readyOps() & key.interest());
                }
            }
            selector.selectedKeys().clear();
        }
        return count;
    }

    private void run() {
        try {
            while (awaitTurn()) {
                selector.select();
                if (Thread.interrupted()) { // nobody asked for that, and selections would not sleep any more
                    Daemons.interrupted();
                }
                rest(selector.selectedKeys().isEmpty() ? State.RESTING : State.READY);
            }
        } catch (ClosedSelectorException e) {
            return; // close() ended the selection
        } catch (Throwable t) {
            failure = t;
            rest(State.FAILED);
        }
    }

    private boolean awaitTurn() {
        try (var _ = lock.held()) {
            while (state == State.READY || (state == State.RESTING && !mayRun)) {
                changed.awaitUninterruptibly();
            }
            if (state == State.RESTING) {
                state = State.SELECTING;
            }
            return state == State.SELECTING;
        }
    }

    /** Ends the thread's turn, unless the selector was closed meanwhile. */
    private void rest(State next) {
        try (var _ = lock.held()) {
            if (state == State.SELECTING) {
                state = next;
            }
            changed.signalAll();
        }
        if (next != State.RESTING) {
            outer.wake();
        }
    }

    /** Closes the JDK's selector and ends the thread. */
    void close() throws IOException {
        try (var _ = lock.held()) {
            state = State.CLOSED;
            changed.signalAll();
        }
        selector.close();
    }
}

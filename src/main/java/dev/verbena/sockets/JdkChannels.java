package dev.verbena.sockets;

import dev.verbena.internal.WakeUp;
import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The channels of the JDK that are registered with an RDMA selector, and the thread that selects them.
 *
 * <p>The thread selects while the RDMA selector waits. When channels are ready, it wakes the RDMA selector and rests until
 * that selector waits again.
 */
final class JdkChannels {
    private final Selector selector;
    private final WakeUp outer;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private boolean mayRun;
    private boolean resting = true;
    private boolean started;
    private boolean closed;
    private volatile boolean ready;
    private volatile @Nullable IOException failure;

    /** Takes what is ready. */
    interface Reporter {
        int report(RdmaSelectionKey key, int ready);
    }

    JdkChannels(Selector selector, WakeUp outer) {
        this.selector = selector;
        this.outer = outer;
    }

    /** Registers a channel without operations. */
    void add(RdmaSelectionKey key) throws IOException {
        key.inner = key.channel().register(selector, 0, key);
        selector.wakeup();
        lock.lock();
        try {
            if (!started) {
                started = true;
                Thread.ofPlatform()
                        .daemon()
                        .name("verbena-socket-selector")
                        .inheritInheritableThreadLocals(false)
                        .start(this::run);
            }
        } finally {
            lock.unlock();
        }
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
            lock.lock();
            try {
                if (resting && !closed) {
                    selector.selectNow(); // which deregisters it
                } else {
                    selector.wakeup();
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /** Has the thread select, or, for a selection that does not wait, selects here. */
    void prepare(boolean wait) throws IOException {
        lock.lock();
        try {
            if (wait) {
                mayRun = true;
                changed.signalAll();
                return;
            }
            mayRun = false;
            while (!resting && !closed) {
                selector.wakeup();
                changed.awaitUninterruptibly();
            }
            if (!closed) {
                selector.selectNow();
                ready = !selector.selectedKeys().isEmpty();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether channels are ready, or selecting them has failed. */
    boolean isReady() {
        return ready || failure != null;
    }

    /** Reports the channels that are ready, and returns the sum of the answers. */
    int takeReady(Reporter reporter) throws IOException {
        IOException failed = failure;
        if (failed != null) {
            throw new IOException("The thread that selects the JDK's channels failed: " + failed, failed);
        }
        if (!ready) {
            return 0;
        }
        int count = 0;
        lock.lock();
        try {
            mayRun = false;
            ready = false;
            selector.selectedKeys().clear();
            selector.selectNow(); // what was ready may have been read meanwhile
            for (SelectionKey inner : selector.selectedKeys()) {
                RdmaSelectionKey key = (RdmaSelectionKey) inner.attachment();
                if (key.isValid() && inner.isValid()) {
                    count += reporter.report(key, inner.readyOps() & key.interest());
                }
            }
            selector.selectedKeys().clear();
        } finally {
            lock.unlock();
        }
        return count;
    }

    private void run() {
        try {
            while (awaitTurn()) {
                selector.select();
                endTurn();
            }
        } catch (ClosedSelectorException e) {
            return; // close() ended the selection
        } catch (IOException e) {
            failure = e;
            outer.signal();
        } finally {
            rest();
        }
    }

    private boolean awaitTurn() {
        lock.lock();
        try {
            resting = true;
            changed.signalAll();
            while ((!mayRun || ready) && !closed) {
                changed.awaitUninterruptibly();
            }
            resting = closed;
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    private void endTurn() {
        lock.lock();
        try {
            if (!selector.selectedKeys().isEmpty()) {
                ready = true;
                resting = true;
                changed.signalAll();
                outer.signal();
            }
        } finally {
            lock.unlock();
        }
    }

    private void rest() {
        lock.lock();
        try {
            resting = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Closes the JDK's selector and ends the thread. */
    void close() throws IOException {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        selector.close();
    }
}

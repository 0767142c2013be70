package dev.verbena.sockets;

import dev.verbena.internal.Mutex;
import dev.verbena.internal.PollSet;
import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.WakeUp;
import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A selector of RDMA channels, and of the JDK's own channels ({@code rpoll}).
 *
 * <p>The selecting thread waits in {@code rpoll} for the channels' descriptors and for a descriptor that {@link #wakeup}
 * signals. Channels of the JDK are registered with a selector of the JDK's provider too, for which {@link JdkChannels}
 * has a thread.
 *
 * <p>The thread-safety is that of {@link Selector}.
 */
final class RdmaSelector extends AbstractSelector {
    private static final int WAKE = 0;
    private static final long NO_LIMIT = Long.MAX_VALUE;

    /** The longest sleep while a connection is set up: {@code rpoll} may miss that another thread has completed it. */
    private static final long WHILE_CONNECTING = 50_000_000;

    private final Set<SelectionKey> keys = ConcurrentHashMap.newKeySet();
    private final Set<SelectionKey> selected = new HashSet<>();
    private final Set<SelectionKey> publicKeys = Collections.unmodifiableSet(keys);
    private final Set<SelectionKey> publicSelected = new SelectedKeys(selected);
    private final WakeUp wakeUp;

    /** Held by the thread that changes the poll set or polls. The monitors that {@code Selector} names are outside. */
    private final Mutex polling = new Mutex();

    private final PollSet set = new PollSet(16);
    private final List<RdmaSelectionKey> polled = new ArrayList<>();
    private final Set<RdmaSelectionKey> connecting = new HashSet<>();
    private boolean selecting;

    private final Mutex changesLock = new Mutex();
    private final ArrayDeque<RdmaSelectionKey> changes = new ArrayDeque<>();
    private volatile boolean inPoll;
    private volatile boolean woken;
    private volatile @Nullable JdkChannels jdk;

    RdmaSelector(RdmaSelectorProvider provider) throws IOException {
        super(provider);
        try {
            wakeUp = new WakeUp();
        } catch (SystemCallException e) {
            throw SocketFailures.of(e.call(), e.errno());
        }
    }

    private void checkOpen() {
        if (!isOpen()) {
            throw new ClosedSelectorException();
        }
    }

    @Override
    public Set<SelectionKey> keys() {
        checkOpen();
        return publicKeys;
    }

    @Override
    public Set<SelectionKey> selectedKeys() {
        checkOpen();
        return publicSelected;
    }

    @Override
    public int selectNow() throws IOException {
        return selectAnywhere(null, 0);
    }

    @Override
    public int select() throws IOException {
        return selectAnywhere(null, NO_LIMIT);
    }

    @Override
    public int select(long timeout) throws IOException {
        return selectAnywhere(null, nanoseconds(timeout));
    }

    @Override
    public int selectNow(Consumer<SelectionKey> action) throws IOException {
        return selectAnywhere(Objects.requireNonNull(action), 0);
    }

    @Override
    public int select(Consumer<SelectionKey> action) throws IOException {
        return selectAnywhere(Objects.requireNonNull(action), NO_LIMIT);
    }

    @Override
    public int select(Consumer<SelectionKey> action, long timeout) throws IOException {
        return selectAnywhere(Objects.requireNonNull(action), nanoseconds(timeout));
    }

    private static long nanoseconds(long milliseconds) {
        if (milliseconds < 0) {
            throw new IllegalArgumentException("Negative timeout: " + milliseconds);
        }
        return milliseconds == 0 ? NO_LIMIT : TimeUnit.MILLISECONDS.toNanos(milliseconds);
    }

    private int selectAnywhere(@Nullable Consumer<SelectionKey> action, long nanoseconds) throws IOException {
        if (Thread.currentThread().isVirtual() && nanoseconds != 0) {
            return SelectApart.select(this, () -> selectHere(action, nanoseconds));
        }
        return selectHere(action, nanoseconds);
    }

    private int selectHere(@Nullable Consumer<SelectionKey> action, long nanoseconds) throws IOException {
        synchronized (this) { // Selector documents both monitors
            checkOpen();
            if (selecting) {
                throw new IllegalStateException("select in progress");
            }
            selecting = true;
            try {
                synchronized (publicSelected) {
                    return doSelect(action, nanoseconds);
                }
            } finally {
                selecting = false;
            }
        }
    }

    private int doSelect(@Nullable Consumer<SelectionKey> action, long nanoseconds) throws IOException {
        long start = System.nanoTime();
        polling.lock();
        try {
            deregisterCancelled();
            long left = nanoseconds;
            do {
                applyChanges();
                if (poll(left)) {
                    break;
                }
                left = nanoseconds == NO_LIMIT ? NO_LIMIT : nanoseconds - (System.nanoTime() - start);
            } while (left > 0);
            deregisterCancelled();
            return takeReady(action);
        } finally {
            polling.unlock();
            pollAnew(); // for channels that were closed after the last look
        }
    }

    /** Polls once. Returns whether the selection ends: because of an event, a wake-up or the end of the time. */
    private boolean poll(long nanoseconds) throws IOException {
        JdkChannels others = jdk;
        boolean wait = nanoseconds != 0;
        if (others != null) {
            others.prepare(wait);
        }
        set.set(WAKE, wakeUp.event(), PollSet.IN);
        int timer = polled.size() + 1;
        long limit = connecting.isEmpty() ? nanoseconds : Math.min(nanoseconds, WHILE_CONNECTING);
        boolean timed = wait && limit < NO_LIMIT;
        if (timed) {
            set.ensure(timer + 1);
            set.set(timer, wakeUp.startTimer(limit), PollSet.IN);
        }
        int count;
        try {
            if (wait) {
                begin();
                inPoll = true;
            }
            // A change that came before inPoll was set is not signalled.
            boolean pending = woken || (others != null && others.isReady()) || hasChanges();
            count = set.pollSockets(timed ? timer + 1 : timer, wait && !pending);
        } finally {
            if (wait) {
                inPoll = false;
                end();
            }
        }
        int signalled = set.reported(WAKE) != 0 ? 1 : 0;
        int timeOver = timed && set.reported(timer) != 0 ? 1 : 0;
        boolean end = takeWakeUp();
        return end
                || !wait
                || count > signalled + timeOver
                || (others != null && others.isReady())
                || (timeOver == 1 && limit == nanoseconds)
                || !isOpen();
    }

    private boolean takeWakeUp() {
        boolean was = woken;
        wakeUp.clear();
        if (was) {
            woken = false;
        } // else a wake-up that came meanwhile ends the next selection
        return was;
    }

    private boolean hasChanges() {
        try (var _ = changesLock.held()) {
            return !changes.isEmpty();
        }
    }

    private int takeReady(@Nullable Consumer<SelectionKey> action) throws IOException {
        int count = 0;
        for (int i = 0; i < polled.size(); i++) {
            int reported = set.reported(i + 1);
            if (reported != 0) {
                RdmaSelectionKey key = polled.get(i);
                if (key.readiness != null && key.isValid()) {
                    count += report(key, key.readiness.ready(reported, key.interest()), action);
                }
            }
        }
        JdkChannels others = jdk;
        return others == null ? count : count + others.takeReady((key, ready) -> report(key, ready, action));
    }

    private int report(RdmaSelectionKey key, int ready, @Nullable Consumer<SelectionKey> action) {
        if (ready == 0) {
            return 0;
        }
        if (action != null) {
            key.ready(ready);
            action.accept(key);
            checkOpen();
            return 1;
        }
        if (selected.contains(key)) {
            int before = key.ready();
            key.ready(before | ready);
            return before == (before | ready) ? 0 : 1;
        }
        key.ready(ready);
        selected.add(key);
        return 1;
    }

    @Override
    public Selector wakeup() {
        woken = true;
        wakeUp.signal();
        return this;
    }

    @Override
    protected SelectionKey register(AbstractSelectableChannel channel, int ops, @Nullable Object attachment) {
        checkOpen();
        RdmaSelectionKey key = switch (channel) {
            case RdmaSocketChannel socket -> new RdmaSelectionKey(this, channel, socket.readiness());
            case RdmaServerSocketChannel server -> new RdmaSelectionKey(this, channel, server.readiness());
            default -> new RdmaSelectionKey(this, channel, null);
        };
        key.attach(attachment);
        if (key.readiness != null) {
            key.readiness.add(key);
        } else {
            registerWithJdk(key);
        }
        keys.add(key);
        try {
            key.interestOps(ops);
            checkOpen();
        } catch (ClosedSelectorException e) {
            keys.remove(key);
            key.cancel();
            throw e;
        }
        return key;
    }

    private void registerWithJdk(RdmaSelectionKey key) {
        try {
            JdkChannels others;
            synchronized (keys) {
                others = jdk;
                if (others == null) {
                    jdk = others = new JdkChannels(
                            ((RdmaSelectorProvider) provider()).jdkProvider().openSelector(), wakeUp);
                }
            }
            others.add(key);
        } catch (IOException e) {
            IllegalSelectorException refused = new IllegalSelectorException();
            refused.initCause(e);
            throw refused;
        }
    }

    /** Notes that a key's interest set was changed. The next selection takes the change. */
    void interestChanged(RdmaSelectionKey key) {
        SelectionKey inner = key.inner;
        JdkChannels others = jdk;
        if (inner != null && others != null) {
            others.interest(inner, key.interest());
            return;
        }
        note(key);
    }

    private void note(RdmaSelectionKey key) {
        try (var _ = changesLock.held()) {
            if (!key.listed) {
                key.listed = true;
                changes.add(key);
            }
        }
    }

    /** Takes a change of a channel at once. The descriptor of a closed channel is no longer used. */
    void changed(RdmaSelectionKey key) {
        note(key);
        pollAnew();
    }

    /** Has the polling thread apply changes, or applies them itself if no thread polls. */
    private void pollAnew() {
        while (hasChanges()) {
            if (polling.isHeldByCurrentThread()) {
                return; // an action of a selection; the next selection applies them
            }
            if (!polling.tryLock()) {
                if (inPoll) {
                    wakeUp.signal();
                }
                return; // whoever holds the lock looks at the changes before and after the poll
            }
            try {
                applyChanges();
            } finally {
                polling.unlock();
            }
        }
    }

    private void applyChanges() {
        while (true) {
            RdmaSelectionKey key;
            try (var _ = changesLock.held()) {
                key = changes.poll();
                if (key == null) {
                    return;
                }
                key.listed = false;
            }
            apply(key);
        }
    }

    private void apply(RdmaSelectionKey key) {
        Readiness readiness = key.readiness;
        if (readiness == null) {
            return;
        }
        boolean live = isOpen() && !key.released && key.isValid() && !readiness.descriptor.isClosed();
        int events = live ? readiness.events(key.interest()) : 0;
        if (events == 0) {
            unpoll(key);
            return;
        }
        if (key.index == RdmaSelectionKey.NOT_POLLED) {
            if (!readiness.descriptor.tryEnter()) {
                return; // closed meanwhile
            }
            key.index = polled.size();
            polled.add(key);
            set.ensure(polled.size() + 1);
        }
        set.set(key.index + 1, readiness.descriptor.pollNumber(), events);
        if (readiness.descriptor.mayMissEvents()) {
            connecting.add(key);
        } else {
            connecting.remove(key);
        }
    }

    private void unpoll(RdmaSelectionKey key) {
        if (key.index != RdmaSelectionKey.NOT_POLLED && key.readiness != null) {
            int last = polled.size() - 1;
            RdmaSelectionKey moved = polled.removeLast();
            if (moved != key) {
                polled.set(key.index, moved);
                set.move(last + 1, key.index + 1);
                moved.index = key.index;
            }
            key.index = RdmaSelectionKey.NOT_POLLED;
            connecting.remove(key);
            key.readiness.descriptor.leave();
        }
    }

    private void deregisterCancelled() throws IOException {
        Set<SelectionKey> cancelled = cancelledKeys();
        List<SelectionKey> these;
        synchronized (cancelled) {
            if (cancelled.isEmpty()) {
                return;
            }
            these = List.copyOf(cancelled);
            cancelled.clear();
        }
        for (SelectionKey key : these) {
            release((RdmaSelectionKey) key);
        }
    }

    private void release(RdmaSelectionKey key) throws IOException {
        key.released = true;
        keys.remove(key);
        selected.remove(key);
        Readiness readiness = key.readiness;
        JdkChannels others = jdk;
        if (readiness != null) {
            unpoll(key);
            readiness.remove(key);
        } else if (others != null) {
            others.remove(key);
        }
        deregister(key);
    }

    @Override
    protected void implCloseSelector() throws IOException {
        wakeup();
        synchronized (this) {
            synchronized (publicSelected) {
                try (var _ = polling.held()) {
                    for (SelectionKey key : keys) {
                        release((RdmaSelectionKey) key);
                    }
                    selected.clear();
                    JdkChannels others = jdk;
                    if (others != null) {
                        others.close();
                    }
                }
                wakeUp.close();
            }
        }
    }
}

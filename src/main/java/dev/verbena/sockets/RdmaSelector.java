package dev.verbena.sockets;

import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Epoll;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.PollSet;
import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.Waiters;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
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
 * A selector of RDMA channels, and of the JDK's own channels.
 *
 * <p>The selecting thread waits at the descriptors that the kernel reports events of: see
 * {@link SocketDescriptor#eventNumber}. It looks ({@code rpoll}, which does not wait) only at the channels that may be
 * ready: those that had an event, that were ready before, or that changed. No descriptor tells the end of a connect: at
 * channels that are being connected, the thread looks after short pauses. {@link ChannelWatch} looks at all others. Channels of
 * the JDK are registered with a selector of the JDK's provider too, for which {@link JdkChannels} has a thread.
 *
 * <p>The thread-safety is that of {@link Selector}.
 */
final class RdmaSelector extends AbstractSelector {
    private static final long NO_LIMIT = Long.MAX_VALUE;
    private static final long SHORTEST_PAUSE = TimeUnit.MICROSECONDS.toNanos(100);
    private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(10);

    private final Set<SelectionKey> keys = ConcurrentHashMap.newKeySet();
    private final Set<SelectionKey> selected = new HashSet<>();
    private final Set<SelectionKey> publicKeys = Collections.unmodifiableSet(keys);
    private final Set<SelectionKey> publicSelected = new SelectedKeys(selected);

    /** The descriptors of the channels, by the keys' places. */
    private final Epoll events;

    private final Waiters waiters = new Waiters();
    private final DescriptorWaits waits;
    private final DescriptorWaits.Wait wait;

    /** Held by the thread that applies changes or looks. The monitors that {@code Selector} names are outside. */
    private final Mutex looking = new Mutex();

    private final List<@Nullable RdmaSelectionKey> places = new ArrayList<>();
    private final BitSet taken = new BitSet();

    /** The keys to look at, and what a look finds. */
    private final List<RdmaSelectionKey> toLook = new ArrayList<>();

    private final PollSet set = new PollSet(16);

    /** The time to the next look at channels that are being connected. */
    private long pause = SHORTEST_PAUSE;

    private boolean selecting;

    private final Mutex changesLock = new Mutex();
    private final ArrayDeque<RdmaSelectionKey> changes = new ArrayDeque<>();
    private volatile boolean woken;
    private volatile @Nullable JdkChannels jdk;

    RdmaSelector(RdmaSelectorProvider provider) throws IOException {
        super(provider);
        try {
            events = new Epoll();
        } catch (SystemCallException e) {
            throw SocketFailures.of(e.call(), e.errno());
        }
        waits = new DescriptorWaits(events.descriptor(), SocketDescriptor::cannotWait);
        wait = waits.beginOfChannel(waiters, this);
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
        looking.lock();
        try {
            deregisterCancelled();
            if (nanoseconds == 0) {
                look(false);
            } else {
                await(nanoseconds);
            }
            woken = false;
            deregisterCancelled();
            return takeReady(action);
        } finally {
            looking.unlock();
            applyMissed(); // for channels that were closed after the last look
        }
    }

    /** Waits until channels are ready, the selection is ended, or the time is over. */
    private void await(long nanoseconds) throws IOException {
        long start = System.nanoTime();
        begin();
        try {
            long left = nanoseconds;
            while (left > 0) {
                long seen = waiters.wakes();
                wait.ask();
                if (look(true) || woken || !isOpen()) {
                    return;
                }
                waiters.sleep(seen, wait, Math.min(left, untilNextLook()));
                left = nanoseconds == NO_LIMIT ? NO_LIMIT : nanoseconds - (System.nanoTime() - start);
            }
            look(false);
        } catch (UncheckedIOException refused) {
            throw refused.getCause();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // it ends the selection
        } finally {
            wait.close();
            end();
        }
    }

    /** Returns the longest time to sleep: no descriptor tells events of the keys that are still to look at. */
    private long untilNextLook() {
        if (toLook.isEmpty()) {
            return NO_LIMIT;
        }
        long now = pause;
        pause = Math.min(pause + pause / 4, LONGEST_PAUSE);
        return now;
    }

    /** Looks at the channels that may be ready, and returns whether some are. If none is, may ask for their events. */
    private boolean look(boolean ask) throws IOException {
        applyChanges();
        takeEvents();
        JdkChannels others = jdk;
        if (others != null) {
            others.prepare(ask);
        }
        boolean found = lookAtKeys();
        if (ask && !found) {
            askForEvents();
            found = lookAtKeys(); // an event that came before the asking is not reported
            forgetIdle();
        }
        return found || (others != null && others.isReady());
    }

    private void takeEvents() {
        int count;
        do {
            count = events.take(0);
            for (int i = 0; i < count; i++) {
                RdmaSelectionKey key = places.get((int) events.key(i));
                if (key != null) {
                    key.reported = true;
                    lookAt(key);
                }
            }
        } while (Epoll.isFull(count));
    }

    private void lookAt(RdmaSelectionKey key) {
        if (!key.toLook) {
            toLook.add(key);
            key.toLook = true;
        }
    }

    private boolean lookAtKeys() {
        int size = toLook.size();
        set.ensure(size);
        for (int i = 0; i < size; i++) {
            RdmaSelectionKey key = toLook.get(i);
            Readiness readiness = key.ours();
            set.set(i, readiness.descriptor.pollNumber(), readiness.events(key.interest()));
        }
        Rsocket.look(set, size);
        boolean some = false;
        for (int i = 0; i < size; i++) {
            RdmaSelectionKey key = toLook.get(i);
            key.found = key.isValid() ? key.ours().ready(set.reported(i), key.interest()) : 0;
            some |= key.found != 0;
        }
        return some;
    }

    private void askForEvents() {
        for (int i = 0; i < toLook.size(); i++) {
            RdmaSelectionKey key = toLook.get(i);
            boolean before = key.watched;
            key.watched = !askForEvent(key);
            if (key.watched && !before) {
                pause = SHORTEST_PAUSE;
            }
        }
    }

    /** Returns whether the kernel will tell an event of the channel. */
    private boolean askForEvent(RdmaSelectionKey key) {
        SocketDescriptor descriptor = key.ours().descriptor;
        int number = descriptor.eventNumber();
        if (number == SocketDescriptor.NONE) {
            return false;
        }
        if (key.eventNumber == RdmaSelectionKey.NONE) {
            try {
                events.add(number, Epoll.READABLE | Epoll.EDGES, key.place);
            } catch (SystemCallException e) {
                return false; // the kernel has no room
            }
            key.eventNumber = number;
        }
        boolean asked = descriptor.ask();
        if (key.reported) {
            key.reported = false;
            key.ours().changed(key);
        }
        return asked;
    }

    /** Forgets the keys that the kernel tells events of. The next look is at the others again. */
    private void forgetIdle() {
        int left = 0;
        for (int i = 0; i < toLook.size(); i++) {
            RdmaSelectionKey key = toLook.get(i);
            if (key.found == 0 && !key.watched) {
                key.toLook = false;
            } else {
                toLook.set(left++, key);
            }
        }
        toLook.subList(left, toLook.size()).clear();
    }

    private boolean hasChanges() {
        try (var _ = changesLock.held()) {
            return !changes.isEmpty();
        }
    }

    private int takeReady(@Nullable Consumer<SelectionKey> action) throws IOException {
        int count = 0;
        for (int i = 0; i < toLook.size(); i++) {
            RdmaSelectionKey key = toLook.get(i);
            if (key.found != 0 && key.isValid()) {
                count += report(key, key.found & key.interest(), action);
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
        waiters.wake();
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
                            ((RdmaSelectorProvider) provider()).jdkProvider().openSelector(), waiters);
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
                changes.add(key); // first: it may need memory
                key.listed = true;
            }
        }
    }

    /** Takes a change of a channel at once. The descriptor of a closed channel is no longer used. */
    void changed(RdmaSelectionKey key) {
        note(key);
        applyMissed();
    }

    /** Has the selecting thread apply changes, or applies them itself if no thread selects. */
    private void applyMissed() {
        while (hasChanges()) {
            if (looking.isHeldByCurrentThread()) {
                return; // an action of a selection; the next selection applies them
            }
            if (!looking.tryLock()) {
                waiters.wake();
                return; // whoever holds the lock looks at the changes before it sleeps, and afterwards
            }
            try {
                applyChanges();
            } finally {
                looking.unlock();
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
        if (key.readiness == null) {
            return;
        }
        SocketDescriptor descriptor = key.readiness.descriptor;
        if (!isOpen() || key.released || !key.isValid() || descriptor.isClosed() || key.interest() == 0) {
            drop(key);
            return;
        }
        if (key.place == RdmaSelectionKey.NONE) {
            if (!descriptor.tryEnter()) {
                return; // closed meanwhile
            }
            key.place = taken.nextClearBit(0);
            taken.set(key.place);
            if (key.place == places.size()) {
                places.add(key);
            } else {
                places.set(key.place, key);
            }
            ChannelWatch.add(key);
        }
        lookAt(key);
    }

    private void drop(RdmaSelectionKey key) {
        if (key.place == RdmaSelectionKey.NONE) {
            return;
        }
        ChannelWatch.remove(key);
        if (key.eventNumber != RdmaSelectionKey.NONE) {
            events.remove(key.eventNumber);
            key.eventNumber = RdmaSelectionKey.NONE;
        }
        if (key.toLook) {
            toLook.remove(key);
            key.toLook = false;
        }
        places.set(key.place, null);
        taken.clear(key.place);
        key.place = RdmaSelectionKey.NONE;
        key.watched = false;
        key.ours().descriptor.leave();
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
            drop(key);
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
                try (var _ = looking.held()) {
                    for (SelectionKey key : keys) {
                        release((RdmaSelectionKey) key);
                    }
                    selected.clear();
                    JdkChannels others = jdk;
                    if (others != null) {
                        others.close();
                    }
                }
                waits.close();
                events.close();
            }
        }
    }
}

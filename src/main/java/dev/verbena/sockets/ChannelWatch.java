package dev.verbena.sockets;

import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;

import dev.verbena.internal.Daemons;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.PollSet;
import dev.verbena.sockets.RdmaSelectionKey.Source;
import dev.verbena.sockets.SocketDescriptor.Phase;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;

/**
 * The thread that looks at the channels of all selectors for what no descriptor tells. It runs while a selector waits for
 * any.
 *
 * <p>A thread of librdmacm takes the events of connects and of peers that die, and tells nobody but the threads in
 * {@code rpoll}. So this thread looks after short pauses at the channels that are being connected. It looks twice a second
 * at all others, because a peer's process may be killed.
 */
final class ChannelWatch {
    private static final long SHORTEST_PAUSE = MICROSECONDS.toNanos(100);
    private static final long LONGEST_PAUSE = MILLISECONDS.toNanos(10);
    private static final long IDLE_PAUSE = MILLISECONDS.toNanos(500);

    private static final Mutex LOCK = new Mutex();
    private static final Condition HURRIES = LOCK.newCondition();

    /** The keys of channels that selectors wait for. The lock guards this, and the next two. */
    private static final List<RdmaSelectionKey> KEYS = new ArrayList<>();

    private static boolean running;
    private static boolean hurried;

    private final PollSet set = new PollSet(16);
    private final ArrayList<RdmaSelectionKey> looked = new ArrayList<>();
    private long pause = SHORTEST_PAUSE;
    private long lastIdle = System.nanoTime();

    private ChannelWatch() {}

    /** Adds a key. The caller uses the key's descriptor until it has removed the key. */
    static void add(RdmaSelectionKey key) {
        try (var _ = LOCK.held()) {
            KEYS.add(key);
            start();
        }
    }

    private static void start() {
        if (!running) {
            Daemons.named("socket-watch").start(new ChannelWatch()::run);
            running = true;
        }
    }

    static void remove(RdmaSelectionKey key) {
        try (var _ = LOCK.held()) {
            KEYS.remove(key);
        }
    }

    /** Has the thread look soon: a selector relies on that for another key. */
    static void hurry() {
        try (var _ = LOCK.held()) {
            start();
            hurried = true;
            HURRIES.signal();
        }
    }

    private void run() {
        while (goesOn()) {
            try {
                look();
            } catch (Throwable forWantOfMemory) {
                leave(); // the next look may find more
            }
        }
    }

    /** Waits until the next look. Returns false if there is nothing to look at any more. */
    private boolean goesOn() {
        try (var _ = LOCK.held()) {
            long left = isHurry() ? pause : IDLE_PAUSE;
            while (!hurried && left > 0) {
                try {
                    left = HURRIES.awaitNanos(left);
                } catch (InterruptedException nobodyAsksForIt) {
                    Daemons.interrupted();
                    break; // a look too many
                }
            }
            pause = hurried ? SHORTEST_PAUSE : Math.min(pause + pause / 4, LONGEST_PAUSE);
            hurried = false;
            running = !KEYS.isEmpty();
            return running;
        }
    }

    private static boolean isHurry() {
        for (int i = 0; i < KEYS.size(); i++) {
            if (KEYS.get(i).source == Source.WATCH) {
                return true;
            }
        }
        return false;
    }

    private void look() {
        long now = System.nanoTime();
        boolean all = now - lastIdle >= IDLE_PAUSE;
        if (all) {
            lastIdle = now;
        }
        try (var _ = LOCK.held()) {
            looked.ensureCapacity(KEYS.size()); // first: a use that began must be noted
            for (RdmaSelectionKey key : KEYS) {
                Source source = key.source;
                if ((source == Source.WATCH || (all && source == Source.DESCRIPTOR))
                        && key.ours().descriptor.tryEnter()) {
                    looked.add(key);
                }
            }
        }
        set.ensure(looked.size());
        for (int i = 0; i < looked.size(); i++) {
            RdmaSelectionKey key = looked.get(i);
            set.set(i, key.ours().descriptor.pollNumber(), events(key));
        }
        set.lookAll(looked.size());
        for (int i = 0; i < looked.size(); i++) {
            RdmaSelectionKey key = looked.get(i);
            int reported = set.reported(i);
            if (key.ours().ready(reported, key.interest()) != 0 || (reported != 0 && isAccepted(key))) {
                tell(key);
            }
        }
        leave();
    }

    /** Has the key's selector look. If that fails for want of memory, the next look tells it again. */
    private static void tell(RdmaSelectionKey key) {
        Source before = key.source;
        key.source = Source.SELECTION; // first: the selector may ask for the next event at once
        try {
            key.selector().changed(key);
        } catch (Throwable t) {
            key.source = before;
            throw t;
        }
    }

    /** Returns the events to look for. An accepted connection that is there has a descriptor from now on. */
    private static int events(RdmaSelectionKey key) {
        return key.ours().events(key.interest()) | (isAccepted(key) ? PollSet.OUT : 0);
    }

    private static boolean isAccepted(RdmaSelectionKey key) {
        return key.ours().descriptor.phase() == Phase.ACCEPTED;
    }

    private void leave() {
        while (!looked.isEmpty()) {
            looked.removeLast().ours().descriptor.leave();
        }
    }
}

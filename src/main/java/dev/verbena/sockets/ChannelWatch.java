package dev.verbena.sockets;

import dev.verbena.internal.Daemons;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.PollSet;
import java.util.ArrayList;
import java.util.List;

/**
 * The thread that looks twice a second at the channels of all selectors, because a peer's process may be killed: no
 * descriptor tells that. A thread of librdmacm takes such events, and tells nobody but the threads in {@code rpoll}. This
 * thread runs while a selector waits for any channel. Selectors look themselves at channels that are being connected.
 */
final class ChannelWatch {
    private static final long PAUSE_MILLIS = 500;
    private static final Mutex LOCK = new Mutex();

    /** The keys of all selectors that wait for their channels. The lock guards this, and the next. */
    private static final List<RdmaSelectionKey> KEYS = new ArrayList<>();

    private static boolean running;

    private final PollSet set = new PollSet(16);
    private final ArrayList<RdmaSelectionKey> looked = new ArrayList<>();

    private ChannelWatch() {}

    /** Has the channel looked at until {@link #remove}. The caller has entered the channel's descriptor. */
    static void add(RdmaSelectionKey key) {
        try (var _ = LOCK.held()) {
            KEYS.add(key);
            if (!running) {
                Daemons.named("socket-watch").start(new ChannelWatch()::run);
                running = true;
            }
        }
    }

    static void remove(RdmaSelectionKey key) {
        try (var _ = LOCK.held()) {
            KEYS.remove(key);
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

    private static boolean goesOn() {
        try {
            Thread.sleep(PAUSE_MILLIS);
        } catch (InterruptedException nobodyAsksForIt) {
            Daemons.interrupted(); // a look too early
        }
        try (var _ = LOCK.held()) {
            running = !KEYS.isEmpty();
            return running;
        }
    }

    private void look() {
        try (var _ = LOCK.held()) {
            looked.ensureCapacity(KEYS.size()); // first: a use that began must be noted
            for (RdmaSelectionKey key : KEYS) {
                if (!key.watched && key.ours().descriptor.tryEnter()) {
                    looked.add(key);
                }
            }
        }
        set.ensure(looked.size());
        for (int i = 0; i < looked.size(); i++) {
            Readiness readiness = looked.get(i).ours();
            set.set(
                    i,
                    readiness.descriptor.pollNumber(),
                    readiness.events(looked.get(i).interest()));
        }
        Rsocket.look(set, looked.size());
        for (int i = 0; i < looked.size(); i++) {
            RdmaSelectionKey key = looked.get(i);
            if (key.ours().ready(set.reported(i), key.interest()) != 0) {
                key.selector().changed(key);
            }
        }
        leave();
    }

    private void leave() {
        while (!looked.isEmpty()) {
            looked.removeLast().ours().descriptor.leave();
        }
    }
}

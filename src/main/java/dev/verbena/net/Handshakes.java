package dev.verbena.net;

import dev.verbena.internal.Daemons;
import dev.verbena.internal.Mutex;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * Answers the greetings of peers that connect under a secret, in a thread apart: X25519 takes half a millisecond of a
 * processor, and somebody who has recorded greetings can say them again and again. The queue has the channels of peers that
 * have not proved anything, of which there are at most {@link NodeOptions#maxWaiting}: one that gives way to another peer
 * leaves the queue. All threads may use an instance.
 */
final class Handshakes {
    /** The number of greetings that are remembered: some 600 KB. */
    static final int REMEMBERED = 1 << 12;

    private final Mutex lock = new Mutex();
    private final ExecutorService thread;

    // The lock guards the fields below.

    /** The channels that wait for an answer, the oldest first. */
    private final Set<Rail> queue = new LinkedHashSet<>();

    /** The passing keys of the last greetings, of which a peer makes a new one for each. */
    private final Set<ByteBuffer> said = Collections.newSetFromMap(new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<ByteBuffer, Boolean> eldest) {
            return size() > REMEMBERED;
        }
    });

    private boolean runs;

    Handshakes(String node) {
        thread = Daemons.single("node-handshakes-" + node);
    }

    /** Notes the passing key of a greeting that was made with the secret. Returns false if a peer has said it before. */
    boolean isNew(byte[] passing) {
        try (var _ = lock.held()) {
            return said.add(ByteBuffer.wrap(passing));
        }
    }

    /** Lets the thread answer the greeting of a channel. */
    void add(Rail rail) {
        try (var _ = lock.held()) {
            queue.add(rail);
            if (!runs) {
                thread.execute(this::run);
                runs = true;
            }
        }
    }

    /** Forgets a channel that has ended. */
    void remove(Rail rail) {
        try (var _ = lock.held()) {
            queue.remove(rail);
        }
    }

    private void run() {
        for (Rail rail = next(); rail != null; rail = next()) {
            answer(rail);
        }
    }

    private static void answer(Rail rail) {
        try {
            rail.greetings.answer();
        } catch (RuntimeException | Error failed) { // for lack of memory, for example
            try {
                rail.fail(failed);
            } catch (RuntimeException | Error shortage) {
                // It ends when its time is over, and the others get their answers.
            }
        }
    }

    private @Nullable Rail next() {
        try (var _ = lock.held()) {
            if (queue.isEmpty()) {
                runs = false;
                return null;
            }
            Rail oldest = queue.iterator().next();
            queue.remove(oldest);
            return oldest;
        }
    }

    void close() {
        thread.shutdown(); // has nothing to do: all channels are closed
    }
}

package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.access.VerbsAccess;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The verbs objects of a {@link Connection}, and which of them it closes.
 *
 * @param made the objects that were made for the connection, the youngest first
 */
record ConnectionParts(
        ProtectionDomain domain, CompletionQueue completions, QueuePair queuePair, List<VerbsObject> made) {
    private boolean ownsCompletions() {
        return made.contains(completions);
    }

    /** Waits until an attempt finds something in the connection's own queue, or throws. */
    <T> T await(Supplier<? extends @Nullable T> attempt, Duration timeout) throws InterruptedException {
        checkOwnsCompletions();
        return VerbsAccess.get().await(completions, attempt, timeout);
    }

    /** Throws if the connection shares its queue, where a wait does not see the end of one connection. */
    void checkOwnsCompletions() {
        if (!ownsCompletions()) {
            throw new IllegalStateException("The " + completions + " serves other queue pairs too: wait there. Flushed "
                    + "requests report the end of this connection, and Connection.ended() does where none is posted");
        }
    }

    /**
     * Has waits and flushed requests tell the end, for which the function makes an exception, or returns null. The waits look
     * for events that may be the end themselves.
     */
    void endWith(Supplier<? extends @Nullable VerbsException> end, Supplier<DescriptorWaits> events) {
        VerbsAccess.get().endsWith(queuePair, ownsCompletions() ? completions : null, end, events);
    }

    /** Makes the threads that wait for the connection's own queue try again. */
    void wakeWaits() {
        if (ownsCompletions()) {
            VerbsAccess.get().wakeWaits(completions);
        }
    }

    void close() {
        made.forEach(VerbsObject::close);
    }
}

package dev.verbena.verbs;

import java.util.BitSet;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The open queue pairs of a context by their numbers, and the numbers of those that were closed. A device gives the number
 * of a closed queue pair to a new one, while completions with this number may still lie in a queue.
 *
 * <p>All threads may use it at once. A look-up takes no lock, has no loop and allocates nothing.
 */
final class QueuePairNumbers {
    /** The number of bits that choose a page, and a place on the page. A number has 24 bits. */
    private static final int HALF = 12;

    private static final int SIZE = 1 << HALF;

    private final AtomicReferenceArray<@Nullable AtomicReferenceArray<@Nullable QueuePair>> pages =
            new AtomicReferenceArray<>(SIZE);

    /** The numbers that closed queue pairs had. */
    private final BitSet used = new BitSet();

    private static int page(int number) {
        return number >>> HALF & SIZE - 1;
    }

    private static int place(int number) {
        return number & SIZE - 1;
    }

    /** Adds an open queue pair. Warns it first if its number was that of a closed queue pair. */
    synchronized void add(QueuePair queuePair) {
        int number = queuePair.number;
        AtomicReferenceArray<@Nullable QueuePair> page = pages.get(page(number));
        if (page == null) {
            page = new AtomicReferenceArray<>(SIZE);
            pages.set(page(number), page);
        }
        // The older one is closed in C, but its thread may not have removed it yet.
        if (used.get(number & QueuePair.MULTICAST) || page.get(place(number)) != null) {
            queuePair.states.expectOldCompletions();
        }
        page.set(place(number), queuePair);
    }

    /** Removes a queue pair that was destroyed. Its number may belong to a new one already, which then stays. */
    synchronized void remove(QueuePair queuePair) {
        int number = queuePair.number;
        used.set(number & QueuePair.MULTICAST);
        AtomicReferenceArray<@Nullable QueuePair> page = pages.get(page(number));
        if (page != null) {
            page.compareAndSet(place(number), queuePair, null);
        }
    }

    /** Returns the open queue pair with a number, or null if there is none. */
    @Nullable
    QueuePair find(int number) {
        AtomicReferenceArray<@Nullable QueuePair> page = pages.get(page(number));
        QueuePair found = page == null ? null : page.get(place(number));
        return found != null && found.number == number ? found : null;
    }
}

package dev.verbena.verbs;

import dev.verbena.internal.Driver;
import java.util.function.IntSupplier;

/**
 * The polls of a completion queue that has lost completions: they return those that are left, and then throw. A cursor gets
 * this driver in place of its own when the device reports the loss, so that the polls of other queues need no check.
 */
final class LossyPolls extends Driver {
    private final CompletionQueue queue;
    private final IntSupplier poll;

    /**
     * Makes the polls of a cursor.
     *
     * @param poll the poll of the cursor until now
     */
    LossyPolls(CompletionQueue queue, IntSupplier poll) {
        this.queue = queue;
        this.poll = poll;
    }

    @Override
    public int poll(long of, int entries, long completions) {
        int count = poll.getAsInt();
        if (count == 0) {
            throw queue.loss();
        }
        return count;
    }

    @Override
    public int postSends(long of, long requests, long firstRefused) {
        throw onlyPolls();
    }

    @Override
    public int postReceives(long of, long requests, long firstRefused) {
        throw onlyPolls();
    }

    @Override
    public int ask(long of, int solicitedOnly) {
        throw onlyPolls();
    }

    private static AssertionError onlyPolls() {
        return new AssertionError("a cursor only polls");
    }
}

package dev.verbena.verbs;

import dev.verbena.internal.Driver;
import java.util.function.IntSupplier;

/**
 * The polls of one cursor that does more than to poll, because its queue has lost completions or counts them. A cursor gets
 * this driver in place of its own, so that the polls of other queues need no check.
 */
final class CursorPolls extends Driver {
    private final IntSupplier poll;

    /**
     * Makes the polls of a cursor.
     *
     * @param poll fills the memory of the cursor, and returns the number of completions
     */
    CursorPolls(IntSupplier poll) {
        this.poll = poll;
    }

    @Override
    public int poll(long queue, int entries, long completions) {
        return poll.getAsInt();
    }

    @Override
    public int postSends(long queue, long requests, long firstRefused) {
        throw onlyPolls();
    }

    @Override
    public int postReceives(long queue, long requests, long firstRefused) {
        throw onlyPolls();
    }

    @Override
    public int ask(long queue, int solicitedOnly) {
        throw onlyPolls();
    }

    private static AssertionError onlyPolls() {
        return new AssertionError("a cursor only polls");
    }
}

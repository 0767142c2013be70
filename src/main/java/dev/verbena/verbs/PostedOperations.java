package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Remembers what the latest work requests of a queue were, by their ids: when one fails, the device says which, but no
 * longer what it was. As long as all are of one kind, the kind is all there is to remember, unless ids are needed to tell
 * sends from receives.
 *
 * <p>What threads add that post to one queue at the same time may be mixed up: then a failed request's operation is not
 * known, or is a neighbour's, and nothing worse.
 */
final class PostedOperations {
    /** The kind of requests that are of several kinds. */
    static final int SEVERAL = -101; // no operation's number
    /** Instead of the only kind: nothing was posted yet, or each request is remembered. */
    private static final int NOTHING = -102;

    private static final int EACH = -103;

    private final long[] ids;
    private final byte[] operations;
    private final boolean idsTellSides;
    private int only = NOTHING;
    /** The kind of what was posted before each request was remembered, or {@link #NOTHING}. */
    private int before = NOTHING;

    private int next;

    /** Whether ids are all that tells failed sends from failed receives: where both are reported to one queue. */
    PostedOperations(int depth, boolean idsTellSides) {
        int size = Integer.highestOneBit(Math.max(depth, 1)) << 1; // more than can be outstanding
        this.ids = new long[size];
        this.operations = new byte[size];
        this.idsTellSides = idsTellSides;
        forgetOperations();
    }

    private void forgetOperations() {
        Arrays.fill(operations, (byte) Operation.UNKNOWN.code());
    }

    private int slot(int number) {
        return number & ids.length - 1;
    }

    /** Whether nothing need be added for requests of this kind: asked for each post, so that most need no more. */
    boolean covers(int kind) {
        return kind == only;
    }

    /**
     * Adds those of a batch: their ids are so many bytes apart, and an operation so many behind its id, or 0 for receives.
     * The kind is that of all of them. Answers how many are now remembered one by one: not more than a queue can hold.
     */
    int add(long first, long behind, long apart, int count, int kind) {
        if (isEnough(kind)) {
            return 0;
        }
        int added = Math.min(count, ids.length);
        int slot = slot(next);
        int untilEnd = Math.min(added, ids.length - slot);
        next += added;
        copy(first, behind, apart, slot, untilEnd);
        if (untilEnd < added) {
            copy(first + untilEnd * apart, behind, apart, 0, added - untilEnd);
        }
        return added;
    }

    /** Adds one; answers how many are now remembered one by one. */
    int add(long id, int kind) {
        if (isEnough(kind)) {
            return 0;
        }
        int slot = slot(next++);
        ids[slot] = id;
        operations[slot] = (byte) kind;
        return 1;
    }

    /** Whether the kind is all there is to remember, with these too. */
    private boolean isEnough(int kind) {
        if (only == NOTHING && kind != SEVERAL && !idsTellSides) {
            only = kind;
        }
        if (only != EACH && only != kind) {
            before = only;
            only = EACH;
        }
        return only == kind;
    }

    /** A plain loop over neighbours, for which the compiler checks the arrays' bounds once. */
    private void copy(long first, long behind, long apart, int to, int count) {
        long[] intoIds = ids;
        byte[] intoOperations = operations;
        long at = first;
        for (int i = 0; i < count; i++) {
            intoIds[to + i] = Memory.getLong(at);
            intoOperations[to + i] = (byte) (behind == 0 ? Operation.RECEIVE.code() : Memory.getInt(at + behind));
            at += apart;
        }
    }

    boolean isEmpty() {
        return only == NOTHING;
    }

    /** Forgets all. */
    void clear() {
        only = NOTHING;
        before = NOTHING;
        next = 0;
        forgetOperations();
    }

    /** Takes back the latest: they were not posted after all. */
    void takeBack(int count) {
        for (int i = 0; i < count; i++) {
            operations[slot(--next)] = (byte) Operation.UNKNOWN.code();
        }
    }

    /** The latest request with this id. */
    @Nullable
    Operation find(long id) {
        int otherwise = only;
        if (only == EACH) {
            otherwise = before;
            for (int i = 1; i <= ids.length; i++) {
                int slot = slot(next - i);
                if (operations[slot] == Operation.UNKNOWN.code()) {
                    continue;
                }
                if (ids[slot] == id) {
                    return Operation.of(operations[slot]);
                }
                if (i == ids.length) {
                    otherwise = NOTHING; // all that can be outstanding is here
                }
            }
        }
        return otherwise <= SEVERAL ? null : Operation.of(otherwise);
    }
}

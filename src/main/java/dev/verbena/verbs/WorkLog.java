package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Remembers what the latest work requests of a queue were, by their ids: when one fails, the device says which, but no
 * longer what it was. What threads add that post to one queue at the same time may be mixed up: then a failed request's
 * operation is not known, or is a neighbour's, and nothing worse.
 */
final class WorkLog {
    private final long[] ids;
    private final byte[] operations;
    private int next;

    WorkLog(int depth) {
        int size = Integer.highestOneBit(Math.max(depth, 1)) << 1; // more than can be outstanding
        this.ids = new long[size];
        this.operations = new byte[size];
        forgetOperations();
    }

    private void forgetOperations() {
        Arrays.fill(operations, (byte) Operation.UNKNOWN.code());
    }

    /** How many it remembers: more than a queue holds, so that it never helps to add more at once. */
    int size() {
        return ids.length;
    }

    private int slot(int number) {
        return number & ids.length - 1;
    }

    void add(long id, int operation) {
        int slot = slot(next++);
        ids[slot] = id;
        operations[slot] = (byte) operation;
    }

    /** Adds those of a batch: their ids are so many bytes apart, and an operation so many behind its id. */
    void add(long first, long behind, long apart, int count) {
        int slot = slot(next);
        int untilEnd = Math.min(count, ids.length - slot);
        next += count;
        copy(first, behind, apart, slot, untilEnd);
        if (untilEnd < count) {
            copy(first + untilEnd * apart, behind, apart, 0, count - untilEnd);
        }
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
        return next == 0;
    }

    /** Forgets all. */
    void clear() {
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
    @Nullable Operation find(long id) {
        for (int i = 1; i <= size(); i++) {
            int slot = slot(next - i);
            if (ids[slot] == id && operations[slot] != Operation.UNKNOWN.code()) {
                return Operation.of(operations[slot]);
            }
        }
        return null;
    }
}

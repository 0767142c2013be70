package dev.verbena.verbs;

import org.jspecify.annotations.Nullable;

/**
 * Remembers what the latest work requests of a queue were, by their ids: when one fails, the device says which, but no
 * longer what it was. One thread writes, any may read.
 */
final class WorkLog {
    private final long[] ids;
    private final byte[] operations;
    private final int mask;
    private int next;

    WorkLog(int depth) {
        int size = Integer.highestOneBit(Math.max(depth, 1)) << 1; // more than can be outstanding
        this.ids = new long[size];
        this.operations = new byte[size];
        this.mask = size - 1;
        java.util.Arrays.fill(operations, (byte) Operation.UNKNOWN.code());
    }

    /** How many it remembers: more than a queue holds, so that it never helps to add more at once. */
    int size() {
        return ids.length;
    }

    void add(long id, int operation) {
        int slot = next++ & mask;
        ids[slot] = id;
        operations[slot] = (byte) operation;
    }

    boolean isEmpty() {
        return next == 0;
    }

    /** Forgets all. */
    void clear() {
        next = 0;
        java.util.Arrays.fill(operations, (byte) Operation.UNKNOWN.code());
    }

    /** Takes back the latest: they were not posted after all. */
    void takeBack(int count) {
        for (int i = 0; i < count; i++) {
            operations[--next & mask] = (byte) Operation.UNKNOWN.code();
        }
    }

    /** The latest request with this id. */
    @Nullable Operation find(long id) {
        for (int i = 1; i <= ids.length; i++) {
            int slot = next - i & mask;
            if (ids[slot] == id && operations[slot] != Operation.UNKNOWN.code()) {
                return Operation.of(operations[slot]);
            }
        }
        return null;
    }
}

package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A log of the latest work requests of a queue: their ids and operations. When a request fails, the device tells its id,
 * but not its operation. While all requests are of one kind, the log keeps the kind alone, unless it needs the ids to tell
 * sends from receives.
 *
 * <table>
 * <caption>What the log keeps, by {@code posted}</caption>
 * <tr><th>{@code posted}</th><th>requests so far</th><th>kept</th><th>next</th></tr>
 * <tr><td>{@link #NOTHING}</td><td>none</td><td>nothing</td>
 *     <td>the kind of the first request, or {@link #EACH} if the ids are needed</td></tr>
 * <tr><td>a kind</td><td>all of this kind</td><td>the kind</td><td>{@link #EACH} with the first of another kind</td></tr>
 * <tr><td>{@link #EACH}</td><td>of several kinds</td>
 *     <td>an entry for each, and the kind of those {@code beforeEntries}</td><td>{@link #NOTHING}, by {@link #clear}</td></tr>
 * </table>
 *
 * <p>The entries are ids, and beside them operations once the entries are of several kinds: {@code entries} is the kind of
 * all entries, {@link #NOTHING} or {@link #SEVERAL}. While the queue is ready, {@code through} is {@code posted} if such
 * requests need no more checks; else it is {@link #NOTHING}.
 *
 * <p>Threads that post to one queue at the same time may mix up their entries. The operation of a failed request is then
 * unknown, or is that of a neighbour; no other harm is done.
 */
final class PostedOperations {
    /** In place of a kind: several kinds. */
    static final int SEVERAL = -101; // not the code of an operation
    /** In place of a kind: no request. */
    private static final int NOTHING = -102;

    /** In place of a kind: each request has an entry. */
    private static final int EACH = -103;

    private final boolean idsTellSides;
    private final long[] ids;
    /** The operations beside the ids, if {@link #entries} is {@link #SEVERAL}. */
    private final byte[] operations;
    /** The number of the next entry. */
    private long next;

    private int posted = NOTHING;
    private int entries = NOTHING;
    private int beforeEntries = NOTHING;
    private int through = NOTHING;

    private boolean isReady;
    /** The operations that need no more checks, a bit for each code. */
    private int usual;

    /**
     * Makes an empty log.
     *
     * @param depth the number of requests that the queue holds
     * @param idsTellSides whether sends and receives complete in one queue, so that only ids tell them apart
     */
    PostedOperations(int depth, boolean idsTellSides) {
        // Drivers may take more requests than they have granted, up to the next power of two. There is room for these,
        // and for as many again that may be refused.
        int size = Integer.highestOneBit(Math.max(depth, 1)) << 2;
        this.ids = new long[size];
        this.operations = new byte[size];
        this.idsTellSides = idsTellSides;
        forgetOperations();
    }

    private void forgetOperations() {
        Arrays.fill(operations, (byte) Operation.UNKNOWN.code());
    }

    private int slot(long number) {
        return (int) number & ids.length - 1;
    }

    /** Returns true if requests of this kind need not be added. */
    boolean covers(int kind) {
        return kind == posted;
    }

    /**
     * Returns true if requests of this kind need not be added, and the queue lets them through: one comparison, which is
     * all that most posts need.
     */
    boolean letsThrough(int kind) {
        return kind == through;
    }

    /**
     * Logs one request if its kind must be logged, and returns true, if the queue lets it through without more checks. Else
     * returns false, and has not logged the request.
     */
    boolean takes(long id, int kind) {
        if (kind == through) {
            return true;
        }
        if (through != EACH || !isUsual(kind)) {
            return false;
        }
        note(id, kind);
        return true;
    }

    private boolean isUsual(int kind) {
        return kind > SEVERAL && (usual >>> kind & 1) != 0;
    }

    /**
     * Notes whether the queue's state lets requests through.
     *
     * @param kinds the operations that need no more checks, a bit for each code
     */
    synchronized void open(boolean now, int kinds) {
        isReady = now;
        usual = kinds;
        noteThrough();
    }

    /** The caller has the lock: else a thread could let a kind through that another thread shuts at the same time. */
    private void noteThrough() {
        through = isReady && (posted == EACH || isUsual(posted)) ? posted : NOTHING;
    }

    /**
     * Adds the requests of a batch.
     *
     * @param first the address of the first id
     * @param behind the offset of an operation from its id, or 0 if all requests are receives
     * @param apart the distance between ids
     * @param count the number of requests
     * @param kind the kind of all requests, or {@link #SEVERAL}
     * @return the number of entries that were added, at most as many as a queue can hold
     */
    int add(long first, long behind, long apart, int count, int kind) {
        if (isEnough(kind)) {
            return 0;
        }
        int added = Math.min(count, ids.length / 2); // the queue has no room for more
        int slot = slot(next);
        int untilEnd = Math.min(added, ids.length - slot);
        int each = behind == 0 ? Operation.RECEIVE.code() : kind;
        if (entries != each) {
            mix(each);
        }
        next += added;
        copyIds(first, apart, slot, untilEnd);
        if (untilEnd < added) {
            copyIds(first + untilEnd * apart, apart, 0, added - untilEnd);
        }
        if (entries == SEVERAL) {
            copyOperations(first + behind, apart, slot, added, each);
        }
        return added;
    }

    /** Adds one request. Returns the number of entries that were added: 0 or 1. */
    int add(long id, int kind) {
        if (isEnough(kind)) {
            return 0;
        }
        note(id, kind);
        return 1;
    }

    private void note(long id, int kind) {
        if (entries != kind) {
            mix(kind);
        }
        int slot = slot(next++);
        ids[slot] = id;
        if (entries == SEVERAL) {
            operations[slot] = (byte) kind;
        }
    }

    /** Notes that a request of another kind follows. Most logs hold one kind, and so need no operations beside the ids. */
    private void mix(int kind) {
        if (entries == NOTHING) {
            entries = kind;
        } else if (entries != SEVERAL) {
            for (long number = Math.max(0, next - ids.length); number < next; number++) {
                operations[slot(number)] = (byte) entries;
            }
            entries = SEVERAL;
        }
    }

    /** Returns true if the log keeps the kind alone, also with requests of this kind. */
    private boolean isEnough(int kind) {
        if (posted != EACH && posted != kind) {
            settle(kind);
        }
        return posted == kind;
    }

    private synchronized void settle(int kind) {
        if (posted == NOTHING && kind != SEVERAL && !idsTellSides) {
            posted = kind;
        } else if (posted != EACH && posted != kind) {
            beforeEntries = posted;
            posted = EACH;
        }
        noteThrough();
    }

    /** Copies ids in a plain loop, for which the compiler checks the bounds of the array once. */
    private void copyIds(long first, long apart, int to, int count) {
        long[] into = ids;
        long at = first;
        for (int i = 0; i < count; i++) {
            into[to + i] = (long) Memory.LONG_AT.get(Memory.ALL, Memory.at(Memory.word(at), 0));
            at += apart;
        }
    }

    private void copyOperations(long first, long apart, int to, int count, int kind) {
        for (int i = 0; i < count; i++) {
            operations[slot(to + i)] = (byte) (kind == SEVERAL ? Memory.getInt(first + i * apart) : kind);
        }
    }

    boolean isEmpty() {
        return posted == NOTHING;
    }

    /** Empties the log. */
    synchronized void clear() {
        posted = NOTHING;
        beforeEntries = NOTHING;
        next = 0;
        entries = NOTHING;
        noteThrough();
        forgetOperations();
    }

    /** Removes the latest entries, whose requests were not posted after all. */
    void takeBack(int count) {
        if (count > 0) {
            mix(SEVERAL); // what stood in their place is overwritten
        }
        for (int i = 0; i < count; i++) {
            operations[slot(--next)] = (byte) Operation.UNKNOWN.code();
        }
    }

    /** Returns the operation of the latest request with this id, or null if it is unknown. */
    @Nullable
    Operation find(long id) {
        int otherwise = posted;
        if (posted == EACH) {
            otherwise = next < ids.length
                    ? beforeEntries
                    : NOTHING; // a full log holds all requests that can be outstanding
            int kind = entries;
            for (long number = next - 1; number >= Math.max(0, next - ids.length); number--) {
                int slot = slot(number);
                int operation = kind == SEVERAL ? operations[slot] : kind;
                if (operation != Operation.UNKNOWN.code() && ids[slot] == id) {
                    return Operation.of(operation);
                }
            }
        }
        return otherwise <= SEVERAL ? null : Operation.of(otherwise);
    }
}

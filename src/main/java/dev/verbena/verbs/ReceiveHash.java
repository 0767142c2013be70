package dev.verbena.verbs;

import dev.verbena.verbs.device.HashField;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Set;

/**
 * How a queue pair spreads packets over work queues ({@code struct ibv_rx_hash_conf}, with Toeplitz's function): receive-side
 * scaling. For {@link QueuePair#hashed}.
 */
public final class ReceiveHash {
    private static final int LONGEST_KEY = 255;

    private final IndirectionTable table;
    private final MemorySegment key;
    private final Set<HashField> fields;

    private ReceiveHash(IndirectionTable table, MemorySegment key, Set<HashField> fields) {
        this.table = table;
        this.key = key;
        this.fields = fields;
    }

    /**
     * Spreads packets by some of their fields.
     *
     * @param table the work queues
     * @param key the secret of the hash function: 40 bytes with all devices so far
     * @param fields what of a packet decides
     * @return the hash
     */
    public static ReceiveHash of(IndirectionTable table, byte[] key, Set<HashField> fields) {
        if (key.length < 1 || key.length > LONGEST_KEY) {
            throw new IllegalArgumentException("A key has 1 to " + LONGEST_KEY + " bytes, not " + key.length);
        }
        return new ReceiveHash(table, Arena.ofAuto().allocateFrom(ValueLayout.JAVA_BYTE, key), Set.copyOf(fields));
    }

    /**
     * The work queues.
     *
     * @return the table
     */
    public IndirectionTable table() {
        return table;
    }

    /**
     * What of a packet decides.
     *
     * @return the fields
     */
    public Set<HashField> fields() {
        return fields;
    }

    /** The key, which C reads while this is reachable. */
    MemorySegment key() {
        return key;
    }

    @Override
    public String toString() {
        return "hash of " + fields + " over " + table;
    }
}

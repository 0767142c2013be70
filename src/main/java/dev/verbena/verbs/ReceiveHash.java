package dev.verbena.verbs;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.ibv_rx_hash_conf;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.ReceiveSideScaling;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Set;

/**
 * A hash by which a queue pair spreads packets over work queues ({@code struct ibv_rx_hash_conf}, with Toeplitz's
 * function): receive-side scaling. Name it with {@link QueuePair#hashed}. Values are immutable, and all threads may use them.
 */
public final class ReceiveHash {
    private static final int LONGEST_KEY = 255;

    private final IndirectionTable table;
    /** The key, which C may read while this object is reachable. */
    final MemorySegment key;

    private final Set<ReceiveSideScaling.HashField> fields;

    private ReceiveHash(IndirectionTable table, MemorySegment key, Set<ReceiveSideScaling.HashField> fields) {
        this.table = table;
        this.key = key;
        this.fields = fields;
    }

    /**
     * Returns a hash of some fields of a packet.
     *
     * @param table the work queues
     * @param key the secret of the hash function: 40 bytes on all devices so far
     * @param fields the fields of a packet that decide
     * @return the hash
     */
    public static ReceiveHash of(IndirectionTable table, byte[] key, Set<ReceiveSideScaling.HashField> fields) {
        if (key.length < 1 || key.length > LONGEST_KEY) {
            throw new IllegalArgumentException("key must have 1 to " + LONGEST_KEY + " bytes, got " + key.length);
        }
        return new ReceiveHash(table, Arena.ofAuto().allocateFrom(ValueLayout.JAVA_BYTE, key), Set.copyOf(fields));
    }

    /**
     * Returns the work queues.
     *
     * @return the table
     */
    public IndirectionTable table() {
        return table;
    }

    /**
     * Returns the fields of a packet that decide.
     *
     * @return the fields
     */
    public Set<ReceiveSideScaling.HashField> fields() {
        return fields;
    }

    /** Writes a {@code struct ibv_rx_hash_conf}. C may read the key while this object is reachable. */
    void write(MemorySegment conf) {
        ibv_rx_hash_conf.rx_hash_function(conf, (byte) rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ);
        ibv_rx_hash_conf.rx_hash_key_len(conf, (byte) key.byteSize());
        ibv_rx_hash_conf.rx_hash_key(conf, key);
        ibv_rx_hash_conf.rx_hash_fields_mask(
                conf, Integer.toUnsignedLong(EnumCodec.bits(fields, ReceiveSideScaling.HashField::bit)));
    }

    @Override
    public String toString() {
        return "hash of " + fields + " over " + table;
    }
}

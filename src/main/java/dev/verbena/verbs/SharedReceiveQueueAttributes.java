package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_srq_attr;
import java.lang.foreign.MemorySegment;

/**
 * The sizes of a shared receive queue ({@code struct ibv_srq_attr}).
 *
 * @param depth the number of receives that the queue holds ({@code max_wr})
 * @param sge the number of pieces of memory that a receive can name ({@code max_sge})
 * @param limit the number of receives below which the device raises an event; 0 for no event ({@code srq_limit})
 */
public record SharedReceiveQueueAttributes(int depth, int sge, int limit) {
    /**
     * Makes sizes.
     *
     * @throws IllegalArgumentException if a size is negative
     */
    public SharedReceiveQueueAttributes {
        if (depth < 0 || sge < 0 || limit < 0) {
            throw new IllegalArgumentException("sizes of a shared receive queue can't be negative, got depth " + depth
                    + ", " + sge + " pieces, limit " + limit);
        }
    }

    static SharedReceiveQueueAttributes read(MemorySegment attr) {
        return new SharedReceiveQueueAttributes(
                ibv_srq_attr.max_wr(attr), ibv_srq_attr.max_sge(attr), ibv_srq_attr.srq_limit(attr));
    }

    void write(MemorySegment attr) {
        ibv_srq_attr.max_wr(attr, depth);
        ibv_srq_attr.max_sge(attr, sge);
        ibv_srq_attr.srq_limit(attr, limit);
    }

    /** Returns the sizes, for example {@code 64x1, limit 0}. */
    @Override
    public String toString() {
        return depth + "x" + sge + ", limit " + limit;
    }
}

package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_srq_attr;
import java.lang.foreign.MemorySegment;

/**
 * The sizes of a shared receive queue ({@code struct ibv_srq_attr}).
 *
 * @param depth how many receives it holds ({@code max_wr})
 * @param sge how many pieces of memory a receive can name ({@code max_sge})
 * @param limit with fewer receives than this left, an event tells; 0 when none is to ({@code srq_limit})
 */
public record SharedReceiveQueueAttributes(int depth, int sge, int limit) {
    /**
     * Makes a description of sizes.
     *
     * @throws IllegalArgumentException if one is negative
     */
    public SharedReceiveQueueAttributes {
        if (depth < 0 || sge < 0 || limit < 0) {
            throw new IllegalArgumentException("The sizes of a shared receive queue can't be negative");
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

    @Override
    public String toString() {
        return depth + "x" + sge + ", limit " + limit;
    }
}

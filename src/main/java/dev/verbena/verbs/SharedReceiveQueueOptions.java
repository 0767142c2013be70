package dev.verbena.verbs;

import org.jspecify.annotations.Nullable;

/**
 * What a shared receive queue is to be like ({@code struct ibv_srq_init_attr} and {@code struct ibv_srq_init_attr_ex}):
 * begin with {@link SharedReceiveQueue#basic} or one of its sisters and change what is to differ. Each method answers a
 * changed copy.
 */
public final class SharedReceiveQueueOptions {
    private final SharedReceiveQueueType type;
    private final @Nullable XrcDomain xrcDomain;
    private final @Nullable CompletionQueue queue;
    private final int tags;
    private final int tagOperations;
    private final SharedReceiveQueueAttributes attributes;

    private SharedReceiveQueueOptions(
            SharedReceiveQueueType type,
            @Nullable XrcDomain xrcDomain,
            @Nullable CompletionQueue queue,
            int tags,
            int tagOperations,
            SharedReceiveQueueAttributes attributes) {
        this.type = type;
        this.xrcDomain = xrcDomain;
        this.queue = queue;
        this.tags = tags;
        this.tagOperations = tagOperations;
        this.attributes = attributes;
    }

    static SharedReceiveQueueOptions of(
            SharedReceiveQueueType type,
            @Nullable XrcDomain xrcDomain,
            @Nullable CompletionQueue queue,
            int tags,
            int tagOperations) {
        if (tags < 0 || tagOperations < 0) {
            throw new IllegalArgumentException("Negative: " + tags + " tags, " + tagOperations + " operations");
        }
        return new SharedReceiveQueueOptions(
                type, xrcDomain, queue, tags, tagOperations, new SharedReceiveQueueAttributes(64, 1, 0));
    }

    private SharedReceiveQueueOptions with(int depth, int sge, int limit) {
        return new SharedReceiveQueueOptions(
                type, xrcDomain, queue, tags, tagOperations, new SharedReceiveQueueAttributes(depth, sge, limit));
    }

    /**
     * How many receives it must hold; 64 if not said.
     *
     * @param receives the least
     * @return a changed copy
     */
    public SharedReceiveQueueOptions depth(int receives) {
        return with(receives, attributes.sge(), attributes.limit());
    }

    /**
     * How many pieces of memory a receive must be able to name; 1 if not said.
     *
     * @param pieces the least
     * @return a changed copy
     */
    public SharedReceiveQueueOptions sge(int pieces) {
        return with(attributes.depth(), pieces, attributes.limit());
    }

    /**
     * The kind.
     *
     * @return for example {@link SharedReceiveQueueType#BASIC}
     */
    public SharedReceiveQueueType type() {
        return type;
    }

    /**
     * The sizes asked for.
     *
     * @return the sizes
     */
    public SharedReceiveQueueAttributes attributes() {
        return attributes;
    }

    @Nullable
    XrcDomain xrcDomain() {
        return xrcDomain;
    }

    @Nullable
    CompletionQueue queue() {
        return queue;
    }

    int tags() {
        return tags;
    }

    int tagOperations() {
        return tagOperations;
    }

    /** For example {@code BASIC, 64x1, limit 0}. */
    @Override
    public String toString() {
        return type + ", " + attributes + (tags == 0 ? "" : ", " + tags + " tags");
    }
}

package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Options of a shared receive queue ({@code struct ibv_srq_init_attr} and {@code struct ibv_srq_init_attr_ex}). Begin
 * with {@link SharedReceiveQueue#basic}, {@link SharedReceiveQueue#xrc} or {@link SharedReceiveQueue#tagMatching}. Each
 * option has a method that returns a changed copy, and a method of the same name that reads it. Options never change,
 * so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="shared-receive-queue"}
 */
public final class SharedReceiveQueueOptions {
    private static final int DEFAULT_DEPTH = 64;

    private final SharedReceiveQueueType type;
    private final @Nullable XrcDomain xrcDomain;
    private final @Nullable CompletionQueue queue;
    private final int tags;
    private final int tagOperations;
    private final int depth;
    private final int sge;

    private SharedReceiveQueueOptions(
            SharedReceiveQueueType type,
            @Nullable XrcDomain xrcDomain,
            @Nullable CompletionQueue queue,
            int tags,
            int tagOperations,
            int depth,
            int sge) {
        Checks.checkAtLeast("number of tagged receives", tags, 0);
        Checks.checkAtLeast("number of operations on tags", tagOperations, 0);
        Checks.checkAtLeast("depth", depth, 0);
        Checks.checkAtLeast("number of pieces of a receive", sge, 0);
        this.type = type;
        this.xrcDomain = xrcDomain;
        this.queue = queue;
        this.tags = tags;
        this.tagOperations = tagOperations;
        this.depth = depth;
        this.sge = sge;
    }

    static SharedReceiveQueueOptions of(
            SharedReceiveQueueType type,
            @Nullable XrcDomain xrcDomain,
            @Nullable CompletionQueue queue,
            int tags,
            int tagOperations) {
        return new SharedReceiveQueueOptions(type, xrcDomain, queue, tags, tagOperations, DEFAULT_DEPTH, 1);
    }

    /**
     * Returns the number of receives that the queue must hold at least ({@code max_wr}).
     *
     * @return the depth
     */
    public int depth() {
        return depth;
    }

    /**
     * Returns a copy with another number of receives that the queue must hold at least ({@code max_wr}).
     *
     * @param receives the depth; 64 by default
     * @return a changed copy
     */
    public SharedReceiveQueueOptions depth(int receives) {
        return new SharedReceiveQueueOptions(type, xrcDomain, queue, tags, tagOperations, receives, sge);
    }

    /**
     * Returns the number of pieces of memory that a receive must be able to name ({@code max_sge}).
     *
     * @return the number of pieces
     */
    public int sge() {
        return sge;
    }

    /**
     * Returns a copy with another number of pieces of memory that a receive must be able to name ({@code max_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     */
    public SharedReceiveQueueOptions sge(int pieces) {
        return new SharedReceiveQueueOptions(type, xrcDomain, queue, tags, tagOperations, depth, pieces);
    }

    /**
     * Returns the kind of the queue ({@code srq_type}).
     *
     * @return for example {@link SharedReceiveQueueType#BASIC}
     */
    public SharedReceiveQueueType type() {
        return type;
    }

    /**
     * Returns the domain of extended reliable connections that the queue belongs to ({@code xrcd}).
     *
     * @return the domain; null for the other kinds of queues
     */
    public @Nullable XrcDomain xrcDomain() {
        return xrcDomain;
    }

    /**
     * Returns the completion queue for the receives ({@code cq}).
     *
     * @return the completion queue; null for a {@link SharedReceiveQueueType#BASIC} queue, whose queue pairs name it
     */
    public @Nullable CompletionQueue queue() {
        return queue;
    }

    /**
     * Returns the number of tagged receives that the queue must hold at least ({@code max_num_tags}).
     *
     * @return the number of receives; 0 without tag matching
     */
    public int tags() {
        return tags;
    }

    /**
     * Returns the number of operations on tags that can be under way ({@code max_ops}).
     *
     * @return the number of operations; 0 without tag matching
     */
    public int tagOperations() {
        return tagOperations;
    }

    /** Returns the sizes as C takes them. */
    SharedReceiveQueueAttributes attributes() {
        return new SharedReceiveQueueAttributes(depth, sge, 0);
    }

    private List<@Nullable Object> all() {
        return Arrays.asList(type, xrcDomain, queue, tags, tagOperations, depth, sge);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof SharedReceiveQueueOptions options && all().equals(options.all());
    }

    @Override
    public int hashCode() {
        return all().hashCode();
    }

    /** Returns the options, for example {@code BASIC, 64x1}. */
    @Override
    public String toString() {
        return type + ", " + depth + "x" + sge + (tags == 0 ? "" : ", " + tags + " tags");
    }
}

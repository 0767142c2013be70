package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Options of a shared receive queue ({@code struct ibv_srq_init_attr} and {@code struct ibv_srq_init_attr_ex}). Begin
 * with {@link SharedReceiveQueue#basic}, {@link SharedReceiveQueue#xrc} or {@link SharedReceiveQueue#tagMatching}. Each
 * option has a method that returns a changed copy. Options never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="shared-receive-queue"}
 */
public final class SharedReceiveQueueOptions extends Options<SharedReceiveQueueOptions> {
    private final SharedReceiveQueue.Type type;
    private final @Nullable XrcDomain xrcDomain;
    private final @Nullable CompletionQueue queue;
    private final int tags;
    private final int tagOperations;
    private int depth = 64;
    private int sge = 1;

    private SharedReceiveQueueOptions(
            SharedReceiveQueue.Type type,
            @Nullable XrcDomain xrcDomain,
            @Nullable CompletionQueue queue,
            int tags,
            int tagOperations) {
        this.type = type;
        this.xrcDomain = xrcDomain;
        this.queue = queue;
        this.tags = Checks.checkAtLeast("number of tagged receives", tags, 0);
        this.tagOperations = Checks.checkAtLeast("number of operations on tags", tagOperations, 0);
    }

    static SharedReceiveQueueOptions of(
            SharedReceiveQueue.Type type,
            @Nullable XrcDomain xrcDomain,
            @Nullable CompletionQueue queue,
            int tags,
            int tagOperations) {
        return new SharedReceiveQueueOptions(type, xrcDomain, queue, tags, tagOperations).frozen();
    }

    /**
     * Returns a copy with another number of receives that the queue must hold at least ({@code max_wr}).
     *
     * @param receives the depth; 64 by default
     * @return a changed copy
     */
    public SharedReceiveQueueOptions depth(int receives) {
        return with(copy -> copy.depth = Checks.checkAtLeast("depth", receives, 0));
    }

    /**
     * Returns a copy with another number of pieces of memory that a receive must be able to name ({@code max_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     */
    public SharedReceiveQueueOptions sge(int pieces) {
        return with(copy -> copy.sge = Checks.checkAtLeast("number of pieces of a receive", pieces, 0));
    }

    SharedReceiveQueue.Type type() {
        return type;
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

    /** Returns the sizes as C takes them. */
    SharedReceiveQueue.Attributes attributes() {
        return new SharedReceiveQueue.Attributes(depth, sge, 0);
    }

    @Override
    protected List<Option> options() {
        return List.of(
                option("type", type, null),
                option("domain", xrcDomain, null),
                option("queue", queue, null),
                option("tags", tags, 0),
                option("operations on tags", tagOperations, 0),
                option("depth", depth, 64),
                option("sge", sge, 1));
    }
}

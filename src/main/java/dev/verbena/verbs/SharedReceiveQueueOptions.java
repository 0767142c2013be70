package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import org.jspecify.annotations.Nullable;

/**
 * Options of a shared receive queue ({@code struct ibv_srq_init_attr} and {@code struct ibv_srq_init_attr_ex}). Begin
 * with {@link SharedReceiveQueue#basic}, {@link SharedReceiveQueue#xrc} or {@link SharedReceiveQueue#tagMatching}. Each
 * option has a method that returns a changed copy. Options never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="shared-receive-queue"}
 */
public final class SharedReceiveQueueOptions extends Options<SharedReceiveQueueOptions> {
    private static final Keys<SharedReceiveQueueOptions> KEYS = new Keys<>();
    static final Key<SharedReceiveQueueOptions, SharedReceiveQueue.Type> TYPE =
            KEYS.always("type", SharedReceiveQueue.Type.BASIC);
    static final Key<SharedReceiveQueueOptions, @Nullable XrcDomain> XRC_DOMAIN = KEYS.key("domain", null);
    static final Key<SharedReceiveQueueOptions, @Nullable CompletionQueue> QUEUE = KEYS.key("queue", null);
    static final Key<SharedReceiveQueueOptions, Integer> TAGS = KEYS.key("tags", 0);
    static final Key<SharedReceiveQueueOptions, Integer> TAG_OPERATIONS = KEYS.key("operations on tags", 0);
    static final Key<SharedReceiveQueueOptions, Integer> DEPTH = KEYS.key("depth", 64);
    static final Key<SharedReceiveQueueOptions, Integer> SGE = KEYS.key("sge", 1);

    private SharedReceiveQueueOptions() {
        super(KEYS);
    }

    static SharedReceiveQueueOptions of(
            SharedReceiveQueue.Type type,
            @Nullable XrcDomain xrcDomain,
            @Nullable CompletionQueue queue,
            int tags,
            int tagOperations) {
        return new SharedReceiveQueueOptions()
                .with(TYPE, type)
                .with(XRC_DOMAIN, xrcDomain)
                .with(QUEUE, queue)
                .with(TAGS, Checks.checkAtLeast("number of tagged receives", tags, 0))
                .with(TAG_OPERATIONS, Checks.checkAtLeast("number of operations on tags", tagOperations, 0));
    }

    /**
     * Returns a copy with another number of receives that the queue must hold at least ({@code max_wr}).
     *
     * @param receives the depth; 64 by default
     * @return a changed copy
     */
    public SharedReceiveQueueOptions depth(int receives) {
        return with(DEPTH, Checks.checkAtLeast("depth", receives, 0));
    }

    /**
     * Returns a copy with another number of pieces of memory that a receive must be able to name ({@code max_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     */
    public SharedReceiveQueueOptions sge(int pieces) {
        return with(SGE, Checks.checkAtLeast("number of pieces of a receive", pieces, 0));
    }

    /** Returns the sizes as C takes them. */
    SharedReceiveQueue.Attributes attributes() {
        return new SharedReceiveQueue.Attributes(DEPTH.of(this), SGE.of(this), 0);
    }
}

package dev.verbena.verbs;

import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.DataPathCalls;
import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_wc;
import org.jspecify.annotations.Nullable;

/**
 * A cursor that polls with {@code ibv_poll_cq}, which reports all standard fields. It belongs to the first thread that
 * uses it.
 */
final class PlainCompletions extends Completions {
    private static final long SOURCE_LID = ibv_wc.slid$offset();

    /** Keeps the queue open while a critical call polls for one of several threads; null if there is no such call. */
    private final @Nullable ObjectLifetime guard;

    PlainCompletions(CompletionQueue queue, int max) {
        super(queue, max, queue.onlyThread() != null && queue.pollsCritically());
        boolean guarded = queue.onlyThread() == null && queue.pollsCritically() && firstDriver;
        this.guard = guarded ? ObjectLifetime.of(queue) : null;
    }

    /** Polls as {@link CompletionQueue#fill} does. All that C gets is in this object: it waits for fewer loads so. */
    @Override
    int fetch() {
        ObjectLifetime shared = guard;
        if (shared == null) {
            return queue.fill(max, address);
        }
        int way = shared.enter();
        try {
            return DataPathCalls.pollFirst(cq, max, address);
        } finally {
            shared.exit(way);
        }
    }

    @Override
    public int byteLength() {
        return length();
    }

    @Override
    public int immediate() {
        return Integer.reverseBytes(word(IMMEDIATE));
    }

    @Override
    public int invalidatedKey() {
        return word(INVALIDATED_KEY);
    }

    @Override
    public int queuePairNumber() {
        return word(QP_NUMBER);
    }

    @Override
    public int sourceQueuePair() {
        return word(SOURCE_QP);
    }

    @Override
    public int pkeyIndex() {
        return Short.toUnsignedInt(Memory.getShort(at(PKEY_INDEX)));
    }

    @Override
    public int sourceLid() {
        return sourceLidIfKnown();
    }

    @Override
    int sourceLidIfKnown() {
        return Short.toUnsignedInt(Memory.getShort(at(SOURCE_LID)));
    }

    @Override
    public int serviceLevel() {
        return Byte.toUnsignedInt(Memory.getByte(at(SERVICE_LEVEL)));
    }

    @Override
    public int pathBits() {
        return Byte.toUnsignedInt(Memory.getByte(at(PATH_BITS)));
    }
}

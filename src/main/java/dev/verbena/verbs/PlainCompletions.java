package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_wc;

/**
 * A cursor that polls with {@code ibv_poll_cq}, which reports all standard fields. It belongs to the first thread that
 * uses it.
 */
final class PlainCompletions extends Completions {
    private static final long SOURCE_LID = ibv_wc.slid$offset();

    PlainCompletions(CompletionQueue queue, int max) {
        super(queue, max);
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

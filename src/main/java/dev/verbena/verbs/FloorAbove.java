package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.verbs.address.AddressVector;
import java.lang.foreign.MemorySegment;
import java.util.function.LongConsumer;
import java.util.function.LongUnaryOperator;

/**
 * What the connection manager's floor needs of this one and no user may have: objects that another library made, and the
 * addresses of ours. That floor is in the same module, and calls this by a private lookup.
 */
final class FloorAbove {
    private FloorAbove() {}

    /** A context that another library has opened and closes: not before {@code letGo} was called. */
    static Context context(long address, VerbsArena arena, Runnable letGo) {
        return Context.adopt(address, arena, letGo);
    }

    /** A protection domain that another library has made, and keeps as long as the context is open. */
    static ProtectionDomain domain(Context context, long address, VerbsArena arena) {
        return ProtectionDomain.lent(context, address, arena);
    }

    static long address(VerbsObject object) {
        return switch (object) {
            case Context context -> context.address();
            case ProtectionDomain domain -> domain.address();
            case QueuePair pair -> pair.address;
            case SharedReceiveQueue queue -> queue.address();
            default -> throw new IllegalArgumentException("Not an object of C's: " + object);
        };
    }

    /**
     * A queue pair that another function makes and destroys.
     *
     * @param maker gets the {@code struct ibv_qp_init_attr} and answers the {@code struct ibv_qp}, or throws
     * @param destroyer gets the {@code struct ibv_qp}
     * @param begins the state that it is made in
     * @param owner what it is made on
     */
    static QueuePair queuePair(
            ProtectionDomain domain,
            QueuePairOptions options,
            VerbsArena arena,
            LongUnaryOperator maker,
            LongConsumer destroyer,
            QueuePairState begins,
            VerbsObject owner) {
        return QueuePair.adopt(domain, options, arena, maker, destroyer, begins, owner);
    }

    /**
     * A shared receive queue that another function makes and destroys.
     *
     * @param maker gets the {@code struct ibv_srq_init_attr_ex} and answers the {@code struct ibv_srq}, or throws
     * @param destroyer gets the {@code struct ibv_srq}
     * @param owner what it is made on
     */
    static SharedReceiveQueue sharedReceiveQueue(
            ProtectionDomain domain,
            SharedReceiveQueueOptions options,
            VerbsArena arena,
            LongUnaryOperator maker,
            LongConsumer destroyer,
            VerbsObject owner) {
        return SharedReceiveQueue.adopt(domain, options, arena, maker, destroyer, owner);
    }

    /** Whether a queue pair's options name a shared receive queue. */
    static boolean hasSharedReceiveQueue(QueuePairOptions options) {
        return options.sharedReceiveQueue() != null;
    }

    /** The state of a queue pair that was changed behind its back. */
    static void changed(QueuePair pair, QueuePairState now) {
        pair.known(now);
    }

    static AddressVector path(MemorySegment attributes) {
        return AddressCodec.readPath(attributes);
    }

    /** What C filled into a {@code struct ibv_qp_attr}. */
    static QueuePairAttributes attributes(MemorySegment filled, int mask) {
        QueuePairAttributes attributes = new QueuePairAttributes();
        attributes.memory().copyFrom(filled.asSlice(0, ibv_qp_attr.sizeof()));
        attributes.filled(NativeFlag.of(Attribute.class, mask));
        return attributes;
    }
}

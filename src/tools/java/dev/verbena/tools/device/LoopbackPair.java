package dev.verbena.tools.device;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;

/**
 * Two reliable queue pairs of one device, connected to each other: both ends of a connection in one program, for
 * experiments.
 *
 * @param left one end
 * @param right the other
 */
public record LoopbackPair(End left, End right) {
    /** Length of each end's buffer in bytes. */
    public static final int BUFFER_SIZE = 1 << 16;

    /**
     * One end of the connection.
     *
     * @param queue its completion queue
     * @param pair its queue pair
     * @param buffer its memory, open to reads, writes and atomics of the other end
     */
    public record End(CompletionQueue queue, QueuePair pair, MemoryRegion buffer) {
        private static End make(Context context, ProtectionDomain domain, int port) {
            CompletionQueue queue = context.createCompletionQueue(256);
            QueuePair pair = domain.createQueuePair(QueuePair.rc(queue)
                    .port(port)
                    .sendDepth(64)
                    .receiveDepth(64)
                    .inlineSize(64));
            MemoryRegion buffer = domain.register(
                    domain.arena().allocate(BUFFER_SIZE, 4096), LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC);
            return new End(queue, pair, buffer);
        }
    }

    /**
     * Makes and connects both ends. The context's arena closes them.
     *
     * @param context an open device
     * @return the connected pair
     */
    public static LoopbackPair connect(Context context) {
        return connect(context, 1);
    }

    /**
     * Makes and connects both ends on a port. The context's arena closes them.
     *
     * @param context an open device
     * @param port the port, from 1
     * @return the connected pair
     */
    public static LoopbackPair connect(Context context, int port) {
        ProtectionDomain domain = context.allocateProtectionDomain();
        End left = End.make(context, domain, port);
        End right = End.make(context, domain, port);
        left.pair().connect(right.pair().endpoint());
        right.pair().connect(left.pair().endpoint());
        return new LoopbackPair(left, right);
    }
}

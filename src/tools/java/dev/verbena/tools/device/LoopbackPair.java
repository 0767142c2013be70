package dev.verbena.tools.device;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

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
            return new End(queue, pair, buffer(domain));
        }

        private static End of(Connection connection) {
            return new End(connection.completionQueue(), connection.queuePair(), buffer(connection.domain()));
        }

        private static MemoryRegion buffer(ProtectionDomain domain) {
            return domain.register(
                    domain.arena().allocate(BUFFER_SIZE, 4096), LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC);
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
        LoopbackPair pair = new LoopbackPair(left, right);
        pair.connect();
        return pair;
    }

    private void connect() {
        left.pair().connect(right.pair().endpoint());
        right.pair().connect(left.pair().endpoint());
    }

    /** Connects both ends anew, for example after an error. Requests and completions that are left are dropped. */
    public void reconnect() {
        left.pair().reset();
        right.pair().reset();
        for (CompletionQueue queue : new CompletionQueue[] {left.queue(), right.queue()}) {
            while (queue.poll() != null) {
                continue;
            }
        }
        connect();
    }

    /**
     * Makes and connects both ends by the connection manager, as iWARP needs it.
     *
     * @param own an address of the device
     * @param timeout the longest time of each step
     * @param arena a shared arena, which closes them
     * @return the connected pair
     * @throws InterruptedException if the thread was interrupted
     */
    public static LoopbackPair connect(InetAddress own, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        Listener listener = Listener.open(new InetSocketAddress(own, 0), arena);
        FutureTask<Connection> accepted =
                new FutureTask<>(() -> listener.accept(timeout, ConnectionResources.defaults(), arena));
        Thread.ofPlatform().daemon().name("verbena-doctor").start(accepted);
        Connection left = Connection.open(listener.address(), timeout, arena);
        try {
            return new LoopbackPair(End.of(left), End.of(accepted.get()));
        } catch (ExecutionException refused) {
            throw new IllegalStateException("The connection was not accepted: " + refused.getCause(), refused);
        }
    }
}

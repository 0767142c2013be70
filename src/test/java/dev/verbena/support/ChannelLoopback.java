package dev.verbena.support;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.util.ArrayList;
import java.util.List;

/** Connections within the test device, all of whose completion queues report events to one channel. */
public final class ChannelLoopback implements AutoCloseable {
    /** Number of outstanding sends and receives of a side. */
    public static final int DEPTH = 64;

    public final VerbsArena arena;
    public final Context context;
    public final ProtectionDomain domain;
    public final CompletionChannel channel;

    private final List<Connection> connections = new ArrayList<>();

    /** Two queue pairs connected to each other. */
    public record Connection(Side left, Side right) {}

    /** One end. */
    public static final class Side {
        public final CompletionQueue queue;
        public final QueuePair pair;
        public final MemoryRegion buffer;

        private Side(ChannelLoopback all) {
            queue = all.context.createCompletionQueue(
                    CompletionQueueOptions.of(4 * DEPTH).channel(all.channel));
            pair = all.domain.createQueuePair(
                    QueuePair.rc(queue).sendDepth(DEPTH).receiveDepth(DEPTH));
            buffer = all.domain.register(all.arena.allocate(64, 64), LOCAL_WRITE, REMOTE_WRITE);
        }
    }

    public ChannelLoopback(VerbsArena arena, int count) {
        this.arena = arena;
        try {
            context = TestDevice.get().open(arena);
            domain = context.allocateProtectionDomain();
            channel = context.createCompletionChannel();
            for (int i = 0; i < count; i++) {
                Connection connection = new Connection(new Side(this), new Side(this));
                connection.left.pair.connect(connection.right.pair.endpoint());
                connection.right.pair.connect(connection.left.pair.endpoint());
                connections.add(connection);
            }
        } catch (Throwable t) {
            arena.close();
            throw t;
        }
    }

    public Connection get(int index) {
        return connections.get(index);
    }

    public List<Connection> connections() {
        return connections;
    }

    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}

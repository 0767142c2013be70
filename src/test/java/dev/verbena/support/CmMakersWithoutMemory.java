package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * A program for {@link ChildJvm} on the provider for tests: makes objects of the connection manager while there is no
 * direct memory, then
 * with room for one allocation more each time, until the maker succeeds. After each failure the same maker must succeed with
 * enough memory, and the arena must close. The argument is the limit of direct memory in bytes.
 */
public final class CmMakersWithoutMemory {
    private CmMakersWithoutMemory() {}

    public static void main(String[] arguments) {
        long limit = Long.parseLong(arguments[0]);
        for (Map.Entry<String, Function<VerbsArena, Runnable>> maker : makers().entrySet()) {
            System.out.println(maker.getKey() + " failed " + failures(maker.getValue(), limit));
        }
        System.out.println("left " + Fenced.remains());
    }

    /** Returns functions that make the parents of an object in an arena, and return its maker. */
    private static Map<String, Function<VerbsArena, Runnable>> makers() {
        Map<String, Function<VerbsArena, Runnable>> makers = new LinkedHashMap<>();
        makers.put("channel", arena -> () -> EventChannel.create(arena));
        makers.put("id", arena -> {
            EventChannel channel = EventChannel.create(arena);
            return () -> channel.createId(PortSpace.TCP);
        });
        makers.put("context", arena -> bound(arena)::context);
        makers.put("queue pair", arena -> {
            ConnectionId id = bound(arena);
            ProtectionDomain domain = id.context().allocateProtectionDomain();
            CompletionQueue queue = id.context().createCompletionQueue(4);
            return () -> id.createQueuePair(domain, QueuePair.rc(queue));
        });
        makers.put("shared receive queue", arena -> {
            ConnectionId id = bound(arena);
            ProtectionDomain domain = id.context().allocateProtectionDomain();
            return () -> id.createSharedReceiveQueue(domain, SharedReceiveQueue.basic());
        });
        return makers;
    }

    private static ConnectionId bound(VerbsArena arena) {
        ConnectionId id = EventChannel.create(arena).createId(PortSpace.TCP);
        id.bind(new InetSocketAddress("10.9.9.1", 0));
        return id;
    }

    private static int failures(Function<VerbsArena, Runnable> maker, long limit) {
        long room = 0;
        for (int failed = 0; ; failed++) {
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Runnable making = maker.apply(arena);
                long missing = fail(making, limit, room);
                if (missing == 0) {
                    return failed;
                }
                room += missing;
                making.run();
            }
        }
    }

    private static long fail(Runnable making, long limit, long room) {
        MemorySegment rest = DirectMemory.takeAllBut(room, limit);
        try {
            making.run();
            return 0;
        } catch (OutOfMemoryError none) {
            return DirectMemory.missing(none);
        } finally {
            Reference.reachabilityFence(rest);
        }
    }
}

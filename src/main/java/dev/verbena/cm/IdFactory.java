package dev.verbena.cm;

import dev.verbena.VerbsArena;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** Makes ids: in C, as asynchronous or synchronous ones, or of the requests that C reports. */
final class IdFactory {
    private IdFactory() {}

    /**
     * Checks that an arena may own an id of a channel: the arena is open, and no thread may use the id that may not use the
     * channel, because most calls of an id take events.
     */
    static void checkMakesIn(EventChannel channel, VerbsArena arena) {
        ArenaLifetime.of(arena).checkOpen();
        if (!ArenaLifetime.of(arena).isConfined()
                && ArenaLifetime.of(channel.arena()).isConfined()) {
            channel.checkUsable(); // a closed channel, or one of another thread, is named first
            throw new IllegalArgumentException("An id of a shared arena needs a channel of a shared arena, and the "
                    + channel + " belongs to one thread. Make the channel in a VerbsArena.ofShared(), or the id in "
                    + "the channel's arena");
        }
    }

    /** Makes an id of a channel. */
    static ConnectionId make(EventChannel channel, PortSpace space, VerbsArena arena) {
        checkMakesIn(channel, arena);
        if (space == PortSpace.UNKNOWN) {
            throw new IllegalArgumentException("port space must be one that C knows, got " + space);
        }
        return ObjectLifetime.create(arena, List.of(channel), (lifetime, scratch) -> {
            MemorySegment made = scratch.allocate(ValueLayout.JAVA_LONG);
            CmFailures.run(RdmaCm.CREATE_ID, space, channel.address(), made.address(), 0, space.code());
            return wrap(lifetime, made.get(ValueLayout.JAVA_LONG, 0), new IdEvents(space, channel), false);
        });
    }

    /** Wraps an id of C, and has the channel hand out its events. */
    private static ConnectionId wrap(ObjectLifetime lifetime, long address, IdEvents events, boolean isEndpoint) {
        ConnectionId id = new ConnectionId(lifetime, address, events, isEndpoint);
        events.owner = id;
        events.channel.add(address, events);
        return id;
    }

    /** Has C make a synchronous id. */
    static BlockingCall<Long> lookUp(AddressInfo info) {
        return new BlockingCall<>(
                RdmaCm.CREATE_EP.name(), info.toString(), () -> callCreate(info), RdmaCm.DESTROY_EP::call);
    }

    private static long callCreate(AddressInfo info) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment made = scratch.allocate(ValueLayout.JAVA_LONG);
            long wanted = info.write(scratch).address();
            CmFailures.run(RdmaCm.CREATE_EP, info, made.address(), wanted, 0, 0);
            return made.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Moves a synchronous id of C to a channel, and wraps it. Destroys the id in C on failure. */
    static ConnectionId endpoint(EventChannel channel, AddressInfo info, long address, VerbsArena arena) {
        IdEvents events = new IdEvents(info.space(), channel);
        try {
            return ObjectLifetime.create(arena, List.of(channel), lifetime -> {
                lifetime.undoneBy(() -> {});
                ConnectionId id = wrap(lifetime, address, events, true);
                CmFailures.run(RdmaCm.MIGRATE_ID, info, address, channel.address());
                channel.reader().noteDevice(address, events);
                return id;
            });
        } catch (Throwable t) {
            RdmaCm.DESTROY_EP.call(address);
            channel.remove(address, events);
            throw t;
        }
    }

    /** Wraps the id that came with a request. */
    static ConnectionId claim(EventChannel channel, RawEvent event, IdEvents events, VerbsArena arena) {
        checkMakesIn(channel, arena);
        return ObjectLifetime.create(arena, List.of(channel), lifetime -> {
            lifetime.undoneBy(() -> {}); // the request keeps the id if this fails
            channel.reader().noteDevice(event.id(), events);
            return new ConnectionId(lifetime, event.id(), events, false);
        });
    }
}

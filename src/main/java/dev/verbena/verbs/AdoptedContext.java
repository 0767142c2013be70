package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_context;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A context in C that another library has opened, and what all contexts in Java that stand for it share. Each connection has
 * such a context: without sharing, each would read the device's files again.
 */
final class AdoptedContext {
    /** The contexts that are in use, by address in C. */
    private static final ConcurrentHashMap<Long, AdoptedContext> KNOWN = new ConcurrentHashMap<>();

    final Device device;
    final DriverFunctions provider;
    final ContextQueries queries;

    /** The number of contexts in Java. The map guards this. */
    private int users;

    private AdoptedContext(long address) {
        device = Device.read(ibv_context
                .device(MemorySegment.ofAddress(address).reinterpret(ibv_context.sizeof()))
                .address());
        provider = DriverFunctions.of(device, address);
        queries = new ContextQueries(device, address);
    }

    /** Returns what the contexts at an address in C share, with one more user. */
    static AdoptedContext join(long address) {
        return KNOWN.compute(address, (at, known) -> {
            AdoptedContext used = known == null ? new AdoptedContext(at) : known;
            used.users++;
            return used;
        });
    }

    /** Removes a user, before C may close the context. */
    static void leave(long address) {
        KNOWN.computeIfPresent(address, (at, known) -> {
            known.users--;
            return known.users == 0 ? null : known;
        });
    }
}

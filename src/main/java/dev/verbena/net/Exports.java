package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.access.VerbsAccess;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The exports of a node. */
final class Exports {
    /** The largest number of bytes of a name. */
    static final int MAX_NAME = Wire.GREETING_BYTES;

    final Carrier carrier;
    private final Consumer<Export> revoker;
    private final Map<String, Export> exports = new ConcurrentHashMap<>();

    /**
     * Makes the table.
     *
     * @param revoker takes an export from all channels
     */
    Exports(Carrier carrier, Consumer<Export> revoker) {
        this.carrier = carrier;
        this.revoker = revoker;
    }

    /** Returns the bytes of a name. */
    static byte[] bytes(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0 || bytes.length > MAX_NAME) {
            throw new IllegalArgumentException(
                    "name of an export must have 1 to " + MAX_NAME + " bytes in UTF-8, got " + bytes.length);
        }
        return bytes;
    }

    Export export(String name, MemorySegment memory, Collection<AccessFlag> rights, VerbsArena arena) {
        return export(name, rights, arena, local -> carrier.register(memory, local, arena));
    }

    /** Exports memory with the rights of its options. */
    Export export(String name, RegionOptions options, VerbsArena arena) {
        VerbsAccess verbs = VerbsAccess.get();
        verbs.memory(options); // throws if a node can't register it
        Set<AccessFlag> rights = new HashSet<>(verbs.access(options));
        rights.remove(AccessFlag.LOCAL_WRITE); // options demand it beside REMOTE_WRITE
        Export made = export(name, rights, arena, local -> carrier.register(options.access(local), arena));
        verbs.closesOwner(made.region(), options);
        return made;
    }

    private Export export(
            String name,
            Collection<AccessFlag> rights,
            VerbsArena arena,
            Function<Set<AccessFlag>, MemoryRegion> register) {
        bytes(name);
        ArenaLifetime.of(arena).checkOpen();
        if (rights.isEmpty() || !Carrier.RIGHTS_OF_PEERS.containsAll(rights)) {
            throw new IllegalArgumentException(
                    "access of an export must be some of " + Carrier.RIGHTS_OF_PEERS + ", got " + rights);
        }
        EnumSet<AccessFlag> access = EnumSet.copyOf(rights);
        Set<AccessFlag> local = new HashSet<>(carrier.rightsToExport(access));
        if (access.contains(AccessFlag.REMOTE_WRITE) || access.contains(AccessFlag.REMOTE_ATOMIC)) {
            local.add(AccessFlag.LOCAL_WRITE);
        }
        if (ArenaLifetime.of(arena).isConfined()) {
            throw new IllegalArgumentException(
                    "arena of an export must be for all threads, because peers use the memory at"
                            + " any time: give one of VerbsArena.ofShared()");
        }
        if (exports.containsKey(name)) {
            throw known(name);
        }
        MemoryRegion region = register.apply(local);
        Export made = new Export(this, name, region, Collections.unmodifiableSet(access), arena);
        if (exports.putIfAbsent(name, made) != null) {
            region.close();
            throw known(name);
        }
        return made;
    }

    /** Makes an export that nobody finds, for a channel that grants it. */
    Export unnamed(MemoryRegion region, VerbsArena arena) {
        return new Export(this, "offer", region, Set.of(AccessFlag.REMOTE_READ), arena);
    }

    private static IllegalStateException known(String name) {
        return new IllegalStateException("The node has an export with the name '" + name + "' already: close it first");
    }

    @Nullable
    Export find(String name) {
        Export known = exports.get(name);
        return known != null && known.isOpen() ? known : null;
    }

    /** Closes an export. The thread that closes the arena of its memory may be closing this node, and so the export too. */
    void close(Export export) {
        export.end();
        revoker.accept(export); // several threads may do this at once, and each waits until it is done
        export.region().close();
        exports.remove(export.name(), export); // last: a node that is closed meanwhile has to know the export
    }

    void closeAll() {
        List.copyOf(exports.values()).forEach(this::close);
    }
}

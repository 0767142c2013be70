package dev.verbena.net;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.cm.ConnectionId;
import dev.verbena.internal.Errno;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.access.VerbsAccess;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The verbs objects of a channel: queue pair, memory and batches, all in an arena of the channel's own. */
final class RdmaLink extends Link {
    /** The number of bytes of an immediate number behind a message. */
    static final int TRAILER = Integer.BYTES;

    private static final RemoteMemory NOWHERE = new RemoteMemory(0, 0, 0);

    private final VerbsAccess verbs = VerbsAccess.get();

    /** The domain of the node's memory. */
    private final ProtectionDomain shared;

    /** The domain of the queue pair. If it is another, memory of the node is registered there too when it is used first. */
    private final ProtectionDomain domain;

    private final VerbsArena arena;
    private final QueuePair pair;
    private final SendBatch sends;
    private final ReceiveBatch receives;

    /** The number of bytes of the immediate number behind each message, on devices without immediate data; else 0. */
    private final int trailer;

    /** The pieces with the trailers of their messages. */
    private final @Nullable LocalMemory[] trailing;

    /** The trailers of the sends without bytes that may be under way. */
    private final LocalMemory[] bare;

    private int nextBare;

    /**
     * Makes the objects.
     *
     * @param id the id to make the queue pair on
     * @param shared the domain of the node's memory
     * @param domain the domain of the queue pair, that or another
     * @param trailer 0 if the device sends immediate data, else {@link #TRAILER}
     */
    RdmaLink(
            ConnectionId id,
            ProtectionDomain shared,
            ProtectionDomain domain,
            CompletionQueue completions,
            int trailer,
            NodeOptions options,
            VerbsArena arena) {
        super(
                domain.register(arena.allocate(greetings(options), CACHE_LINE), List.of(AccessFlag.LOCAL_WRITE), arena),
                options,
                trailer);
        this.shared = shared;
        this.domain = domain;
        this.arena = arena;
        this.trailer = trailer;
        trailing = new LocalMemory[trailer == 0 ? 0 : Messages.pieces(options)];
        bare = new LocalMemory[trailer == 0 ? 0 : ChannelCore.CONTROL_SENDS];
        for (int i = 0; i < bare.length; i++) {
            bare[i] = own((long) i * trailer, trailer);
        }
        pair = id.createQueuePair(
                domain,
                QueuePair.rc(completions)
                        .sendDepth(Messages.sendDepth(options))
                        .receiveDepth(Messages.receiveDepth(options)),
                arena);
        sends = pair.sendBatch(1);
        receives = pair.receiveBatch(1);
    }

    @Override
    QueuePair pair() {
        return pair;
    }

    @Override
    void serves(String channel) {
        verbs.serves(pair, channel);
    }

    @Override
    void send(long id, LocalMemory data, int immediate) {
        verbs.takeOver(sends);
        if (trailer == 0) {
            sends.clear().send(id, data).immediate(immediate).post();
        } else {
            LocalMemory whole = withTrailer(data);
            whole.segment().set(Wire.INT, data.length(), immediate);
            sends.clear().send(id, whole).post();
        }
    }

    @Override
    void send(long id, int immediate) {
        verbs.takeOver(sends);
        if (trailer == 0) {
            sends.clear().send(id).immediate(immediate).post();
        } else {
            LocalMemory number = bare[nextBare];
            nextBare = (nextBare + 1) % bare.length;
            number.segment().set(Wire.INT, 0, immediate);
            sends.clear().send(id, number).post();
        }
    }

    /** Returns a message with the bytes behind it. */
    private LocalMemory withTrailer(LocalMemory message) {
        LocalMemory greeting = greetingWith(trailer, message);
        if (greeting != null) {
            return greeting;
        }
        int index = index(message);
        LocalMemory known = trailing[index];
        if (known == null || known.length() != message.length() + trailer) {
            known = piece(index, message.length() + trailer);
            trailing[index] = known;
        }
        return known;
    }

    /** Returns true if the immediate number is behind the bytes of each message: the device has no immediate data. */
    boolean hasTrailers() {
        return trailer != 0;
    }

    /**
     * Returns the immediate number of a message that has arrived.
     *
     * @param whole the memory that was posted for the message
     * @param bytes the number of bytes of the message
     */
    int number(LocalMemory whole, int bytes) {
        return withTrailer(whole).segment().get(Wire.INT, bytes);
    }

    @Override
    void post(Operations.Kind kind, long id, LocalMemory local, RemoteMemory remote, long first, long second) {
        if (kind.isAtomic() && hasTrailers()) {
            throw new UnsupportedVerbException(
                    "ibv_post_send",
                    kind.toString(),
                    Errno.EOPNOTSUPP,
                    "iWARP has no atomics: let the peer change the number");
        }
        verbs.takeOver(sends);
        sends.clear();
        switch (kind) {
            case READ -> sends.read(id, local, remote);
            case WRITE -> sends.write(id, local, remote);
            case FETCH_AND_ADD -> sends.fetchAndAdd(id, local, remote, first);
            case COMPARE_AND_SWAP -> sends.compareAndSwap(id, local, remote, first, second);
        }
        sends.post();
    }

    /** Posts a write of no bytes, which only the peer's adapter answers. */
    @Override
    void probe(long id) {
        verbs.takeOver(sends);
        if (trailer == 0) {
            sends.clear().writeInline(id, MemorySegment.NULL, NOWHERE).post();
        } else { // iWARP does not acknowledge writes
            sends.clear().read(id, bare[0].slice(0, 0), NOWHERE).post();
        }
    }

    @Override
    void receive(long id, LocalMemory memory) {
        verbs.takeOver(receives);
        receives.clear()
                .receive(id, trailer == 0 ? memory : withTrailer(memory))
                .post();
    }

    @Override
    LocalMemory usable(LocalMemory memory) {
        if (domain == shared) {
            return memory;
        }
        MemoryRegion region = memory.region();
        MemoryRegion own = verbs.registerAgain(region, shared, domain, Set.of(), arena);
        return own == region ? memory : own.slice(memory.address() - region.address(), memory.length());
    }

    @Override
    void prepared() {
        ObjectLifetime.of(pair).forgetUser();
    }

    @Override
    Key grant(long id, Export export) {
        if (!export.hasKeysOfChannels()) {
            RemoteMemory ofAll = export.region().remote();
            return new Key(() -> ofAll, false, () -> {}); // it ends with the region
        }
        if (domain != shared) {
            MemoryRegion own = verbs.registerAgain(export.region(), shared, domain, export.access(), arena);
            return new Key(own::remote, false, own::close);
        }
        MemoryWindow window = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2, export.arena());
        try {
            verbs.takeOver(sends);
            sends.clear().bind(id, window, export.region(), export.access()).post();
        } catch (RuntimeException | Error refused) {
            window.close();
            throw refused;
        }
        return new Key(window::remote, true, window::close);
    }
}

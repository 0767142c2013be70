package dev.verbena.internal.link;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.internal.Errno;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.PostException;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
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
    private static final RemoteMemory NOWHERE = new RemoteMemory(0, 0, 0);

    private final VerbsAccess verbs = VerbsAccess.get();

    private final Domains domains;
    private final NodeDevice device;

    /** The domain of the queue pair. If it is not that of the node, memory of the node is registered there when it is used first. */
    private final ProtectionDomain domain;

    private final LinkOwner owner;
    private final boolean windows;
    private final QueuePair pair;

    /** The path, if the program has chosen a part of it that the connection manager has no option for; else null. */
    private final @Nullable ChosenPath path;

    private final SendBatch sends;
    private final ReceiveBatch receives;
    private final int spareReceives;

    /** True on iWARP, which has no atomics and does not acknowledge writes. */
    private final boolean iwarp;

    /**
     * Makes the objects.
     *
     * @param id the id to make the queue pair on
     * @param domains the domains of the channel
     * @param device the device of the id
     * @param iwarp true if the device is one of iWARP
     * @param windows true if a peer gets keys by memory windows
     * @param quality what the packets ask of the network, as far as both nodes want it
     */
    RdmaLink(
            ConnectionId id,
            Domains domains,
            NodeDevice device,
            boolean iwarp,
            boolean windows,
            LinkOptions options,
            LinkOptions.Quality quality,
            LinkOwner owner) {
        super(
                domains.on(device)
                        .register(
                                owner.arena().allocate(greetings(options.sizes()), CACHE_LINE),
                                List.of(AccessFlag.LOCAL_WRITE),
                                owner.arena()),
                options.sizes());
        this.domains = domains;
        this.device = device;
        this.domain = domains.on(device);
        this.owner = owner;
        this.windows = windows;
        this.iwarp = iwarp;
        QueuePairOptions depths = QueuePair.rc(device.completions)
                .sendDepth(options.sizes().sendDepth())
                .receiveDepth(options.sizes().receiveDepth());
        boolean isChosen = quality.isChosen() && !iwarp;
        pair = isChosen
                ? domain.createQueuePair(depths, owner.arena())
                : id.createQueuePair(domain, depths, owner.arena());
        path = isChosen ? new ChosenPath(id, pair, quality) : null;
        sends = pair.sendBatch(1);
        spareReceives = options.sizes().spareReceives();
        receives = pair.receiveBatch(1 + spareReceives);
    }

    @Nullable
    ChosenPath path() {
        return path;
    }

    @Override
    public QueuePair pair() {
        return pair;
    }

    @Override
    public void serves(long keyOfRail, String channel) {
        super.serves(keyOfRail, channel);
        verbs.serves(pair, channel);
    }

    @Override
    public void stop() {
        try {
            pair.fail();
        } catch (VerbsException | IllegalStateException gone) {
            // The device was removed, or the queue pair is closed.
        }
    }

    @Override
    public void send(int place, LocalMemory message) {
        verbs.takeOver(sends);
        sends.clear().send(id(place), message);
        try {
            sends.post();
        } catch (PostException refused) {
            throwUnlessFailed(refused, false);
        }
    }

    /**
     * Throws a refusal unless the queue pair has failed. Most drivers take requests of such a queue pair, and flush them. Others
     * refuse them: then it is enough that the receives are flushed, which ends the connection.
     *
     * @param atomic true for an atomic, which a driver may lack
     */
    private void throwUnlessFailed(PostException refused, boolean atomic) {
        if (!hasFailed(refused.errno() == Errno.EINVAL && !atomic)) {
            throw refused;
        }
    }

    /**
     * Returns true if the queue pair has failed.
     *
     * @param isLikely the answer where the driver does not tell the state
     */
    private boolean hasFailed(boolean isLikely) {
        try {
            return pair.query().state() == QueuePairState.ERR;
        } catch (UnsupportedVerbException untold) {
            if (isLikely) {
                pair.fail(); // has the receives flushed, should this be wrong
            }
            return isLikely;
        }
    }

    @Override
    public void post(OperationKind kind, int place, LocalMemory local, RemoteMemory remote, long first, long second) {
        if (kind.isAtomic() && iwarp) {
            throw new UnsupportedVerbException(
                    "ibv_post_send",
                    kind.toString(),
                    Errno.EOPNOTSUPP,
                    "iWARP has no atomics: let the peer change the number");
        }
        long id = id(place);
        verbs.takeOver(sends);
        sends.clear();
        switch (kind) {
            case READ -> sends.read(id, local, remote);
            case WRITE -> sends.write(id, local, remote);
            case FETCH_AND_ADD -> sends.fetchAndAdd(id, local, remote, first);
            case COMPARE_AND_SWAP -> sends.compareAndSwap(id, local, remote, first, second);
        }
        try {
            sends.post();
        } catch (PostException refused) {
            throwUnlessFailed(refused, kind.isAtomic());
        }
    }

    /** Posts a write of no bytes, which only the peer's adapter answers. */
    @Override
    public void probe(int place) {
        long id = id(place);
        verbs.takeOver(sends);
        sends.clear();
        if (iwarp) {
            sends.read(id, greeting(0).slice(0, 0), NOWHERE);
        } else {
            sends.writeInline(id, MemorySegment.NULL, NOWHERE);
        }
        try {
            sends.post();
        } catch (PostException refused) {
            throwUnlessFailed(refused, false);
        }
    }

    @Override
    public void receive(int place, LocalMemory memory) {
        verbs.takeOver(receives);
        receives.receive(id(place), memory);
        if (receives.size() > spareReceives || !isOpen()) {
            try {
                receives.post(); // a message there and back takes 1.05 us so, and 1.12 if each is posted (2026-11-29)
            } finally {
                receives.clear();
            }
        }
    }

    @Override
    public LocalMemory usable(LocalMemory memory) {
        if (domain == domains.ofNode()) {
            return memory;
        }
        MemoryRegion region = memory.region();
        MemoryRegion own = here(region);
        return own == region ? memory : own.slice(memory.address() - region.address(), memory.length());
    }

    @Override
    public MemoryRegion here(MemoryRegion region) {
        return domains.on(device, region, owner);
    }

    @Override
    public Shown shown(MemoryRegion region) {
        return domains.shown(region, owner);
    }

    @Override
    public void prepared() {
        ObjectLifetime.of(pair).forgetUser();
    }

    @Override
    public Key grant(int place, MemoryRegion region, Set<AccessFlag> access, VerbsArena arena) {
        if (!windows && domain == domains.ofNode()) {
            Shown toAll = new Shown(region.remote());
            return new Key(() -> toAll, false, () -> {}); // it ends with the region
        }
        if (domain != domains.ofNode()) {
            return domains.grant(region, access, owner);
        }
        MemoryWindow window = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2, arena);
        try {
            verbs.takeOver(sends);
            sends.clear().bind(id(place), window, region, access).post();
        } catch (RuntimeException | Error refused) {
            window.close();
            throw refused;
        }
        return new Key(() -> new Shown(window.remote()), true, window::close);
    }
}

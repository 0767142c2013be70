package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.rdma_cm_join_mc_attr_ex;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An id's membership in a multicast group, which ends when this object is closed. The id's queue pair receives the datagrams
 * that are sent to the group.
 *
 * {@snippet file="DatagramSnippets.java" region="multicast"}
 *
 * <p>Take the completions of all sends before closing: leaving the group may drop datagrams that were not sent yet.
 *
 * <p>A membership of a shared arena can be used by many threads at once. A membership of a confined arena can be used by the
 * arena's thread only.
 */
public final class MulticastMembership extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final CmId id;
    private final SocketAddress group;
    private final DatagramTarget target;

    private MulticastMembership(ObjectLifetime lifetime, CmId id, SocketAddress group, DatagramTarget target) {
        super(lifetime);
        this.lifetime = lifetime;
        this.id = id;
        this.group = group;
        this.target = target;
        lifetime.destroyedBy(this::destroy);
    }

    /**
     * Joins a group. Leaves it again on failure.
     *
     * @param how null for {@code rdma_join_multicast}, which joins to send and to receive
     */
    static MulticastMembership join(
            ConnectionId owner,
            CmId id,
            IdQueues queues,
            SocketAddress group,
            @Nullable Kind how,
            Duration timeout,
            VerbsArena arena)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // before C joins the group
        ArenaLifetime.of(arena).checkOpen();
        CFunction function = how == null ? RdmaCm.JOIN_MULTICAST : RdmaCm.JOIN_MULTICAST_EX;
        id.call(function, group.toString(), scratch -> CmId.values(what(group, how, scratch), 0));
        try {
            CmEvent joined = id.events.awaitEnd(function, timeout, CmEvent.Type.MULTICAST_JOIN);
            QueuePair pair = queues.queuePair();
            return ObjectLifetime.create(
                    arena,
                    lifetime -> {
                        lifetime.undoneBy(() -> {}); // this method leaves the group if this fails
                        return new MulticastMembership(lifetime, id, group, ((CmEvent.DatagramReady) joined).target());
                    },
                    pair == null ? new VerbsObject[] {owner} : new VerbsObject[] {owner, pair});
        } catch (Throwable t) {
            leaveAfter(t, id, group);
            throw t;
        }
    }

    private static MemorySegment what(SocketAddress group, @Nullable Kind how, Arena scratch) {
        MemorySegment address = SocketAddresses.write(group, scratch);
        if (how == null) {
            return address;
        }
        MemorySegment join = rdma_cm_join_mc_attr_ex.allocate(scratch);
        rdma_cm_join_mc_attr_ex.comp_mask(
                join, rdma_h.RDMA_CM_JOIN_MC_ATTR_ADDRESS | rdma_h.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS);
        rdma_cm_join_mc_attr_ex.join_flags(join, how.code);
        rdma_cm_join_mc_attr_ex.addr(join, address);
        return join;
    }

    /** Leaves a group that was joined in vain. An id that is closed has left its groups. */
    private static void leaveAfter(Throwable failure, CmId id, SocketAddress group) {
        try (var _ = id.lifetime.held()) {
            leave(id, group);
        } catch (VerbsException | IllegalStateException e) {
            failure.addSuppressed(e);
        }
    }

    /** Leaves a group. The caller holds the id, or is a membership, which the id outlives. */
    private static void leave(CmId id, SocketAddress group) {
        try (Arena scratch = Arena.ofConfined();
                var _ = id.inC.held()) {
            long address = SocketAddresses.write(group, scratch).address();
            CmFailures.run(RdmaCm.LEAVE_MULTICAST, "group " + ConnectionException.text(group), id.address, address);
        }
    }

    @CName("rdma_leave_multicast")
    private void destroy() {
        leave(id, group);
    }

    /**
     * Returns the group's address.
     *
     * @return the address that was joined
     */
    public SocketAddress group() {
        lifetime.checkOpen();
        return group;
    }

    /**
     * Returns the destination for datagrams to the group.
     *
     * @return the path, the queue pair number of multicast, and the key
     */
    public DatagramTarget target() {
        lifetime.checkOpen();
        return target;
    }

    @Override
    public String toString() {
        return "membership of " + ConnectionException.text(group);
    }

    /** A kind of membership in a multicast group ({@code enum rdma_cm_mc_join_flags}). */
    public enum Kind {
        /** Sends and receives ({@code RDMA_MC_JOIN_FLAG_FULLMEMBER}). */
        FULL_MEMBER(rdma_h.RDMA_MC_JOIN_FLAG_FULLMEMBER),
        /** Sends only ({@code RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER}). */
        SEND_ONLY(rdma_h.RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);

        final int code;

        Kind(int code) {
            this.code = code;
        }
    }
}

package dev.verbena.cm;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.raw.rdma_cm_join_mc_attr_ex;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Objects;

/** The multicast groups of an id: joins them, and leaves them again when joining fails. */
final class IdGroups {
    private final ConnectionId owner;
    private final CmId id;
    private final IdQueues queues;

    IdGroups(ConnectionId owner, CmId id, IdQueues queues) {
        this.owner = owner;
        this.id = id;
        this.queues = queues;
    }

    MulticastMembership join(SocketAddress group, Duration timeout, VerbsArena arena) throws InterruptedException {
        return join(
                group,
                timeout,
                arena,
                RdmaCm.JOIN_MULTICAST,
                scratch -> CmId.values(SocketAddresses.write(group, scratch), 0));
    }

    MulticastMembership join(SocketAddress group, MulticastMembership.Kind how, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        return join(group, timeout, arena, RdmaCm.JOIN_MULTICAST_EX, scratch -> {
            MemorySegment join = rdma_cm_join_mc_attr_ex.allocate(scratch);
            rdma_cm_join_mc_attr_ex.comp_mask(
                    join, rdma_h.RDMA_CM_JOIN_MC_ATTR_ADDRESS | rdma_h.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS);
            rdma_cm_join_mc_attr_ex.join_flags(join, how.code);
            rdma_cm_join_mc_attr_ex.addr(join, SocketAddresses.write(group, scratch));
            return CmId.values(join, 0);
        });
    }

    private MulticastMembership join(
            SocketAddress group, Duration timeout, VerbsArena arena, CFunction function, CmId.Values values)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // before C joins the group
        ArenaLifetime.of(arena).checkOpen();
        id.call(function, group.toString(), values);
        try {
            CmEvent joined = id.events.awaitEnd(function, timeout, CmEvent.Type.MULTICAST_JOIN);
            return MulticastMembership.of(
                    this, owner, queues.queuePair(), group, ((CmEvent.DatagramReady) joined).target(), arena);
        } catch (Throwable t) {
            leaveAfter(t, group);
            throw t;
        }
    }

    /** Leaves a group that was joined in vain. An id that is closed has left its groups. */
    private void leaveAfter(Throwable failure, SocketAddress group) {
        try {
            try (var _ = id.lifetime.held()) {
                leave(group);
            }
        } catch (VerbsException | IllegalStateException e) {
            failure.addSuppressed(e);
        }
    }

    /** Leaves a group. The caller holds the id, or is a membership, which the id outlives. */
    void leave(SocketAddress group) {
        try (Arena scratch = Arena.ofConfined();
                var _ = id.inC.held()) {
            long address = SocketAddresses.write(group, scratch).address();
            CmFailures.run(RdmaCm.LEAVE_MULTICAST, "group " + ConnectionException.text(group), id.address, address);
        }
    }
}

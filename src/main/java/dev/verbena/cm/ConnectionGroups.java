package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.raw.rdma_cm_join_mc_attr_ex;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.SocketAddress;
import java.time.Duration;

/** The multicast groups of an id. */
abstract class ConnectionGroups extends ConnectionQueues {
    ConnectionGroups(ObjectLifetime lifetime, PortSpace space, long address, IdEvents inbox) {
        super(lifetime, space, address, inbox);
    }

    /**
     * Joins a multicast group to send and to receive ({@code rdma_join_multicast}). The id's address must be resolved or
     * bound to a device, and its queue pair made.
     *
     * @param group the group's address; the port does not matter
     * @param timeout how long to wait
     * @return the membership, closed by this id's arena
     * @throws ConnectionException if it can't be joined
     * @throws VerbsTimeoutException if that is not clear in time: the group is left again
     * @throws InterruptedException if the thread was interrupted: the group is left again
     */
    @CName({"rdma_join_multicast", "rdma_leave_multicast"})
    public MulticastMembership join(SocketAddress group, Duration timeout) throws InterruptedException {
        return join(
                group,
                timeout,
                arena(),
                RdmaCm.JOIN_MULTICAST,
                scratch -> RdmaCm.JOIN_MULTICAST.call(
                        address, SocketAddresses.write(group, scratch).address(), 0));
    }

    /**
     * Joins a multicast group ({@code rdma_join_multicast_ex}). The id's address must be resolved or bound to a device, and
     * its queue pair made.
     *
     * @param group the group's address; the port does not matter
     * @param how whether to receive as well
     * @param timeout how long to wait
     * @return the membership, closed by this id's arena
     * @throws ConnectionException if it can't be joined
     * @throws VerbsTimeoutException if that is not clear in time: the group is left again
     * @throws InterruptedException if the thread was interrupted: the group is left again
     */
    @CName({"rdma_join_multicast_ex", "rdma_leave_multicast"})
    public MulticastMembership join(SocketAddress group, JoinFlag how, Duration timeout) throws InterruptedException {
        return join(group, how, timeout, arena());
    }

    /**
     * Joins a multicast group ({@code rdma_join_multicast_ex}).
     *
     * @param group the group's address; the port does not matter
     * @param how whether to receive as well
     * @param timeout how long to wait
     * @param arena what will leave the group
     * @return the membership
     * @throws ConnectionException if it can't be joined
     * @throws VerbsTimeoutException if that is not clear in time: the group is left again
     * @throws InterruptedException if the thread was interrupted: the group is left again
     */
    @CName({"rdma_join_multicast_ex", "rdma_leave_multicast"})
    public MulticastMembership join(SocketAddress group, JoinFlag how, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        return join(group, timeout, arena, RdmaCm.JOIN_MULTICAST_EX, scratch -> {
            MemorySegment join = scratch.allocate(rdma_cm_join_mc_attr_ex.layout());
            rdma_cm_join_mc_attr_ex.comp_mask(
                    join, rdma_h.RDMA_CM_JOIN_MC_ATTR_ADDRESS() | rdma_h.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS());
            rdma_cm_join_mc_attr_ex.join_flags(join, how.code());
            rdma_cm_join_mc_attr_ex.addr(join, SocketAddresses.write(group, scratch));
            return RdmaCm.JOIN_MULTICAST_EX.call(address, join.address(), 0);
        });
    }

    private MulticastMembership join(
            SocketAddress group, Duration timeout, VerbsArena arena, CFunction function, Call join)
            throws InterruptedException {
        CmFailures.checkOpen(arena);
        call(function, group.toString(), join);
        try {
            CmEvent joined = step(function, timeout, CmEventType.MULTICAST_JOIN);
            return MulticastMembership.of(self(), queuePair, group, ((CmEvent.DatagramReady) joined).target(), arena);
        } catch (Throwable t) {
            leave(group);
            throw t;
        }
    }

    private void leave(SocketAddress group) {
        if (isOpen()) {
            lifetime.hold();
            try (Arena scratch = Arena.ofConfined()) {
                RdmaCm.LEAVE_MULTICAST.call(
                        address, SocketAddresses.write(group, scratch).address());
            } finally {
                lifetime.release();
            }
        }
    }
}

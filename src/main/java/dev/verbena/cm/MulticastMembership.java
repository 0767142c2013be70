package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.QueuePair;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * An id's membership in a multicast group, which ends when this object is closed. The id's queue pair receives the datagrams
 * that are sent to the group.
 *
 * <p>Take the completions of all sends before closing: leaving the group may drop datagrams that were not sent yet.
 *
 * <p>A membership of a shared arena can be used by many threads at once. A membership of a confined arena can be used by the
 * arena's thread only.
 */
public final class MulticastMembership extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final IdGroups groups;
    private final SocketAddress group;
    private final DatagramTarget target;

    private MulticastMembership(ObjectLifetime lifetime, IdGroups groups, SocketAddress group, DatagramTarget target) {
        super(lifetime);
        this.lifetime = lifetime;
        this.groups = groups;
        this.group = group;
        this.target = target;
        lifetime.destroyedBy(this::destroy);
    }

    static MulticastMembership of(
            IdGroups groups,
            ConnectionId id,
            @Nullable QueuePair pair,
            SocketAddress group,
            DatagramTarget target,
            VerbsArena arena) {
        VerbsObject[] parents = pair == null ? new VerbsObject[] {id} : new VerbsObject[] {id, pair};
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    lifetime.undoneBy(() -> {}); // the caller leaves the group if this fails
                    return new MulticastMembership(lifetime, groups, group, target);
                },
                parents);
    }

    @CName("rdma_leave_multicast")
    private void destroy() {
        groups.leave(group);
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

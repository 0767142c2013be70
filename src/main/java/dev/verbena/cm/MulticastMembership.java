package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.RdmaCm;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.Arena;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * That an id has joined a multicast group, until this is closed. If the id has a queue pair, that one receives what is sent
 * to the group.
 *
 * <p>Before closing, take the completions of what was sent: leaving may drop datagrams that are on their way out.
 */
public final class MulticastMembership extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final ConnectionId id;
    private final SocketAddress group;
    private final DatagramTarget target;

    private MulticastMembership(ObjectLifetime lifetime, ConnectionId id, SocketAddress group, DatagramTarget target) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
        this.id = id;
        this.group = group;
        this.target = target;
    }

    static MulticastMembership of(
            ConnectionId id, @Nullable QueuePair pair, SocketAddress group, DatagramTarget target, VerbsArena arena) {
        VerbsObject[] parents = pair == null ? new VerbsObject[] {id} : new VerbsObject[] {id, pair};
        return ObjectLifetime.create(arena, lifetime -> new MulticastMembership(lifetime, id, group, target), parents);
    }

    @CName("rdma_leave_multicast")
    private void destroy() {
        try (Arena scratch = Arena.ofConfined()) {
            CmFailures.check(
                    RdmaCm.LEAVE_MULTICAST,
                    RdmaCm.LEAVE_MULTICAST.call(
                            id.address(), SocketAddresses.write(group, scratch).address()),
                    toString());
        }
    }

    /**
     * The group's address.
     *
     * @return the address that was joined
     */
    public SocketAddress group() {
        lifetime.checkOpen();
        return group;
    }

    /**
     * Where to send.
     *
     * @return the path, the number that stands for all, and the key
     */
    public DatagramTarget target() {
        lifetime.checkOpen();
        return target;
    }

    @Override
    public String toString() {
        return "membership of " + ConnectionException.text(group);
    }
}

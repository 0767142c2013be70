package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.TYPE;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.Checks;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Calls;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The multicast groups that a queue pair is attached to. The kernel keeps a queue pair that is still in a group. */
final class MulticastGroups {
    private static final int MAX_LID = 0xffff;

    private final QueuePair queuePair;
    private final Set<Group> groups = new HashSet<>();

    /** A multicast group, as it was attached. */
    private record Group(Gid gid, int lid) {}

    MulticastGroups(QueuePair queuePair) {
        this.queuePair = queuePair;
    }

    void attach(Gid gid, int lid) {
        Group group = check(gid, lid);
        try (var _ = queuePair.lifetime.held()) {
            attach(group);
        }
    }

    void detach(Gid gid, int lid) {
        Group group = check(gid, lid);
        try (var _ = queuePair.lifetime.held()) {
            detach(group);
        }
    }

    private Group check(Gid gid, int lid) {
        if (TYPE.of(queuePair.options) != QueuePairType.UD) {
            throw new IllegalStateException("Only queue pairs for datagrams join multicast groups: " + queuePair);
        }
        Checks.checkRange("local identifier", lid, MAX_LID);
        return new Group(gid, lid);
    }

    /** Detaches the queue pair from all groups before it is destroyed. */
    synchronized void detachAll() {
        for (Group group : List.copyOf(groups)) {
            detach(group);
        }
    }

    private synchronized void attach(Group group) {
        call(Ibv.ATTACH_MCAST, group, "Is this the GID of a multicast group?");
        groups.add(group);
    }

    private synchronized void detach(Group group) {
        call(Ibv.DETACH_MCAST, group, "Is the queue pair in the group?");
        groups.remove(group);
    }

    private void call(CFunction function, Group group, String hint) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment gid = scratch.allocate(Gid.BYTES, Long.BYTES);
            AddressCodec.writeGid(group.gid(), gid, 0);
            Calls.run(
                    function,
                    queuePair + ", " + group.gid(),
                    errno -> hint,
                    queuePair.address,
                    gid.address(),
                    group.lid());
        }
    }
}

package dev.verbena.internal.link;

import dev.verbena.VerbsException;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.access.VerbsAccess;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The domains of the queue pairs and of the memory of a channel, one on each device of the node. They are those of the node,
 * which all channels share, or the channel's own.
 */
final class Domains {
    private final List<NodeDevice> devices;
    private final boolean apart;
    private final @Nullable ProtectionDomain[] own;

    /** The number of those that use the domains: the connections of the channel, and transfers. */
    private final AtomicInteger users = new AtomicInteger(1);

    /** The number of descriptions of memory that the peer was given. */
    private final AtomicInteger shown = new AtomicInteger();

    /**
     * Makes the domains.
     *
     * @param apart true for domains of the channel's own
     */
    Domains(List<NodeDevice> devices, boolean apart) {
        this.devices = devices;
        this.apart = apart;
        this.own = new ProtectionDomain[devices.size()];
        for (NodeDevice device : devices) {
            own[device.number] = apart ? allocate(device) : device.domain;
        }
    }

    private static @Nullable ProtectionDomain allocate(NodeDevice device) {
        try {
            return device.context.allocateProtectionDomain(device.domain.arena());
        } catch (VerbsException refused) {
            if (device.removed) {
                return null;
            }
            throw refused;
        }
    }

    /** Returns the domain on a device. */
    ProtectionDomain on(NodeDevice device) {
        ProtectionDomain known = own[device.number];
        if (known == null) {
            throw new IllegalStateException("The device " + device.name + " was removed");
        }
        return known;
    }

    /** Returns the domain of the program's memory. */
    ProtectionDomain ofNode() {
        return devices.getFirst().domain;
    }

    /** Returns the same memory on a device: memory of the program, or of the channel, is registered there when it is used first. */
    MemoryRegion on(NodeDevice device, MemoryRegion region, LinkOwner owner) {
        ProtectionDomain here = on(device);
        ProtectionDomain from = region.domain();
        return from == here || !(isOfNode(from) || isOwn(from))
                ? region
                : VerbsAccess.get().registerAgain(region, from, here, Set.of(), owner.lastingArena());
    }

    /** Returns true for a domain of the program's memory: that of the first device, or of another one once that is gone. */
    private boolean isOfNode(ProtectionDomain domain) {
        int number = 0;
        while (number < own.length && devices.get(number).domain != domain) {
            number++;
        }
        return number < own.length;
    }

    private boolean isOwn(ProtectionDomain domain) {
        return Arrays.asList(own).contains(domain);
    }

    /** Gives memory to the peer, on all devices. */
    Link.Key grant(MemoryRegion region, Set<AccessFlag> access, LinkOwner owner) {
        List<MemoryRegion> copies = new ArrayList<>();
        try {
            for (NodeDevice device : devices) {
                if (!device.removed) {
                    copies.add(VerbsAccess.get()
                            .registerAgain(region, region.domain(), on(device), access, owner.lastingArena()));
                }
            }
        } catch (RuntimeException | Error refused) {
            copies.forEach(MemoryRegion::close);
            throw refused;
        }
        Link.Shown all = describe(copies);
        return new Link.Key(() -> all, false, () -> copies.forEach(MemoryRegion::close));
    }

    /** Returns memory of the channel as the peer sees it. */
    Link.Shown shown(MemoryRegion region, LinkOwner owner) {
        List<MemoryRegion> copies = new ArrayList<>();
        for (NodeDevice device : devices) {
            if (!device.removed) {
                copies.add(on(device, region, owner));
            }
        }
        return describe(copies);
    }

    private Link.Shown describe(List<MemoryRegion> copies) {
        if (devices.size() == 1) {
            return new Link.Shown(copies.getFirst().remote());
        }
        int[] keys = new int[devices.size()]; // that of a device which is gone is never used
        for (MemoryRegion each : copies) {
            keys[number(each.domain())] = each.remoteKey();
        }
        RemoteMemory any = copies.getFirst().remote();
        return new Link.Shown(new RemoteMemory(any.address(), shown.incrementAndGet(), any.length()), keys);
    }

    private int number(ProtectionDomain domain) {
        int number = 0;
        while (own[number] != domain) {
            number++;
        }
        return number;
    }

    void enter() {
        users.incrementAndGet();
    }

    /** Notes that somebody needs the domains no more. The last one frees those of the channel's own. */
    void leave() {
        users.decrementAndGet();
        freeUnused();
    }

    /** Frees the domains of the channel's own, if nobody needs them any more. */
    void freeUnused() {
        if (users.get() > 0 || !apart) {
            return;
        }
        for (ProtectionDomain each : own) {
            try {
                if (each != null) {
                    each.close();
                }
            } catch (VerbsException | IllegalStateException refused) {
                // A connection that is freed later closes it, or the node does.
            }
        }
    }

    long pinnedBytes() {
        long sum = 0;
        for (ProtectionDomain each : own) {
            sum += each == null ? 0 : VerbsAccess.get().pinnedBytes(each);
        }
        return sum;
    }
}

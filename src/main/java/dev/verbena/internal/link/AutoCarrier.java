package dev.verbena.internal.link;

import dev.verbena.RdmaUnavailableException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RegionOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The transports of a node that has a device and uses TCP too. Both listen at the same address and port. Memory is
 * registered with the device, and channels over TCP use it too.
 *
 * <p>A channel uses RDMA if both nodes have it. The side that connects asks by TCP first, because a machine without RDMA
 * does not answer by RDMA at all, and the kernel notices that after a minute only.
 */
public final class AutoCarrier extends Carrier {
    /** The longest time to wait for the answer by TCP: packets to a TCP port may be dropped where RDMA works. */
    private static final Duration ASKING_TIME = Duration.ofSeconds(3);

    /** The number of ports to try when RDMA or TCP has taken one that the other has chosen. */
    private static final int PORTS = 16;

    private final RdmaCarrier rdma;
    public final TcpCarrier tcp;

    private AutoCarrier(RdmaCarrier rdma, TcpCarrier tcp) throws IOException {
        this.rdma = rdma;
        this.tcp = tcp;
        tcp.standBeside(rdma);
    }

    /** Makes the transports of a node: only TCP if no device has the address, or if the libraries of RDMA are missing. */
    public static Carrier open(LinkHost host, LinkOptions options, VerbsArena arena) {
        for (int tries = 1; ; tries++) {
            TcpCarrier tcp = new TcpCarrier(host, options, arena);
            try {
                DevicePlace place = find(options.at(tcp.address()), arena);
                return place == null ? tcp : new AutoCarrier(new RdmaCarrier(host, place, options, arena), tcp);
            } catch (IOException failure) {
                tcp.close();
                throw new UncheckedIOException("It can't listen over TCP: " + failure.getMessage(), failure);
            } catch (Throwable t) {
                tcp.close();
                boolean isTaken = t instanceof VerbsException refused && refused.errno() == Errno.EADDRINUSE;
                if (!isTaken || options.first().getPort() != 0 || tries == PORTS) {
                    throw t;
                }
            }
        }
    }

    /** Takes the address of a device. Returns null if there is no device, or if the libraries of RDMA are missing. */
    private static @Nullable DevicePlace find(LinkOptions options, VerbsArena arena) {
        try {
            return DevicePlace.at(options, true, arena);
        } catch (RdmaUnavailableException noLibrary) {
            return null;
        } catch (VerbsException refused) {
            if (refused.errno() == Errno.ENODEV || refused.errno() == Errno.ENOENT) {
                return null;
            }
            throw refused;
        }
    }

    @Override
    public long pinnedBytes() {
        return rdma.pinnedBytes();
    }

    @Override
    public List<InetSocketAddress> addresses() {
        return rdma.addresses();
    }

    @Override
    public Context context() {
        return rdma.context();
    }

    @Override
    public String device() {
        return rdma.isOverTcp() ? rdma.device() : rdma.device() + " and TCP";
    }

    @Override
    public boolean hasKeysOfChannels() {
        return rdma.hasKeysOfChannels();
    }

    @Override
    public Set<AccessFlag> rightsToExport(Set<AccessFlag> access) {
        return rdma.rightsToExport(access);
    }

    @Override
    public MemoryRegion register(MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        return adopted(rdma.register(memory, access, arena));
    }

    @Override
    public MemoryRegion register(RegionOptions options, VerbsArena arena) {
        return adopted(rdma.register(options, arena));
    }

    private MemoryRegion adopted(MemoryRegion region) {
        try {
            tcp.adopt(region);
        } catch (Throwable t) {
            region.close();
            throw t;
        }
        return region;
    }

    @Override
    public void start() {
        rdma.start();
        tcp.start();
    }

    @Override
    public int poll() {
        return rdma.poll() + tcp.poll();
    }

    @Override
    public <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        return rdma.await(attempt, timeout);
    }

    @Override
    public void wake() {
        rdma.wake();
    }

    @Override
    public void close() {
        tcp.close();
        rdma.close();
    }

    // Connecting

    @Override
    public Attempt attempt() {
        return rdma.isOverTcp() ? new ByRdma(true) : new Asking();
    }

    @Override
    public void connect(LinkOwner owner, Ways.Way way) {
        throw new IllegalStateException("A connection belongs to one of the two transports");
    }

    /** Asks the peer by TCP if it has RDMA too. A peer that does not, stays connected by TCP. */
    private final class Asking implements Attempt {
        @Override
        public void begin(LinkOwner owner, InetSocketAddress peer) {
            tcp.connect(owner, new Ways.Way(0, peer), true);
        }

        @Override
        public Duration patience() {
            return ASKING_TIME;
        }

        @Override
        public @Nullable Attempt next(Carrier.@Nullable Connection failed, boolean late, boolean unreachable) {
            if (!(failed instanceof TcpStream stream)) {
                return null;
            }
            boolean answered = stream.isRedirected();
            return answered || late || stream.unreachable ? new ByRdma(answered || late) : null;
        }
    }

    /** Connects by RDMA. What the peer refuses is final, and so is a peer that does not answer. */
    private final class ByRdma implements Attempt {
        private final boolean orTcp;

        /**
         * Makes the step.
         *
         * @param orTcp true to try TCP where no device leads, or where nobody listens by RDMA
         */
        private ByRdma(boolean orTcp) {
            this.orTcp = orTcp;
        }

        @Override
        public void begin(LinkOwner owner, InetSocketAddress peer) {
            rdma.connect(owner, new Ways.Way(0, peer));
        }

        @Override
        public @Nullable Attempt next(Carrier.@Nullable Connection failed, boolean late, boolean unreachable) {
            if (failed != null && failed.isRedirected()) {
                return this;
            }
            boolean nobody = failed instanceof RdmaCarrier.IdConnection connection && connection.nobody;
            return orTcp && nobody ? tcp.attempt() : null;
        }
    }
}

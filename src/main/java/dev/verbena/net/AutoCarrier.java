package dev.verbena.net;

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
final class AutoCarrier extends Carrier {
    /** The longest time to wait for the answer by TCP: packets to a TCP port may be dropped where RDMA works. */
    private static final Duration ASKING_TIME = Duration.ofSeconds(3);

    /** The number of ports to try when RDMA or TCP has taken one that the other has chosen. */
    private static final int PORTS = 16;

    private final RdmaCarrier rdma;
    final TcpCarrier tcp;

    private AutoCarrier(RdmaCarrier rdma, TcpCarrier tcp) throws IOException {
        this.rdma = rdma;
        this.tcp = tcp;
        tcp.standBeside(rdma);
    }

    /** Makes the transports of a node: only TCP if no device has the address, or if the libraries of RDMA are missing. */
    static Carrier open(Engine engine, InetSocketAddress own, NodeOptions options, VerbsArena arena) {
        for (int tries = 1; ; tries++) {
            TcpCarrier tcp = new TcpCarrier(engine, own, options, arena);
            try {
                RdmaCarrier.Place place = find(tcp.address(), options, arena);
                return place == null ? tcp : new AutoCarrier(new RdmaCarrier(engine, place, options, arena), tcp);
            } catch (IOException failure) {
                tcp.close();
                throw new UncheckedIOException(failure);
            } catch (Throwable t) {
                tcp.close();
                boolean isTaken = t instanceof VerbsException refused && refused.errno() == Errno.EADDRINUSE;
                if (!isTaken || own.getPort() != 0 || tries == PORTS) {
                    throw t;
                }
            }
        }
    }

    /** Takes the address of a device. Returns null if there is no device, or if the libraries of RDMA are missing. */
    private static RdmaCarrier.@Nullable Place find(InetSocketAddress own, NodeOptions options, VerbsArena arena) {
        try {
            return RdmaCarrier.Place.at(own, options, arena);
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
    long pinnedBytes() {
        return rdma.pinnedBytes();
    }

    @Override
    List<InetSocketAddress> addresses() {
        return rdma.addresses();
    }

    @Override
    Context context() {
        return rdma.context();
    }

    @Override
    String device() {
        return rdma.isOverTcp() ? rdma.device() : rdma.device() + " and TCP";
    }

    @Override
    boolean hasKeysOfChannels() {
        return rdma.hasKeysOfChannels();
    }

    @Override
    Set<AccessFlag> rightsToExport(Set<AccessFlag> access) {
        return rdma.rightsToExport(access);
    }

    @Override
    public MemoryRegion register(MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        return adopted(rdma.register(memory, access, arena));
    }

    @Override
    MemoryRegion register(RegionOptions options, VerbsArena arena) {
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
    void start() {
        rdma.start();
        tcp.start();
    }

    @Override
    int poll() {
        return rdma.poll() + tcp.poll();
    }

    @Override
    <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout) throws InterruptedException {
        return rdma.await(attempt, timeout);
    }

    @Override
    void wake() {
        rdma.wake();
    }

    @Override
    void close() {
        tcp.close();
        rdma.close();
    }

    // Connecting

    @Override
    Attempt attempt() {
        return rdma.isOverTcp() ? new ByRdma(true) : new Asking();
    }

    @Override
    void connect(Rail rail, Ways.Way way) {
        throw new IllegalStateException("A connection belongs to one of the two transports");
    }

    /** Asks the peer by TCP if it has RDMA too. A peer that does not, stays connected by TCP. */
    private final class Asking implements Attempt {
        @Override
        public void begin(Session session) {
            tcp.connect(session.rail, new Ways.Way(0, session.peer), true);
        }

        @Override
        public Duration patience() {
            return ASKING_TIME;
        }

        @Override
        public @Nullable Attempt next(Session failed, boolean late) {
            if (!(failed.rail.connection() instanceof TcpStream stream)) {
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
        public void begin(Session session) {
            rdma.connect(session.rail, new Ways.Way(0, session.peer));
        }

        @Override
        public @Nullable Attempt next(Session failed, boolean late) {
            boolean nobody =
                    failed.rail.connection() instanceof RdmaCarrier.IdConnection connection && connection.nobody;
            return orTcp && nobody ? tcp.attempt() : null;
        }
    }
}

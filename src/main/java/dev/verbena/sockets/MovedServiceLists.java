package dev.verbena.sockets;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.SystemCallException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The room that librdmacm's service threads have for sockets.
 *
 * <p>Before rdma-core 53, and its late updates of older releases, a service thread goes on using its list of sockets after
 * the list has been moved to make room, which corrupts the memory of the process. No function tells releases 53 to 58 from
 * older ones, so they are treated alike. A thread that starts makes room for four more sockets than the last one had, and it
 * ends when its last socket is closed. So this class opens and closes a socket many times, before any other is opened, until
 * there is room for all that a program may open. It refuses more.
 */
final class MovedServiceLists {
    /** The system property with the most sockets of a process, for releases of rdma-core that need a limit. */
    static final String LIMIT_PROPERTY = "dev.verbena.sockets.limit";

    private static final int DEFAULT_LIMIT = 255;
    private static final int LISTENERS = 31;

    /** The entries that a starting thread adds. One of them is the thread's own. */
    private static final int GROWTH = 4;

    private static final AtomicInteger CONNECTIONS = new AtomicInteger();
    private static final AtomicInteger LISTENING = new AtomicInteger();

    private static final Mutex PREPARING = new Mutex();

    /** The room for connected sockets and for listeners; 0 before there is any. To make it can be tried again. */
    private static volatile int connectionRoom;

    private static volatile int listenerRoom;

    private static int room(int wanted, boolean listen) throws IOException {
        return RdmaCoreVersion.V59.isInstalled() ? Integer.MAX_VALUE : grow(wanted, listen);
    }

    private MovedServiceLists() {}

    private static int limit() {
        return Integer.getInteger(LIMIT_PROPERTY, DEFAULT_LIMIT);
    }

    /** Makes room, before the first socket is opened. */
    static void prepare() throws IOException {
        if (connectionRoom == 0) {
            try (var _ = PREPARING.held()) {
                if (connectionRoom == 0) { // some 200 microseconds for each four sockets
                    connectionRoom = room(limit(), false);
                }
            }
        }
    }

    private static int listenerRoom() throws IOException {
        if (listenerRoom == 0) {
            try (var _ = PREPARING.held()) {
                if (listenerRoom == 0) {
                    listenerRoom = room(LISTENERS, true);
                }
            }
        }
        return listenerRoom;
    }

    /** Counts a socket that is about to be connected or was accepted. */
    static void addConnection() throws IOException {
        add(CONNECTIONS, connectionRoom, "connected sockets");
    }

    static void removeConnection() {
        CONNECTIONS.decrementAndGet();
    }

    /** Counts a socket that is about to listen. */
    static void addListener() throws IOException {
        add(LISTENING, listenerRoom(), "listening sockets");
    }

    static void removeListener() {
        LISTENING.decrementAndGet();
    }

    private static void add(AtomicInteger counter, int limit, String what) throws IOException {
        if (counter.incrementAndGet() > limit) {
            counter.decrementAndGet();
            throw new SocketException(
                    "This process has " + limit + " " + what + " over RDMA. More would corrupt memory in "
                            + "this release of librdmacm: install rdma-core 59 or newer, or raise the limit of connected sockets "
                            + "with -D" + LIMIT_PROPERTY + "=NUMBER");
        }
    }

    /** Opens and closes sockets until there is room. Returns the number of sockets there is room for. */
    private static int grow(int wanted, boolean listen) throws IOException {
        int room = GROWTH - 1; // what the first thread will have
        try (Arena scratch = Arena.ofConfined();
                FullPipe pipe = FullPipe.open()) {
            InetSocketAddress any =
                    new InetSocketAddress(AddressRules.FOUR.forBind(null).getAddress(), 0);
            MemorySegment address = IpAddresses.write(any, scratch);
            while (room < wanted && startThread(address.address(), IpAddresses.length(any), listen ? null : pipe)) {
                room += GROWTH;
            }
            return room;
        } catch (SystemCallException refused) {
            throw SocketFailures.of(refused.call(), refused.errno());
        }
    }

    /**
     * Has a service thread start and end. Returns false if none started.
     *
     * @param pipe what keeps a connect in progress; null to listen
     */
    private static boolean startThread(long address, int length, @Nullable FullPipe pipe) throws IOException {
        int socket = Rsocket.open(IpAddresses.INET);
        if (socket < 0) {
            throw SocketFailures.of("rsocket", CFunction.errno());
        }
        try {
            return pipe == null
                    ? (int) Rsocket.BIND.call(socket, address, length) == 0 && (int) Rsocket.LISTEN.call(socket, 1) == 0
                    : connects(socket, address, length, pipe);
        } finally {
            Rsocket.CLOSE.call(socket);
        }
    }

    /**
     * Begins a connect that stays in progress, for a service thread takes over only such a one. The number of an rsocket is
     * that of the descriptor by which librdmacm tells the kernel what to do. While the full pipe has that number, the kernel
     * hears nothing, and librdmacm takes its EAGAIN for the begin of a connect. So nothing is sent, and it does not matter
     * which addresses this machine has, or how fast its kernel answers.
     */
    private static boolean connects(int socket, long address, int length, FullPipe pipe) {
        int kernel = pipe.replace(socket);
        try {
            return (int) Rsocket.CONNECT.call(socket, address, length) != 0 && CFunction.errno() == Errno.EINPROGRESS;
        } finally {
            pipe.restore(kernel, socket);
        }
    }
}

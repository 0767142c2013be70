package dev.verbena.sockets;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.OpenFiles;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.Rsocket;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.List;
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

    /** The connects to an address that may fail at once, one after another, before another address is tried. */
    private static final int FAILURES = 4;

    private static final int PORT = 9;
    private static final int ACCEPT_MILLISECONDS = 10;
    private static final byte LAST_HOST = (byte) 254;
    private static final int STREAM = 1;

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
                if (connectionRoom == 0) { // a few hundred microseconds for each four sockets
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
        if (listen) {
            return grow(
                    room,
                    wanted,
                    new InetSocketAddress(AddressRules.FOUR.forBind(null).getAddress(), 0),
                    true,
                    null);
        }
        room = grow(room, wanted, new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT), false, null);
        List<InetAddress> own = own();
        for (InetAddress address : own) {
            room = grow(room, wanted, new InetSocketAddress(address, PORT), false, null);
        }
        for (InetAddress address : room < wanted ? own : List.<InetAddress>of()) {
            try (ServerSocket server = new ServerSocket(0, 1, address)) {
                server.setSoTimeout(ACCEPT_MILLISECONDS);
                room = grow(room, wanted, new InetSocketAddress(address, server.getLocalPort()), false, server);
            } catch (IOException e) {
                // the other addresses are left
            }
        }
        for (InetAddress address : own) {
            room = grow(room, wanted, new InetSocketAddress(beside(address), PORT), false, null);
        }
        return room;
    }

    /** Opens and closes sockets until there is room, or until too many fail at once. Returns the room then. */
    private static int grow(int before, int wanted, InetSocketAddress to, boolean listen, @Nullable ServerSocket server)
            throws IOException {
        int room = before;
        int failures = 0;
        try (Arena scratch = Arena.ofConfined()) {
            long address = IpAddresses.write(to, scratch).address();
            while (room < wanted && failures < FAILURES) {
                if (startThread(address, IpAddresses.length(to), listen, server)) {
                    room += GROWTH;
                    failures = 0;
                } else {
                    failures++;
                }
            }
        }
        return room;
    }

    /**
     * Returns this machine's addresses, but for those of the loopback interface.
     *
     * <p>A connect over RDMA must be in progress for a moment. To the loopback address, the kernel resolves it, finds no
     * device, and sends nothing. But with one processor, its answer is there before C looks for it, and the connect fails at
     * once. One to this machine's own addresses takes a little longer, but over iWARP it fails at once too, unless there is a
     * TCP server: then it waits for an answer over iWARP. One to the addresses beside them takes longest, and only that may
     * send ARP requests.
     */
    private static List<InetAddress> own() {
        try {
            return NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .filter(address -> !address.isLoopbackAddress())
                    .toList();
        } catch (SocketException e) {
            return List.of(); // the loopback address is left
        }
    }

    private static InetAddress beside(InetAddress address) {
        byte[] bytes = address.getAddress();
        bytes[bytes.length - 1] += (byte) (bytes[bytes.length - 1] == LAST_HOST ? -1 : 1);
        try {
            return address instanceof Inet6Address six
                    ? Inet6Address.getByAddress(null, bytes, six.getScopeId())
                    : InetAddress.getByAddress(bytes);
        } catch (UnknownHostException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /**
     * Has a service thread start and end. Returns false if none started, as when a connect fails at once.
     *
     * @param server the TCP server of the address, or null. It ends the connect, which would wait for ten seconds
     * @throws SocketException if this process has too many open files, which may be over soon
     */
    private static boolean startThread(long address, int length, boolean listen, @Nullable ServerSocket server)
            throws SocketException {
        int socket = (int) Rsocket.SOCKET.call(IpAddresses.INET, STREAM, 0);
        if (socket < 0) {
            int errno = CFunction.errno();
            if (OpenFiles.areTooMany(errno)) {
                throw new SocketException("rsocket: " + Errno.describe(errno) + ". " + OpenFiles.hint(errno));
            }
            return false;
        }
        Rsocket.setNonBlocking(socket, true);
        boolean started = listen
                ? (int) Rsocket.BIND.call(socket, address, length) == 0 && (int) Rsocket.LISTEN.call(socket, 1) == 0
                : (int) Rsocket.CONNECT.call(socket, address, length) != 0 && CFunction.errno() == Errno.EINPROGRESS;
        if (started && server != null) {
            try {
                server.accept().close();
            } catch (IOException notOverTcp) {
                // as over RoCE
            }
        }
        Rsocket.CLOSE.call(socket);
        return started;
    }
}

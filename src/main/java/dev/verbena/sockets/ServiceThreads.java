package dev.verbena.sockets;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.Rsocket;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The room that librdmacm's service threads have for sockets.
 *
 * <p>Before rdma-core 55, a service thread goes on using its list of sockets after the list has been moved to make room,
 * which corrupts the memory of the process. But a thread that starts makes room for four more sockets than the last one
 * had, and it ends when its last socket is closed. So this class opens and closes a socket many times, before any other
 * is opened, until there is room for all that a program may open. It refuses more.
 */
final class ServiceThreads {
    /** The system property with the most sockets of a process, for releases of rdma-core that need a limit. */
    static final String LIMIT_PROPERTY = "dev.verbena.sockets.limit";

    private static final int DEFAULT_LIMIT = 255;
    private static final int LISTENERS = 31;

    /** The entries that a starting thread adds. One of them is the thread's own. */
    private static final int GROWTH = 4;

    /** The connects to an address that may fail at once, one after another, before another address is tried. */
    private static final int FAILURES = 4;

    private static final int PORT = 9;
    private static final byte LAST_HOST = (byte) 254;
    private static final int INET = IpAddresses.INET;
    private static final int STREAM = 1;
    private static final int SET_FLAGS = 4;
    private static final int NON_BLOCKING = 04000;

    private static final AtomicInteger CONNECTIONS = new AtomicInteger();
    private static final AtomicInteger LISTENING = new AtomicInteger();

    /** Holds the room for connected sockets. To prepare takes a few hundred microseconds for each four of them. */
    private static final class Room {
        static final int CONNECTIONS = room(limit(), false);
    }

    /** Holds the room for listeners. */
    private static final class ListenerRoom {
        static final int LISTENERS = room(ServiceThreads.LISTENERS, true);
    }

    private static int room(int wanted, boolean listen) {
        return RdmaCoreVersion.V59.isInstalled() ? Integer.MAX_VALUE : grow(wanted, listen);
    }

    private ServiceThreads() {}

    private static int limit() {
        return Integer.getInteger(LIMIT_PROPERTY, DEFAULT_LIMIT);
    }

    /** Makes room, before the first socket is opened. */
    static void prepare() {
        if (Room.CONNECTIONS < 1) {
            throw new AssertionError("no room");
        }
    }

    /** Counts a socket that is about to be connected or was accepted. */
    static void addConnection() throws IOException {
        add(CONNECTIONS, Room.CONNECTIONS, "connected sockets");
    }

    static void removeConnection() {
        CONNECTIONS.decrementAndGet();
    }

    /** Counts a socket that is about to listen. */
    static void addListener() throws IOException {
        add(LISTENING, ListenerRoom.LISTENERS, "listening sockets");
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
    private static int grow(int wanted, boolean listen) {
        int room = GROWTH - 1; // what the first thread will have
        for (InetAddress candidate :
                listen ? List.of(AddressRules.FOUR.forBind(null).getAddress()) : candidates()) {
            try (Arena scratch = Arena.ofConfined()) {
                InetSocketAddress address = new InetSocketAddress(candidate, listen ? 0 : PORT);
                long c = IpAddresses.write(address, scratch).address();
                int failures = 0;
                while (room < wanted && failures < FAILURES) {
                    if (startThread(c, IpAddresses.length(address), listen)) {
                        room += GROWTH;
                        failures = 0;
                    } else {
                        failures++;
                    }
                }
            }
        }
        return room;
    }

    /**
     * Returns addresses to which a connect over RDMA is in progress for a moment.
     *
     * <p>The loopback address comes first: the kernel resolves it, finds no device, and sends nothing. But with one
     * processor, its answer is there before C looks for it, and the connect fails at once. This machine's own addresses
     * take a little longer. The addresses beside them take longest, and only they may send ARP requests.
     */
    private static List<InetAddress> candidates() {
        List<InetAddress> all = new ArrayList<>();
        all.add(InetAddress.getLoopbackAddress());
        try {
            List<InetAddress> own = NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .filter(address -> !address.isLoopbackAddress())
                    .toList();
            all.addAll(own);
            own.stream().map(ServiceThreads::beside).forEach(all::add);
        } catch (SocketException e) {
            // the loopback address is left
        }
        return all;
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

    /** Has a service thread start and end. Returns false if none started, as when a connect fails at once. */
    private static boolean startThread(long address, int length, boolean listen) {
        int socket = (int) Rsocket.SOCKET.call(INET, STREAM, 0);
        if (socket < 0) {
            return false;
        }
        Rsocket.CONTROL.call(socket, SET_FLAGS, NON_BLOCKING);
        boolean started = listen
                ? (int) Rsocket.BIND.call(socket, address, length) == 0 && (int) Rsocket.LISTEN.call(socket, 1) == 0
                : (int) Rsocket.CONNECT.call(socket, address, length) != 0 && CFunction.errno() == Errno.EINPROGRESS;
        Rsocket.CLOSE.call(socket);
        return started;
    }
}

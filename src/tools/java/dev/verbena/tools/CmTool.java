package dev.verbena.tools;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.IbAddress;
import dev.verbena.cm.PortSpace;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.Grh;
import java.io.PrintStream;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What {@code ucmatose}, {@code udaddy} and {@code mckey} share: some connections, some messages over each. */
abstract class CmTool {
    /** How long a peer that has begun may take for its next step. */
    static final Duration PATIENCE = Duration.ofSeconds(60);

    /** How long a server waits for its clients: until somebody ends it. */
    static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);

    private static final int MAX = 1 << 15;

    /** How long a look-up of an address or a route may take. */
    static final Duration RESOLVING = Duration.ofSeconds(2);

    final Options options;
    final int connections;
    final int messages;
    final int size;

    private final String name;
    private final PrintStream out;
    private @Nullable EventChannel channel;
    private final Map<ConnectionId, CmNode> nodes = new LinkedHashMap<>();

    CmTool(String name, Options options, PrintStream out) {
        this.name = name;
        this.options = options;
        this.out = out;
        connections = options.number("-c", 1, 1, MAX);
        messages = options.number("-C", 10, 0, MAX);
        size = options.number("-S", 100, 1, Integer.MAX_VALUE - Grh.BYTES);
    }

    /** The end of what was being done, by an event that has been told already. */
    private static final class Ended extends Exception {
        private static final long serialVersionUID = 1L;
        private final int status;

        Ended(CmEvent event) {
            super(event.type().meaning());
            status = event.status() == 0 ? -1 : event.status();
        }
    }

    /** Does it all, and answers the exit status. */
    final int run() throws Exception {
        int status = 0;
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            channel = EventChannel.create(arena);
            work();
        } catch (Ended e) {
            status = e.status;
        } catch (VerbsException | IllegalArgumentException e) {
            end(-1);
            throw e;
        }
        end(status);
        return status == 0 ? Main.OK : Main.FAILED;
    }

    private void end(int status) {
        print("test complete");
        print("return status " + status);
    }

    abstract void work() throws Exception;

    final void print(String line) {
        out.println(line);
    }

    final void say(String what) {
        print(name + ": " + what);
    }

    // Addresses

    /** What the connections are for. */
    abstract PortSpace space();

    /** A host in the format of {@code -f}. */
    final SocketAddress address(String host, int port) {
        try {
            return switch (options.text("-f", "name")) {
                case "name" -> new InetSocketAddress(InetAddress.getByName(host), port);
                case "ip" -> new InetSocketAddress(literal(host, Inet4Address.class), port);
                case "ipv6" -> new InetSocketAddress(literal(host, Inet6Address.class), port);
                case "gid" -> IbAddress.of(Gid.parse(host), space(), port);
                default -> throw options.usage("-f is name, ip, ipv6 or gid");
            };
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("nobody knows the address of '" + host + "'", e);
        }
    }

    /** Names are not looked up: an address starts with a digit, or has a colon. */
    private static InetAddress literal(String host, Class<? extends InetAddress> kind) throws UnknownHostException {
        if (host.isEmpty() || Character.digit(host.charAt(0), 16) < 0 && host.indexOf(':') < 0) {
            throw new IllegalArgumentException("'" + host + "' is no address: say -f name");
        }
        InetAddress found = InetAddress.getByName(host);
        if (!kind.isInstance(found)) {
            throw new IllegalArgumentException("'" + host + "' is an address of another format than -f says");
        }
        return found;
    }

    /** The own address of {@code -b}, if it was given. */
    final @Nullable SocketAddress own(int port) {
        return options.has("-b") ? address(options.text("-b", ""), port) : null;
    }

    /** Where a server listens: everywhere, if not told otherwise. */
    final SocketAddress place(int port) {
        SocketAddress own = own(port);
        return own == null ? new InetSocketAddress(port) : own;
    }

    /** The port space of {@code -p}, a number as C reads it, or else another. */
    final PortSpace datagramSpace(int otherwise) {
        int code = options.number("-p", otherwise);
        for (PortSpace space : List.of(PortSpace.UDP, PortSpace.IPOIB)) {
            if (space.code() == code) {
                return space;
            }
        }
        throw options.usage("-p is 0x111 or 0x2");
    }

    // Events

    final ConnectionId newId() {
        ConnectionId id = channel().createId(space());
        if (options.has("-t")) {
            id.typeOfService(options.number("-t", 0));
        }
        return id;
    }

    final EventChannel channel() {
        if (channel == null) {
            throw new IllegalStateException("not running");
        }
        return channel;
    }

    /** Has the events of all connections reported elsewhere from now on. */
    final void moveToNewChannel() {
        EventChannel to = EventChannel.create(channel().arena());
        nodes().forEach(node -> node.id.migrate(to));
        channel = to;
    }

    /** The next event of any connection. */
    final CmEvent next(Duration timeout) throws InterruptedException {
        return channel().await(timeout);
    }

    /** Ends the tool with an event that is none of those it waits for. */
    final Exception ended(CmEvent event) {
        String reason = switch (event) {
            case CmEvent.Rejected rejected -> " (" + rejected.reason() + ")";
            case CmEvent.Failure failure -> " (" + failure.reason() + ")";
            default -> " (" + event.type().meaning() + ")";
        };
        say("event: " + event.type().cName() + ", error: " + event.status() + reason);
        return new Ended(event);
    }

    // Connections

    final CmNode node(ConnectionId id) {
        CmNode node = nodes.get(id);
        if (node == null) {
            throw new IllegalStateException(id + " was not made ready");
        }
        return node;
    }

    final Collection<CmNode> nodes() {
        return nodes.values();
    }

    /** What queue pair a connection has. */
    abstract QueuePairOptions queuePair(CompletionQueue sends, CompletionQueue receives);

    /** Makes what a connection needs, once its id has a device, and posts all its receives. */
    final CmNode makeReady(ConnectionId id) {
        CmNode node = new CmNode(this, id);
        nodes.put(id, node);
        node.postReceives();
        return node;
    }
}

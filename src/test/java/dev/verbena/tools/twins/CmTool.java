package dev.verbena.tools.twins;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.IbAddress;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
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

/** Base of {@code ucmatose}, {@code udaddy} and {@code mckey}: makes connections and moves messages over each. */
abstract class CmTool {
    private static final int MAX = 1 << 15;

    /** Time limit for resolving an address or a route. */
    static final Duration RESOLVING = Duration.ofSeconds(2);

    final Options options;
    final int connections;
    final int messages;
    final int size;

    private final String name;
    private final PrintStream out;
    private final AddressFormat format;
    private final int typeOfService;
    private @Nullable EventChannel channel;
    private final Map<ConnectionId, CmNode> nodes = new LinkedHashMap<>();

    /** The formats of {@code -f}. */
    private enum AddressFormat {
        /** A host name, or an IPv4 or IPv6 address. */
        NAME,
        /** An IPv4 address. */
        IP,
        /** An IPv6 address. */
        IPV6,
        /** A GID. */
        GID
    }

    /** Checks the options of all these tools, before any of them is used. Each tool checks its own. */
    CmTool(String name, Options options, PrintStream out) {
        this.name = name;
        this.options = options;
        this.out = out;
        connections = options.number("-c", 1, 1, MAX);
        messages = options.number("-C", 10, 0, MAX);
        size = options.number("-S", 100, 1, Integer.MAX_VALUE - Grh.BYTES);
        typeOfService = options.number("-t", 0, 0, 255);
        format = switch (options.text("-f", "name")) {
            case "name" -> AddressFormat.NAME;
            case "ip" -> AddressFormat.IP;
            case "ipv6" -> AddressFormat.IPV6;
            case "gid" -> AddressFormat.GID;
            default -> throw options.usage("-f must be name, ip, ipv6 or gid");
        };
        checkAddress("-b");
        if (!options.text("-s", "").isEmpty()) {
            checkAddress("-s");
        }
    }

    /** Checks the address that an option gives, as far as that needs no look-up. */
    private void checkAddress(String option) {
        if (!options.has(option)) {
            return;
        }
        String host = options.text(option, "");
        try {
            switch (format) {
                case NAME -> {}
                case IP -> literal(host, Inet4Address.class);
                case IPV6 -> literal(host, Inet6Address.class);
                case GID -> Gid.parse(host);
            }
        } catch (IllegalArgumentException e) {
            throw options.usage(option + ": " + e.getMessage());
        }
    }

    /** Signals an event that ends the tool and has been reported already. */
    private static final class Ended extends Exception {
        private static final long serialVersionUID = 1L;
        private final int status;

        Ended(CmEvent event) {
            super(event.type().meaning());
            status = event.status() == 0 ? -1 : event.status();
        }
    }

    /** Runs the tool and returns the exit status. */
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
        return status == 0 ? Tool.OK : Tool.FAILED;
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

    /** Returns the port space of the connections. */
    abstract PortSpace space();

    /** Returns the address of a host that is given in the format of {@code -f}. */
    final SocketAddress address(String host, int port) {
        try {
            return switch (format) {
                case NAME -> new InetSocketAddress(InetAddress.getByName(host), port);
                case IP -> new InetSocketAddress(literal(host, Inet4Address.class), port);
                case IPV6 -> new InetSocketAddress(literal(host, Inet6Address.class), port);
                case GID -> IbAddress.of(Gid.parse(host), space(), port);
            };
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("host '" + host + "' not found", e);
        }
    }

    /** Parses a numeric address without a look-up. */
    private static InetAddress literal(String host, Class<? extends InetAddress> kind) {
        InetAddress found;
        try {
            found = InetAddress.ofLiteral(host);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "'" + host + "' is not an address: give -f name to look up a host name", e);
        }
        if (!kind.isInstance(found)) {
            throw new IllegalArgumentException("address '" + host + "' does not have the format given by -f");
        }
        return found;
    }

    /** Returns the local address of {@code -b}, or null if there is none. */
    final @Nullable SocketAddress own(int port) {
        return options.has("-b") ? address(options.text("-b", ""), port) : null;
    }

    /** Returns the address on which a server listens: the one of {@code -b}, or else any. */
    final SocketAddress place(int port) {
        SocketAddress own = own(port);
        return own == null ? new InetSocketAddress(port) : own;
    }

    /** Returns the port space whose number {@code -p} gives, or else the one with the number {@code otherwise}. */
    final PortSpace datagramSpace(int otherwise) {
        int code = options.number("-p", otherwise, 0, 0xffff);
        for (PortSpace space : List.of(PortSpace.UDP, PortSpace.IPOIB)) {
            if (space.code() == code) {
                return space;
            }
        }
        throw options.usage("-p must be 0x111 or 0x2");
    }

    // Events

    final ConnectionId newId() {
        ConnectionId id = channel().createId(space());
        if (options.has("-t")) {
            id.typeOfService(typeOfService);
        }
        return id;
    }

    final EventChannel channel() {
        if (channel == null) {
            throw new IllegalStateException("not running");
        }
        return channel;
    }

    /** Migrates all connections to a new event channel. */
    final void moveToNewChannel() {
        EventChannel to = EventChannel.create(channel().arena());
        nodes().forEach(node -> node.id.migrate(to));
        channel = to;
    }

    /** Waits for the next event of any connection. */
    final CmEvent next(Duration timeout) throws InterruptedException {
        return channel().awaitEvent(timeout);
    }

    /** Reports an unexpected event and returns the exception that ends the tool. */
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
            throw new IllegalStateException("no queues were made for " + id);
        }
        return node;
    }

    final Collection<CmNode> nodes() {
        return nodes.values();
    }

    /** Returns the options of a connection's queue pair. */
    abstract QueuePairOptions queuePair(CompletionQueue sends, CompletionQueue receives);

    /** Makes the queues and buffers of an id that is bound to a device, and posts all receives. */
    final CmNode makeReady(ConnectionId id) {
        CmNode node = new CmNode(this, id);
        nodes.put(id, node);
        node.postReceives();
        return node;
    }
}

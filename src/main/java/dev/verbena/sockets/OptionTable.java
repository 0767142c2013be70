package dev.verbena.sockets;

import dev.verbena.internal.Checks;
import java.io.IOException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;

/** The options of a kind of channel, with their numbers in C and the ranges of their values. */
final class OptionTable {
    private static final int SOCKET = SocketDescriptor.SOCKET_LEVEL;
    private static final int TCP = 6;
    private static final int RDMA = 0x10000;
    private static final int LINGER = 13;
    private static final int LARGEST_QUEUE = 65_534;
    private static final int LARGEST_MAP = 32_767;
    private static final int LARGEST_LINGER = 65_535;
    private static final int LARGEST_TIME = 32_767; // of the kernel for TCP, too

    /** The smallest buffer: {@code rsend} sends only while it has 2048 bytes, and C doubles the value. */
    private static final int SMALLEST_BUFFER = 2048;

    /** The largest buffer: C doubles the value, and counts bytes with 29 bits. */
    private static final int LARGEST_BUFFER = 1 << 27;

    private enum Kind {
        FLAG,
        NUMBER,
        BUFFER,
        SECONDS
    }

    private record Entry(int level, int number, Kind kind, int smallest, int largest) {}

    private static final Map<SocketOption<?>, Entry> COMMON = Map.of(
            StandardSocketOptions.SO_RCVBUF, new Entry(SOCKET, SocketDescriptor.RECEIVE_BUFFER, Kind.BUFFER, 0, 0),
            StandardSocketOptions.SO_REUSEADDR, new Entry(SOCKET, 2, Kind.FLAG, 0, 1),
            RdmaSocketOptions.RDMA_SQSIZE, new Entry(RDMA, 0, Kind.NUMBER, 0, LARGEST_QUEUE),
            RdmaSocketOptions.RDMA_RQSIZE, new Entry(RDMA, 1, Kind.NUMBER, 0, LARGEST_QUEUE),
            RdmaSocketOptions.RDMA_INLINE, new Entry(RDMA, 2, Kind.NUMBER, 0, LARGEST_QUEUE),
            RdmaSocketOptions.RDMA_IOMAPSIZE, new Entry(RDMA, 3, Kind.NUMBER, 0, LARGEST_MAP));

    /** The options of a server channel. */
    static final OptionTable OF_SERVERS = new OptionTable(Map.of());

    /** The options of a socket channel. */
    static final OptionTable OF_SOCKETS = new OptionTable(Map.of(
            StandardSocketOptions.SO_SNDBUF, new Entry(SOCKET, SocketDescriptor.SEND_BUFFER, Kind.BUFFER, 0, 0),
            StandardSocketOptions.SO_KEEPALIVE, new Entry(SOCKET, 9, Kind.FLAG, 0, 1),
            ExtendedSocketOptions.TCP_KEEPIDLE, new Entry(TCP, 4, Kind.NUMBER, 1, LARGEST_TIME),
            StandardSocketOptions.SO_LINGER, new Entry(SOCKET, LINGER, Kind.SECONDS, -1, LARGEST_LINGER),
            StandardSocketOptions.TCP_NODELAY, new Entry(TCP, 1, Kind.FLAG, 0, 1)));

    private static final String KEEP_ALIVE =
            "TCP_KEEPIDLE is the time between two keep-alive messages, and the adapter's own retries tell a dead peer";

    /** The options of the JDK's channels over TCP that RDMA sockets do not have, by their names, with the reasons. */
    static final Map<String, String> REFUSED = Map.of(
            "TCP_KEEPIDLE", "set it at the channels that a server accepts",
            "TCP_KEEPINTERVAL", KEEP_ALIVE,
            "TCP_KEEPCOUNT", KEEP_ALIVE,
            "TCP_QUICKACK", "the adapter acknowledges data by itself",
            "SO_INCOMING_NAPI_ID", "no packet comes through the kernel's network stack",
            "SO_OOBINLINE", "there is no urgent data",
            "SO_REUSEPORT", "one server at a time listens at an address and port",
            "IP_TOS", "old releases of librdmacm do not take it");

    private final Map<SocketOption<?>, Entry> entries;

    private OptionTable(Map<SocketOption<?>, Entry> more) {
        entries = new LinkedHashMap<>(COMMON);
        entries.putAll(more);
    }

    Set<SocketOption<?>> names() {
        return Set.copyOf(entries.keySet());
    }

    private Entry entry(SocketOption<?> name) {
        Entry entry = entries.get(Objects.requireNonNull(name, "name"));
        if (entry == null) {
            String why = REFUSED.get(name.name());
            throw new UnsupportedOperationException("RDMA sockets have no option " + name
                    + (why == null ? " here, but " + entries.keySet() : ": " + why + ". Leave the option out"));
        }
        return entry;
    }

    /** Checks that the option exists. */
    void check(SocketOption<?> name) {
        entry(name);
    }

    /** Checks that the option exists and is of the type of the value. */
    void check(SocketOption<?> name, @Nullable Object value) {
        entry(name);
        if (!name.type().isInstance(value)) {
            throw new IllegalArgumentException(
                    "The value of " + name + " must be of " + name.type().getName() + ", got " + value);
        }
    }

    /** Sets an option. */
    void set(SocketDescriptor descriptor, SocketOption<?> name, Object value) throws IOException {
        Entry entry = entry(name);
        int first = switch (entry.kind) {
            case FLAG -> (boolean) value ? 1 : 0;
            case NUMBER -> Checks.checkRange(name.name(), (int) value, entry.smallest, entry.largest);
            case BUFFER ->
                Math.clamp(Checks.checkAtLeast(name.name(), (int) value, 0), SMALLEST_BUFFER, LARGEST_BUFFER);
            case SECONDS -> (int) value < 0 ? 0 : 1;
        };
        if (name == RdmaSocketOptions.RDMA_INLINE) {
            InlineDataLimits.check(first);
        }
        int second = entry.kind == Kind.SECONDS ? Math.min((int) value, entry.largest) : 0;
        int errno = descriptor.setOption(entry.level, entry.number, first, second);
        if (errno != 0) {
            throw SocketFailures.of("rsetsockopt(" + name + ", " + value + ")", errno);
        }
    }

    /** Returns an option's value, as an {@code Integer} or a {@code Boolean}. */
    Object get(SocketDescriptor descriptor, SocketOption<?> name) {
        Entry entry = entry(name);
        int value = descriptor.getOption(entry.level, entry.number);
        return switch (entry.kind) {
            case FLAG -> value != 0;
            case NUMBER, SECONDS -> value;
            case BUFFER -> value / 2; // as the JDK does for TCP: the kernel, and rsockets, double it
        };
    }
}

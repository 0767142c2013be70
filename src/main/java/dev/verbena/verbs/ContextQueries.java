package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Checks;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.internal.raw.ibv_gid_entry;
import dev.verbena.internal.raw.ibv_port_attr;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.QueuePairType;
import dev.verbena.verbs.device.access.DeviceAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The queries of an open device that its objects make too. The caller holds the context, or an object that depends on it.
 *
 * <p>A context of a confined arena belongs to one thread, but its objects may be of a shared arena. All threads may use
 * those, and so all threads may use this.
 */
final class ContextQueries {
    private final Device device;
    private final long address;

    /** The longest message of each port that was asked for. Unlike the rest of a port, it does not change. */
    private final ConcurrentHashMap<Integer, Long> longestMessages = new ConcurrentHashMap<>();

    ContextQueries(Device device, long address) {
        this.device = device;
        this.address = address;
    }

    Device.TransportType transport() {
        return device.transport();
    }

    int completionVectors() {
        return ibv_context.num_comp_vectors(MemorySegment.ofAddress(address).reinterpret(ibv_context.sizeof()));
    }

    DeviceAttributes attributes() {
        MemorySegment attributes = ibv_device_attr_ex.allocate(Arena.ofAuto());
        CFunction whole = ContextVerb.QUERY_DEVICE_EX.in(address);
        int result = whole.isPresent()
                ? (int) whole.call(address, 0, attributes.address(), attributes.byteSize())
                : Errno.EOPNOTSUPP;
        if (result == Errno.EOPNOTSUPP || result == Errno.ENOSYS) {
            attributes.fill((byte) 0);
            Calls.run(Ibv.QUERY_DEVICE, device.name(), address, attributes.address());
        } else if (result != 0) {
            throw Failures.failure(whole.name(), Failures.errnoOf(result), device.name(), "");
        }
        return DeviceAccess.get().attributes(attributes);
    }

    Port port(int number) {
        // The exported function fills an older, shorter struct: the rest must be zero.
        MemorySegment attributes = ibv_port_attr.allocate(Arena.ofAuto());
        CFunction whole = ContextVerb.QUERY_PORT.in(address);
        Checks.checkRange("port", number, 0xff);
        Calls.run(
                whole.isPresent() ? whole : Ibv.QUERY_PORT,
                device.name() + ", port " + number,
                errno -> errno == Errno.EINVAL
                        ? "Ports are numbered from 1 to " + attributes().ports()
                        : "",
                address,
                number,
                attributes.address(),
                attributes.byteSize()); // the exported function has no such parameter
        return DeviceAccess.get().port(device.name(), number, attributes);
    }

    /** Returns the length of the longest message of a transport at a port. A datagram is one packet. */
    long longestMessage(QueuePairType type, int number) {
        Long known = longestMessages.get(number);
        if (known != null && type != QueuePairType.UD) {
            return known;
        }
        Port port = port(number);
        longestMessages.put(number, port.maxMessageSize());
        return type == QueuePairType.UD ? port.activeMtu().bytes() : port.maxMessageSize();
    }

    List<Port> ports() {
        List<Port> ports = new ArrayList<>();
        int count = attributes().ports();
        for (int number = 1; number <= count; number++) {
            ports.add(port(number));
        }
        return List.copyOf(ports);
    }

    Gid gid(int port, int index) {
        try (Arena scratch = Arena.ofConfined()) {
            Checks.checkRange("port", port, 0xff);
            MemorySegment gid = scratch.allocate(Gid.BYTES, Long.BYTES);
            int result = (int) Ibv.QUERY_GID.call(address, port, index, gid.address());
            if (result != 0) {
                throw notInTable(Ibv.QUERY_GID, result, port, index);
            }
            return AddressCodec.readGid(gid, 0);
        }
    }

    List<GidEntry> gids() {
        int capacity = 0;
        for (Port port : ports()) {
            capacity += port.gidTableLength();
        }
        long size = ibv_gid_entry.sizeof();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment table = scratch.allocate(size * Math.max(1, capacity), Long.BYTES);
            long count = Calls.number(Ibv.QUERY_GID_TABLE, device.name(), address, table.address(), capacity, 0, size);
            List<GidEntry> entries = new ArrayList<>();
            for (long at = 0; at < count * size; at += size) {
                entries.add(AddressCodec.readGidEntry(table.asSlice(at, size)));
            }
            return List.copyOf(entries);
        }
    }

    GidEntry bestGid(int port) {
        GidEntry best = null;
        for (GidEntry entry : gids()) {
            if (entry.port() == port && !entry.gid().isZero() && (best == null || isBetter(entry, best))) {
                best = entry;
            }
        }
        if (best == null) {
            throw new NoSuchElementException("port " + port + " of " + device.name()
                    + " has no GID: its network device needs an IP address ('ip addr add ADDRESS/24 dev DEVICE')");
        }
        return best;
    }

    private static boolean isBetter(GidEntry entry, GidEntry other) {
        int rank = rank(entry);
        int otherRank = rank(other);
        return rank < otherRank || (rank == otherRank && entry.index() < other.index());
    }

    /** Ranks a GID: the lower the rank, the better the GID is for reaching its port. */
    private static int rank(GidEntry entry) {
        int kind = switch (entry.type()) {
            case ROCE_V2 -> 0;
            case IB -> 1;
            case ROCE_V1, UNKNOWN -> 2;
        };
        int address = entry.gid().isIpv4Mapped() ? 0 : entry.gid().isLinkLocal() ? 2 : 1;
        return kind * 3 + address;
    }

    /** Returns a hint for a queue that C did not make although its sizes are right; empty if there is none. */
    String crowded(boolean software) {
        return software && transport() == Device.TransportType.IWARP
                ? "The library of software iWARP makes no queue that would begin with the 145th page of all queues of a "
                        + "process: make fewer queues, or smaller ones"
                : "";
    }

    /** Returns the exception for an entry that a port's table does not have. */
    VerbsException notInTable(CFunction function, int result, int port, int index) {
        int errno = Failures.errnoOf(result);
        Port asked = port(port);
        int length = function == Ibv.QUERY_GID ? asked.gidTableLength() : asked.pkeyTableLength();
        return Failures.failure(
                function.name(),
                errno,
                device.name() + ", port " + port + ", index " + index,
                "This table has " + length + (length == 1 ? " entry" : " entries") + ", from index 0");
    }
}

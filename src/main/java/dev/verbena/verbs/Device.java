package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.Rdma;
import dev.verbena.RdmaUnavailableException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.raw.ibv_device;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.Guid;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.OptionalInt;

/**
 * An RDMA device of this machine ({@code struct ibv_device}). {@link #open} makes a context, which uses the device. A
 * device is an immutable value that needs no closing: all threads can use it.
 *
 * {@snippet file="DeviceSnippets.java" region="list"}
 */
public final class Device {
    private final String name;
    private final Guid guid;
    private final NodeType nodeType;
    private final TransportType transport;
    private final int index;
    private final String characterDevice;
    /** The folder below {@code /sys/class/infiniband}. */
    private final String folder;

    private Device(
            String name,
            Guid guid,
            NodeType nodeType,
            TransportType transport,
            int index,
            String characterDevice,
            String folder) {
        this.name = name;
        this.guid = guid;
        this.nodeType = nodeType;
        this.transport = transport;
        this.index = index;
        this.characterDevice = characterDevice;
        this.folder = folder;
    }

    /**
     * Returns the devices of this machine ({@code ibv_get_device_list}).
     *
     * @return the devices; an empty list on a machine without devices
     * @throws RdmaUnavailableException if rdma-core is missing or native access is not enabled
     */
    @CName({"ibv_get_device_list", "ibv_free_device_list"})
    public static List<Device> list() {
        try (Listed listed = new Listed()) {
            List<Device> devices = new ArrayList<>();
            for (int i = 0; i < listed.count; i++) {
                devices.add(read(listed.pointer(i)));
            }
            return List.copyOf(devices);
        }
    }

    /**
     * Returns the device with a name.
     *
     * @param name for example {@code mlx5_0} or {@code rxe0}
     * @return the device
     * @throws NoSuchElementException if no device has this name; the message lists the names
     * @throws RdmaUnavailableException if rdma-core is missing or native access is not enabled
     */
    public static Device named(String name) {
        Objects.requireNonNull(name, "name");
        List<Device> devices = list();
        for (Device device : devices) {
            if (device.name.equals(name)) {
                return device;
            }
        }
        throw new NoSuchElementException(noneNamed(name, devices));
    }

    /**
     * Returns the first device of this machine.
     *
     * @return the first device of {@link #list()}
     * @throws NoSuchElementException if this machine has no device
     * @throws RdmaUnavailableException if rdma-core is missing or native access is not enabled
     */
    public static Device first() {
        List<Device> devices = list();
        if (devices.isEmpty()) {
            throw new NoSuchElementException(NONE_HERE);
        }
        return devices.getFirst();
    }

    private static final String NONE_HERE =
            "this machine has no RDMA device. 'rdma link add rxe0 type rxe netdev eth0' makes a software one, as root";

    private static String noneNamed(String name, List<Device> devices) {
        return devices.isEmpty()
                ? "no RDMA device '" + name + "': " + NONE_HERE
                : "no RDMA device '" + name + "', there is: "
                        + String.join(", ", devices.stream().map(Device::name).toList());
    }

    /**
     * Returns a view of memory for reads. Reads through a layout, and of a string, take a program that lists the devices 25 ms
     * more of processor time, of 455 ms (fresh JVMs by turns on one core, 2026-11-25).
     */
    private static ByteBuffer view(MemorySegment memory) {
        return memory.asByteBuffer().order(ByteOrder.nativeOrder());
    }

    /** Returns the text before the first zero byte. */
    private static String text(MemorySegment array) {
        byte[] bytes = new byte[(int) array.byteSize()];
        view(array).get(bytes);
        int length = 0;
        while (length < bytes.length && bytes[length] != 0) {
            length++;
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    /** The device list of C, which is freed at the end. */
    private static final class Listed implements AutoCloseable {
        private final long list;
        private final int count;

        Listed() {
            Rdma.requireVerbs();
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment counted = arena.allocate(Integer.BYTES, Integer.BYTES);
                list = Ibv.GET_DEVICE_LIST.call(counted.address());
                if (list == 0 && !Errno.meansUnsupported(CFunction.errno())) { // as with a kernel without RDMA
                    throw new VerbsException(Ibv.GET_DEVICE_LIST.name(), "", CFunction.errno(), "");
                }
                count = list == 0 ? 0 : view(counted).getInt(0);
            }
        }

        long pointer(int index) {
            return view(MemorySegment.ofAddress(list).reinterpret((long) count * Long.BYTES))
                    .getLong(index * Long.BYTES);
        }

        @Override
        public void close() {
            if (list != 0) {
                Ibv.FREE_DEVICE_LIST.call(list);
            }
        }
    }

    /** Reads a {@code struct ibv_device}. */
    static Device read(long pointer) {
        MemorySegment device = MemorySegment.ofAddress(pointer).reinterpret(ibv_device.sizeof());
        ByteBuffer fields = view(device);
        return new Device(
                text(ibv_device.name(device)),
                new Guid(Long.reverseBytes(Ibv.GET_DEVICE_GUID.call(pointer))),
                NodeType.of(fields.getInt((int) ibv_device.node_type$offset())),
                TransportType.of(fields.getInt((int) ibv_device.transport_type$offset())),
                (int) Ibv.GET_DEVICE_INDEX.call(pointer),
                text(ibv_device.dev_name(device)),
                text(ibv_device.ibdev_path(device)));
    }

    /**
     * Opens the device ({@code ibv_open_device}).
     *
     * @param arena the arena that will close the context
     * @return the device's context
     * @throws VerbsException if the device can't be opened
     */
    @CName("ibv_open_device")
    public Context open(VerbsArena arena) {
        try (Listed listed = new Listed()) {
            for (int i = 0; i < listed.count; i++) {
                if (read(listed.pointer(i)).name.equals(name)) {
                    return Context.open(this, listed.pointer(i), arena);
                }
            }
        }
        throw new NoSuchElementException("the RDMA device '" + name + "' was removed");
    }

    /**
     * Returns the name ({@code ibv_get_device_name}).
     *
     * @return for example {@code mlx5_0} or {@code rxe0}
     */
    @CName("ibv_get_device_name")
    public String name() {
        return name;
    }

    /**
     * Returns the node's GUID ({@code ibv_get_device_guid}).
     *
     * @return the GUID
     */
    @CName("ibv_get_device_guid")
    public Guid guid() {
        return guid;
    }

    /**
     * Returns the kernel's number for the device ({@code ibv_get_device_index}). The number stays when the device is
     * renamed.
     *
     * @return the number; empty if the kernel reports none
     */
    @CName("ibv_get_device_index")
    public OptionalInt index() {
        return index < 0 ? OptionalInt.empty() : OptionalInt.of(index);
    }

    /**
     * Returns the character device of this device ({@code dev_name}).
     *
     * @return a name in {@code /dev/infiniband}, for example {@code uverbs0}
     */
    public String characterDevice() {
        return characterDevice;
    }

    /**
     * Returns the kind of node ({@code node_type}).
     *
     * @return for example {@link NodeType#CA}
     */
    public NodeType nodeType() {
        return nodeType;
    }

    /**
     * Returns the transport of the device ({@code transport_type}).
     *
     * @return for example {@link TransportType#IB}
     */
    public TransportType transport() {
        return transport;
    }

    /**
     * Returns the kernel driver of the hardware.
     *
     * @return for example {@code mlx5_core}; empty for a software device such as soft-RoCE
     */
    public String driver() {
        try {
            return Files.readSymbolicLink(Path.of(folder, "device", "driver"))
                    .getFileName()
                    .toString();
        } catch (IOException softwareDevice) {
            return "";
        }
    }

    /**
     * Returns what the driver of this device lacks of verbs, and what to take instead, as far as this release knows. A
     * refused verb says the same in its exception. The chapter devices.md has the table.
     *
     * @return sentences, such as {@code mana has no shared receive queues: post receives to each queue pair}
     */
    public List<String> limits() {
        return driverLimits().reasons();
    }

    /**
     * Returns whether the driver of this device ignores {@code IBV_SEND_INLINE}, and so would read memory that is not
     * registered. Queue pairs of such a device are granted no inline data.
     *
     * @return true for mana
     */
    public boolean ignoresInlineData() {
        return DriverFunctions.ignoresInline(driver());
    }

    DriverLimits driverLimits() {
        return DriverLimits.of(driver(), transport);
    }

    /** Returns the folder of the device below {@code /sys/class/infiniband}. */
    Path folder() {
        return Path.of(folder);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Device device && name.equals(device.name) && guid.equals(device.guid);
    }

    @Override
    public int hashCode() {
        return Objects.hash(name, guid);
    }

    /** Returns for example {@code rxe0: channel adapter, InfiniBand transport, GUID 5054:00ff:fe12:3456}. */
    @Override
    public String toString() {
        String node = switch (nodeType) {
            case CA -> "channel adapter";
            case SWITCH -> "switch";
            case ROUTER -> "router";
            case RNIC -> "iWARP adapter";
            case USNIC, USNIC_UDP -> "usNIC";
            case UNSPECIFIED, UNKNOWN -> "device of unknown kind";
        };
        String speaks = switch (transport) {
            case IB -> "InfiniBand transport";
            case IWARP -> "iWARP transport";
            case USNIC, USNIC_UDP -> "usNIC transport";
            case UNSPECIFIED, UNKNOWN -> "unknown transport";
        };
        return name + ": " + node + ", " + speaks + ", GUID " + guid;
    }

    /** The kind of node that a device is ({@code enum ibv_node_type}). */
    public enum NodeType {
        /** A channel adapter: InfiniBand or RoCE ({@code IBV_NODE_CA}). */
        CA(rdma_h.IBV_NODE_CA, "InfiniBand channel adapter"),
        /** A switch ({@code IBV_NODE_SWITCH}). */
        SWITCH(rdma_h.IBV_NODE_SWITCH, "InfiniBand switch"),
        /** A router ({@code IBV_NODE_ROUTER}). */
        ROUTER(rdma_h.IBV_NODE_ROUTER, "InfiniBand router"),
        /** An iWARP adapter ({@code IBV_NODE_RNIC}). */
        RNIC(rdma_h.IBV_NODE_RNIC, "iWARP NIC"),
        /** A Cisco usNIC ({@code IBV_NODE_USNIC}). */
        USNIC(rdma_h.IBV_NODE_USNIC, "usNIC"),
        /** A Cisco usNIC over UDP ({@code IBV_NODE_USNIC_UDP}). */
        USNIC_UDP(rdma_h.IBV_NODE_USNIC_UDP, "usNIC UDP"),
        /** A node of no specified kind ({@code IBV_NODE_UNSPECIFIED}). */
        UNSPECIFIED(rdma_h.IBV_NODE_UNSPECIFIED, "unspecified"),
        /** A number that this release does not know. */
        UNKNOWN(-1, "unknown");

        private final int code;
        private final String meaning;

        NodeType(int code, String meaning) {
            this.code = code;
            this.meaning = meaning;
        }

        /**
         * Returns the number in C.
         *
         * @return the value of the C constant
         */
        public int code() {
            return code;
        }

        /**
         * Returns the description that the C tools print ({@code ibv_node_type_str}).
         *
         * @return a description, such as {@code InfiniBand channel adapter}
         */
        @CName("ibv_node_type_str")
        public String meaning() {
            return meaning;
        }

        static NodeType of(int code) {
            for (NodeType value : values()) {
                if (value.code == code) {
                    return value;
                }
            }
            return UNKNOWN;
        }
    }

    /** The transport that a device speaks ({@code enum ibv_transport_type}). */
    public enum TransportType {
        /** InfiniBand transport, also over RoCE ({@code IBV_TRANSPORT_IB}). */
        IB(rdma_h.IBV_TRANSPORT_IB),
        /** iWARP ({@code IBV_TRANSPORT_IWARP}). */
        IWARP(rdma_h.IBV_TRANSPORT_IWARP),
        /** Cisco usNIC ({@code IBV_TRANSPORT_USNIC}). */
        USNIC(rdma_h.IBV_TRANSPORT_USNIC),
        /** Cisco usNIC over UDP ({@code IBV_TRANSPORT_USNIC_UDP}). */
        USNIC_UDP(rdma_h.IBV_TRANSPORT_USNIC_UDP),
        /** A transport of no specified kind ({@code IBV_TRANSPORT_UNSPECIFIED}). */
        UNSPECIFIED(rdma_h.IBV_TRANSPORT_UNSPECIFIED),
        /** A number that this release does not know. */
        UNKNOWN(-1);

        private final int code;

        TransportType(int code) {
            this.code = code;
        }

        /**
         * Returns the number in C.
         *
         * @return the value of the C constant
         */
        public int code() {
            return code;
        }

        static TransportType of(int code) {
            for (TransportType value : values()) {
                if (value.code == code) {
                    return value;
                }
            }
            return UNKNOWN;
        }
    }
}

package dev.verbena.verbs;

import dev.verbena.internal.Errno;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The parts of verbs that drivers of adapters lack, and what to take instead. This is the one table from which refused verbs, {@link
 * Device#limits} and the chapter devices.md have their reasons. It was read in the sources of rdma-core 65 and of Linux.
 */
enum DriverLimits {
    /** A driver without limits that are known here, such as mlx5. */
    NONE("", Set.of(), Map.of()),

    EFA(
            "efa",
            Set.of("efa"),
            Map.of(
                    Part.RESIZING,
                    Reason.NO_RESIZING,
                    Part.REREGISTRATION,
                    Reason.NO_REREGISTRATION,
                    Part.QUEUE_PAIRS,
                    "has no reliable connections: take datagrams (QueuePair.ud), or a node over TCP (Transport.TCP)",
                    Part.CONNECTION_MANAGER,
                    "has no connection manager: exchange endpoints of datagrams (QueuePair.ud), or take a node over TCP (Transport.TCP)",
                    Part.SENDS,
                    "takes sends of datagrams only, signaled and without other flags: leave out unsignaled(), fence() and solicited()",
                    Part.INLINE,
                    "has room for 32 bytes of inline data: send registered memory",
                    Part.SHARED_RECEIVES,
                    Reason.NO_SHARED_RECEIVES,
                    Part.WINDOWS,
                    Reason.NO_WINDOWS,
                    Part.EXTENDED_SENDS,
                    "has extended queue pairs for sends of datagrams only: make a queue pair without operations()",
                    Part.EXTENDED_COMPLETIONS,
                    "has CompletionField.standard() only: ask for those")),

    MANA(
            "mana",
            Set.of("mana"),
            Map.of(
                    Part.RESIZING,
                    Reason.NO_RESIZING,
                    Part.REREGISTRATION,
                    Reason.NO_REREGISTRATION,
                    Part.QUEUE_PAIRS,
                    "has reliable connections only: take QueuePair.rc, Connection or a node",
                    Part.SENDS,
                    "has sends, writes and reads only: let the peer's program change numbers, and register parts in place of windows",
                    Part.INLINE,
                    "ignores the flag for inline data and would read memory that is not registered: send registered memory",
                    Part.SHARED_RECEIVES,
                    Reason.NO_SHARED_RECEIVES,
                    Part.WINDOWS,
                    "can't bind memory windows: register the part itself",
                    Part.EXTENDED_SENDS,
                    Reason.NO_EXTENDED_SENDS,
                    Part.EXTENDED_COMPLETIONS,
                    Reason.NO_EXTENDED_COMPLETIONS,
                    Part.STATE,
                    "does not tell the state of a queue pair: QueuePair.state() is the state that this process knows")),

    IRDMA(
            "irdma",
            Set.of("irdma", "ice", "i40e", "idpf"),
            Map.of(
                    Part.QUEUE_PAIRS,
                    Reason.TWO_KINDS_OF_PAIRS,
                    Part.SENDS,
                    "has atomics on its newest generation only, with rdma-core 64: let the peer's program change the number",
                    Part.INLINE,
                    "has room for 101 bytes of inline data on its older generations: ask for less",
                    Part.SHARED_RECEIVES,
                    "has shared receive queues on its newest generation only, with rdma-core 64: post receives to each queue pair",
                    Part.WINDOWS,
                    "has memory windows of TYPE_2 with rdma-core 64 only: take TYPE_1",
                    Part.EXTENDED_SENDS,
                    Reason.NO_EXTENDED_SENDS,
                    Part.EXTENDED_COMPLETIONS,
                    "lacks CompletionField.PATH_BITS, and time stamps on its older generations: ask for other fields")),

    ERDMA(
            "erdma",
            Set.of("erdma"),
            Map.of(
                    Part.RESIZING,
                    Reason.NO_RESIZING,
                    Part.REREGISTRATION,
                    Reason.NO_REREGISTRATION,
                    Part.QUEUE_PAIRS,
                    "has reliable connections only, and one piece of memory a receive: take Connection or a node",
                    Part.CONNECTING,
                    Reason.CONNECTS_BY_MANAGER,
                    Part.INLINE,
                    "has room for 96 bytes of inline data: ask for less",
                    Part.SHARED_RECEIVES,
                    Reason.NO_SHARED_RECEIVES,
                    Part.WINDOWS,
                    Reason.NO_WINDOWS,
                    Part.EXTENDED_SENDS,
                    Reason.NO_EXTENDED_SENDS,
                    Part.EXTENDED_COMPLETIONS,
                    Reason.NO_EXTENDED_COMPLETIONS)),

    BNXT_RE(
            "bnxt_re",
            Set.of("bnxt_en", "bnxt_re"),
            Map.of(
                    Part.REREGISTRATION,
                    Reason.NO_REREGISTRATION,
                    Part.QUEUE_PAIRS,
                    Reason.TWO_KINDS_OF_PAIRS,
                    Part.INLINE,
                    "has room for 96 bytes of inline data on its older generations: ask for less",
                    Part.WINDOWS,
                    "has no memory windows in rdma-core 65: register the part itself",
                    Part.EXTENDED_COMPLETIONS,
                    Reason.NO_EXTENDED_COMPLETIONS)),

    /** Soft-RoCE, the only software for InfiniBand's transport. */
    RXE("rxe", Set.of("rdma_rxe"), Map.of(Part.REREGISTRATION, Reason.NO_REREGISTRATION)),

    SIW(
            "siw",
            Set.of("siw"),
            Map.of(
                    Part.RESIZING,
                    Reason.NO_RESIZING,
                    Part.REREGISTRATION,
                    Reason.NO_REREGISTRATION,
                    Part.QUEUE_PAIRS,
                    "has reliable connections only: take Connection or a node",
                    Part.CONNECTING,
                    Reason.CONNECTS_BY_MANAGER,
                    Part.SENDS,
                    "has no immediate data and no atomics: put the number behind the data, and let the peer's program change one",
                    Part.INLINE,
                    "has room for 80 bytes of inline data: ask for less",
                    Part.WINDOWS,
                    Reason.NO_WINDOWS,
                    Part.EXTENDED_SENDS,
                    Reason.NO_EXTENDED_SENDS,
                    Part.EXTENDED_COMPLETIONS,
                    Reason.NO_EXTENDED_COMPLETIONS));

    /** Reasons that several drivers have. */
    private static final class Reason {
        static final String NO_RESIZING = "can't resize completion queues: make a larger one";
        static final String NO_REREGISTRATION =
                "can't change a registration: close the region, and register the memory anew";
        static final String NO_SHARED_RECEIVES = "has no shared receive queues: post receives to each queue pair";
        static final String NO_WINDOWS = "has no memory windows: register the part itself";
        static final String NO_EXTENDED_SENDS =
                "has no extended queue pairs: make a queue pair without operations(), whose methods are the same";
        static final String NO_EXTENDED_COMPLETIONS = "has no extended completion queues: make a plain one";
        static final String TWO_KINDS_OF_PAIRS =
                "has reliable connections and datagrams only: take QueuePair.rc or QueuePair.ud";
        static final String CONNECTS_BY_MANAGER =
                "connects by the connection manager only: take Connection and Listener, or a node";

        private Reason() {}
    }

    /** A part of verbs that some drivers do not have, or have in part. */
    enum Part {
        QUEUE_PAIRS,
        CONNECTION_MANAGER,
        CONNECTING,
        SENDS,
        INLINE,
        SHARED_RECEIVES,
        WINDOWS,
        EXTENDED_SENDS,
        EXTENDED_COMPLETIONS,
        STATE,
        RESIZING,
        REREGISTRATION
    }

    private final Set<String> kernelNames;
    private final Map<Part, String> reasons = new EnumMap<>(Part.class);

    /**
     * Makes a row.
     *
     * @param name the name that rdma-core has for the driver
     * @param kernelNames the names that sysfs has for the driver of such an adapter
     * @param reasons the parts that the driver lacks, and what to take instead
     */
    DriverLimits(String name, Set<String> kernelNames, Map<Part, String> reasons) {
        this.kernelNames = kernelNames;
        for (Map.Entry<Part, String> each : reasons.entrySet()) {
            this.reasons.put(each.getKey(), name + " " + each.getValue());
        }
    }

    /**
     * Returns the row of a device.
     *
     * @param driver the name in sysfs of the adapter's driver; empty for software
     */
    static DriverLimits of(String driver, Device.TransportType transport) {
        if (driver.isEmpty()) {
            return switch (transport) {
                case IWARP -> SIW;
                case IB -> RXE;
                default -> NONE;
            };
        }
        for (DriverLimits row : values()) {
            if (row.kernelNames.contains(driver)) {
                return row;
            }
        }
        return NONE;
    }

    /** Returns the reason for which the driver lacks a part; empty if it is not known to lack it. */
    String reason(Part part) {
        return reasons.getOrDefault(part, "");
    }

    /** Returns the hint for a refused verb: the reason if the driver lacks the part, else the usual hint. */
    String hint(Part part, int errno, String usual) {
        boolean refused = Errno.meansUnsupported(errno) || errno == Errno.EINVAL;
        return refused && reasons.containsKey(part) ? reason(part) : usual;
    }

    /** Returns the reasons for all parts that the driver lacks. */
    List<String> reasons() {
        return List.copyOf(reasons.values());
    }
}

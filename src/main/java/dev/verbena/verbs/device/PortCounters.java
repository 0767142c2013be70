package dev.verbena.verbs.device;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The counters of a port, with the names and values that the kernel shows below {@code /sys/class/infiniband}: those of the
 * port ({@code ports/N/counters} and {@code ports/N/hw_counters}) and those of the whole device ({@code hw_counters}).
 *
 * <p>Names and their number differ by driver, and a missing folder is normal. A second counter of the same name has its
 * folder in front, such as {@code hw_counters/rate_inc_events}. The kernel begins to count when the driver is loaded.
 * {@code port_xmit_data} and {@code port_rcv_data} count words of four bytes. A few values are no counts but levels, such as
 * {@code active_qps}.
 *
 * <p>Many counters of InfiniBand have 4, 8 or 16 bits and stay at their maximum until they are reset: see {@link #stuck}.
 * A driver may show values again that it has read a moment ago: {@code hw_counters/lifespan} is that time in milliseconds,
 * and no counter.
 *
 * <p>An instance is a copy that does not change. All threads may use it.
 *
 * {@snippet file="DeviceSnippets.java" region="counters"}
 *
 * @param device the name of the device
 * @param port the number of the port, from 1
 * @param values the values by name, as unsigned numbers
 * @param stuck the names of counters that are at their maximum, and may have stopped there
 */
public record PortCounters(String device, int port, SortedMap<String, Long> values, SortedSet<String> stuck) {
    /** The widths of the counters in {@code counters}, where they are not of 32 or 64 bits. */
    private static final Map<String, Integer> BITS = Map.ofEntries(
            Map.entry("excessive_buffer_overrun_errors", 4),
            Map.entry("local_link_integrity_errors", 4),
            Map.entry("link_downed", 8),
            Map.entry("link_error_recovery", 8),
            Map.entry("port_rcv_constraint_errors", 8),
            Map.entry("port_xmit_constraint_errors", 8),
            Map.entry("VL15_dropped", 16),
            Map.entry("port_rcv_errors", 16),
            Map.entry("port_rcv_remote_physical_errors", 16),
            Map.entry("port_rcv_switch_relay_errors", 16),
            Map.entry("port_xmit_discards", 16),
            Map.entry("symbol_error", 16));

    private static final long MAX_OF_32_BITS = 0xffff_ffffL;
    private static final long MAX_OF_64_BITS = -1;

    /** Copies the values. */
    public PortCounters {
        values = Collections.unmodifiableSortedMap(new TreeMap<>(values));
        stuck = Collections.unmodifiableSortedSet(new TreeSet<>(stuck));
    }

    /**
     * Reads the counters of a port without opening the device. Neither root nor {@code libibverbs} is needed.
     *
     * @param device the folder of the device, for example {@code /sys/class/infiniband/mlx5_0}
     * @param port the port, from 1
     * @return the counters; none if the kernel shows none
     */
    public static PortCounters read(Path device, int port) {
        SortedMap<String, Long> values = new TreeMap<>();
        SortedSet<String> stuck = new TreeSet<>();
        Path ofPort = Path.of("ports", String.valueOf(port));
        for (Path folder :
                new Path[] {ofPort.resolve("counters"), ofPort.resolve("hw_counters"), Path.of("hw_counters")}) {
            String[] files = device.resolve(folder).toFile().list();
            for (String file : files == null ? new String[0] : files) {
                OptionalLong value = value(device.resolve(folder).resolve(file));
                if (value.isPresent() && !file.equals("lifespan")) {
                    String name =
                            values.containsKey(file) ? folder.resolve(file).toString() : file;
                    values.put(name, value.getAsLong());
                    if (isMaximum(value.getAsLong(), folder.endsWith("hw_counters") ? 0 : BITS.getOrDefault(file, 0))) {
                        stuck.add(name);
                    }
                }
            }
        }
        return new PortCounters(String.valueOf(device.getFileName()), port, values, stuck);
    }

    /**
     * Reads the counters of all ports of a device without opening the device.
     *
     * @param device the folder of the device, for example {@code /sys/class/infiniband/mlx5_0}
     * @return the counters of each port, in order; an empty list if there is no such device
     */
    public static List<PortCounters> read(Path device) {
        String[] ports = device.resolve("ports").toFile().list();
        return Stream.of(ports == null ? new String[0] : ports)
                .map(Integer::valueOf)
                .sorted()
                .map(port -> read(device, port))
                .toList();
    }

    private static OptionalLong value(Path file) {
        try {
            return OptionalLong.of(Long.parseUnsignedLong(Files.readString(file).strip()));
        } catch (IOException | NumberFormatException noCounter) { // the driver does not have it after all
            return OptionalLong.empty();
        }
    }

    private static boolean isMaximum(long value, int bits) {
        return bits == 0 ? value == MAX_OF_32_BITS || value == MAX_OF_64_BITS : value == (1L << bits) - 1;
    }

    /**
     * Returns the value of a counter.
     *
     * @param name the name
     * @return the value, an unsigned number; empty if there is no such counter
     */
    public OptionalLong value(String name) {
        Long value = values.get(name);
        return value == null ? OptionalLong.empty() : OptionalLong.of(value);
    }

    /**
     * Returns the differences to earlier values. A difference is negative where a value fell: the counter was reset, the driver
     * was loaded again, or the value is a level.
     *
     * @param earlier the counters of the same port at an earlier time
     * @return the difference of each counter that both have; stuck are the same as now
     * @throws IllegalArgumentException if the earlier counters are of another port
     */
    public PortCounters since(PortCounters earlier) {
        if (port != earlier.port || !device.equals(earlier.device)) {
            throw new IllegalArgumentException("port " + port + " of " + device + " can't be compared with port "
                    + earlier.port + " of " + earlier.device);
        }
        SortedMap<String, Long> differences = new TreeMap<>();
        values.forEach((name, value) -> {
            Long before = earlier.values.get(name);
            if (before != null) {
                differences.put(name, value - before);
            }
        });
        return new PortCounters(device, port, differences, stuck);
    }

    /** Returns text such as {@code port 1 of rxe0: rcvd_pkts 12, sent_pkts 12 (of 15 counters, the others are 0)}. */
    @Override
    public String toString() {
        String some = values.entrySet().stream()
                .filter(entry -> entry.getValue() != 0)
                .map(entry ->
                        entry.getKey() + " " + entry.getValue() + (stuck.contains(entry.getKey()) ? " (maximum)" : ""))
                .collect(Collectors.joining(", "));
        return "port " + port + " of " + device + ": "
                + (values.isEmpty()
                        ? "no counters"
                        : some.isEmpty()
                                ? values.size() + " counters, all 0"
                                : some + " (of " + values.size() + " counters, the others are 0)");
    }
}

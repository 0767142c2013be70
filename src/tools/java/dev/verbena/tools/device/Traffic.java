package dev.verbena.tools.device;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** A kind of traffic that counters count. Each driver has its own names; the first that a port has is the one to read. */
public enum Traffic {
    /** Bytes that the port has sent. */
    BYTES_OUT("bytesOut", "port_xmit_data", "tx_bytes", "tx_bytes_cnt", "ip4OutOctets"),
    /** Bytes that the port has received. */
    BYTES_IN("bytesIn", "port_rcv_data", "rx_bytes", "rx_bytes_cnt", "ip4InOctets"),
    /** Packets that the port has sent. */
    PACKETS_OUT(
            "packetsOut", "port_xmit_packets", "sent_pkts", "tx_pkts", "tx_packets", "tx_packets_cnt", "ip4OutPkts"),
    /** Packets that the port has received. */
    PACKETS_IN("packetsIn", "port_rcv_packets", "rcvd_pkts", "rx_pkts", "rx_packets", "rx_packets_cnt", "ip4InPkts");

    private static final List<String> IN_WORDS = List.of("port_xmit_data", "port_rcv_data");
    private static final int WORD_BYTES = 4;

    private final String jsonName;
    private final List<String> counters;

    Traffic(String jsonName, String... counters) {
        this.jsonName = jsonName;
        this.counters = List.of(counters);
    }

    String jsonName() {
        return jsonName;
    }

    /**
     * Returns the bytes or packets in the changes of a port's counters; empty if none of the counters has them.
     *
     * @param changes the differences by name
     */
    Optional<Long> in(Map<String, Long> changes) {
        for (String name : counters) {
            Long change = changes.get(name);
            if (change != null) {
                return Optional.of(inBytes(name, change));
            }
        }
        return Optional.empty();
    }

    private static long inBytes(String counter, long value) {
        return IN_WORDS.contains(counter) ? value * WORD_BYTES : value;
    }

    /** Returns a change of a counter by time: bits for counters of bytes, and else its own unit. */
    static String rate(String counter, long change, double seconds) {
        boolean bytes = Stream.of(BYTES_OUT, BYTES_IN).anyMatch(kind -> kind.counters.contains(counter));
        return bytes ? bits(inBytes(counter, change), seconds) : number(change / seconds, "/s");
    }

    /** Returns text such as {@code 12.5 Gbit/s}. */
    static String bits(long bytes, double seconds) {
        return number(8 * bytes / seconds, "bit/s");
    }

    /**
     * Returns a number in four digits with a unit and its prefix of the metric system, such as {@code 1.234 Mbit/s}.
     *
     * @param value the number
     * @param unit the unit
     * @return the text
     */
    public static String number(double value, String unit) {
        String[] prefixes = {"", "k", "M", "G", "T"};
        double scaled = value;
        int prefix = 0;
        while (Math.abs(scaled) >= 1000 && prefix < prefixes.length - 1) {
            scaled /= 1000;
            prefix++;
        }
        int digits = prefix == 0 || Math.abs(scaled) >= 100 ? 1 : Math.abs(scaled) >= 10 ? 2 : 3;
        return String.format(Locale.ROOT, "%." + digits + "f", scaled)
                + (prefix == 0 && !Character.isLetter(unit.charAt(0)) ? "" : " ")
                + prefixes[prefix]
                + unit;
    }
}

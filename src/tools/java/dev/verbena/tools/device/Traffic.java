package dev.verbena.tools.device;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SortedMap;
import java.util.stream.Stream;

/** A kind of traffic that counters count. Each driver has its own names; the first that a port has is the one to read. */
enum Traffic {
    BYTES_OUT("port_xmit_data", "tx_bytes", "tx_bytes_cnt", "ip4OutOctets"),
    BYTES_IN("port_rcv_data", "rx_bytes", "rx_bytes_cnt", "ip4InOctets"),
    PACKETS_OUT("port_xmit_packets", "sent_pkts", "tx_pkts", "tx_packets", "tx_packets_cnt", "ip4OutPkts"),
    PACKETS_IN("port_rcv_packets", "rcvd_pkts", "rx_pkts", "rx_packets", "rx_packets_cnt", "ip4InPkts");

    private static final List<String> IN_WORDS = List.of("port_xmit_data", "port_rcv_data");
    private static final int WORD_BYTES = 4;

    private final List<String> counters;

    Traffic(String... counters) {
        this.counters = List.of(counters);
    }

    /**
     * Returns the bytes or packets in the changes of a port's counters; empty if none of the counters has them.
     *
     * @param changes the differences by name
     */
    Optional<Long> in(SortedMap<String, Long> changes) {
        return counters.stream().filter(changes::containsKey).findFirst().map(name -> inBytes(name, changes.get(name)));
    }

    private static long inBytes(String counter, long value) {
        return IN_WORDS.contains(counter) ? value * WORD_BYTES : value;
    }

    /** Returns a change of a counter by time: bits for counters of bytes, and else its own unit. */
    static String rate(String counter, long change, double seconds) {
        boolean bytes = Stream.of(BYTES_OUT, BYTES_IN).anyMatch(kind -> kind.counters.contains(counter));
        return bytes ? bits(inBytes(counter, change), seconds) : number(change / seconds) + "/s";
    }

    /** Returns text such as {@code 12.5 Gbit/s}. */
    static String bits(long bytes, double seconds) {
        return number(8 * bytes / seconds).replaceFirst("([0-9.-]+) ?", "$1 ") + "bit/s";
    }

    /** Returns a number in four digits and a prefix of the metric system, such as {@code 1.234 M}. */
    static String number(double value) {
        String[] prefixes = {"", " k", " M", " G", " T"};
        double scaled = value;
        int prefix = 0;
        while (Math.abs(scaled) >= 1000 && prefix < prefixes.length - 1) {
            scaled /= 1000;
            prefix++;
        }
        int digits = prefix == 0 ? 1 : Math.abs(scaled) >= 100 ? 1 : Math.abs(scaled) >= 10 ? 2 : 3;
        return String.format(Locale.ROOT, "%." + digits + "f", scaled) + prefixes[prefix];
    }
}

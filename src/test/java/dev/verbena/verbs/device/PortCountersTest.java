package dev.verbena.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads counters from made-up folders of devices. */
class PortCountersTest {
    private final Path device;

    PortCountersTest(@TempDir Path folder) {
        device = folder.resolve("mlx5_0");
    }

    private void write(String file, Object value) throws IOException {
        Path path = device.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, value + "\n");
    }

    private static PortCounters of(Map<String, Long> values) {
        return new PortCounters("mlx5_0", 1, new TreeMap<>(values), new TreeSet<>());
    }

    @Test
    void readFindsTheCountersOfThePortAndOfTheDevice() throws IOException {
        write("ports/1/counters/port_xmit_data", 250);
        write("ports/1/hw_counters/out_of_buffer", 7);
        write("ports/2/hw_counters/out_of_buffer", 8);
        write("hw_counters/sent_cnps", 9);
        PortCounters read = PortCounters.read(device, 1);
        assertThat(read.device()).isEqualTo("mlx5_0");
        assertThat(read.port()).isEqualTo(1);
        assertThat(read.values())
                .containsExactly(
                        Map.entry("out_of_buffer", 7L), Map.entry("port_xmit_data", 250L), Map.entry("sent_cnps", 9L));
        assertThat(PortCounters.read(device, 2).values()).containsEntry("out_of_buffer", 8L);
        assertThat(read).isEqualTo(PortCounters.read(device, 1)).isNotEqualTo(PortCounters.read(device, 2));
    }

    @Test
    void readFindsAllPortsInOrder() throws IOException {
        write("ports/10/hw_counters/sent_pkts", 3);
        write("ports/2/hw_counters/sent_pkts", 2);
        write("ports/1/state", "4: ACTIVE");
        assertThat(PortCounters.read(device))
                .extracting(PortCounters::port, PortCounters::values)
                .containsExactly(
                        tuple(1, Map.of()), tuple(2, Map.of("sent_pkts", 2L)), tuple(10, Map.of("sent_pkts", 3L)));
        assertThat(PortCounters.read(device.resolveSibling("nosuch0"))).isEmpty();
    }

    @Test
    void readWithoutFoldersFindsNothing() {
        PortCounters read = PortCounters.read(device, 1);
        assertThat(read.values()).isEmpty();
        assertThat(read).hasToString("port 1 of mlx5_0: no counters");
    }

    @Test
    void readLeavesOutTheLifespanAndWhatIsNoNumber() throws IOException {
        write("ports/1/hw_counters/lifespan", 10);
        write("ports/1/hw_counters/sent_pkts", 1);
        write("ports/1/counters/symbol_error", "N/A (no PMA)");
        Files.createDirectories(device.resolve("ports/1/hw_counters/folder"));
        assertThat(PortCounters.read(device, 1).values()).containsExactly(Map.entry("sent_pkts", 1L));
    }

    @Test
    void readKeepsTwoCountersOfOneName() throws IOException {
        write("ports/1/hw_counters/rate_inc_events", 3);
        write("hw_counters/rate_inc_events", 4);
        assertThat(PortCounters.read(device, 1).values())
                .containsExactly(Map.entry("hw_counters/rate_inc_events", 4L), Map.entry("rate_inc_events", 3L));
    }

    /** The widths are those of InfiniBand's own counters: the same name in hw_counters has 64 bits. */
    @Test
    void stuckNamesCountersAtTheirMaximum() throws IOException {
        write("ports/1/counters/link_downed", 255);
        write("ports/1/counters/symbol_error", 65535);
        write("ports/1/counters/local_link_integrity_errors", 15);
        write("ports/1/counters/port_xmit_wait", 4294967295L);
        write("ports/1/counters/port_rcv_errors", 255);
        write("ports/1/counters/port_rcv_data", "18446744073709551615");
        write("ports/2/hw_counters/link_downed", 255);
        PortCounters read = PortCounters.read(device, 1);
        assertThat(read.stuck())
                .containsExactly(
                        "link_downed",
                        "local_link_integrity_errors",
                        "port_rcv_data",
                        "port_xmit_wait",
                        "symbol_error");
        assertThat(read.toString()).contains("link_downed 255 (maximum)", "port_rcv_errors 255,");
        assertThat(PortCounters.read(device, 2).stuck()).isEmpty();
    }

    @Test
    void sinceSubtractsAndKeepsWhatIsStuck() throws IOException {
        write("ports/1/counters/link_downed", 250);
        write("ports/1/counters/port_rcv_data", "18446744073709551615");
        PortCounters before = PortCounters.read(device, 1);
        write("ports/1/counters/link_downed", 255);
        write("ports/1/counters/port_rcv_data", 4);
        write("ports/1/counters/new", 5);
        PortCounters difference = PortCounters.read(device, 1).since(before);
        assertThat(difference.values())
                .as("a value that wraps, and none for a name that was not there")
                .containsExactly(Map.entry("link_downed", 5L), Map.entry("port_rcv_data", 5L));
        assertThat(difference.stuck()).containsExactly("link_downed");
    }

    @Test
    void sinceIsNegativeWhereAValueFell() {
        assertThat(of(Map.of("active_qps", 2L))
                        .since(of(Map.of("active_qps", 5L)))
                        .value("active_qps"))
                .hasValue(-3);
    }

    @Test
    void sinceRefusesAnotherPort() {
        PortCounters other = new PortCounters("mlx5_0", 2, new TreeMap<>(), new TreeSet<>());
        assertThatThrownBy(() -> of(Map.of()).since(other))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("port 1 of mlx5_0 can't be compared with port 2 of mlx5_0");
    }

    @Test
    void valueIsEmptyForAnUnknownName() {
        assertThat(of(Map.of("a", 1L)).value("b")).isEmpty();
    }

    @Test
    void toStringShowsWhatIsNotZero() {
        assertThat(of(Map.of("a", 1L, "b", 0L, "c", 3L)))
                .hasToString("port 1 of mlx5_0: a 1, c 3 (of 3 counters, the others are 0)");
        assertThat(of(Map.of("a", 0L))).hasToString("port 1 of mlx5_0: 1 counters, all 0");
    }

    @Test
    void valuesAreACopy() {
        TreeMap<String, Long> values = new TreeMap<>(Map.of("a", 1L));
        PortCounters counters = new PortCounters("mlx5_0", 1, values, new TreeSet<>());
        values.put("a", 2L);
        assertThat(counters.value("a")).hasValue(1);
        assertThatThrownBy(() -> counters.values().clear()).isInstanceOf(UnsupportedOperationException.class);
    }
}

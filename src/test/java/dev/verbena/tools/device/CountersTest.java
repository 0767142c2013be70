package dev.verbena.tools.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Prints the counters of made-up devices. */
class CountersTest {
    private final SysfsTree sysfs;
    private final Path earlier;

    CountersTest(@TempDir Path folder) {
        sysfs = new SysfsTree(folder.resolve("infiniband"));
        earlier = folder.resolve("earlier");
    }

    private String counters(String... args) throws Exception {
        return sysfs.run(Counters::run, args);
    }

    @Test
    void countersPrintsAllPortsWithTheirValues() throws Exception {
        sysfs.with("rxe0/ports/1/hw_counters/sent_pkts", 12).with("rxe0/ports/1/hw_counters/lifespan", 10);
        sysfs.with("mlx5_0/ports/1/counters/link_downed", 255).with("mlx5_0/ports/2/state", "1: DOWN");
        assertThat(counters().lines().map(line -> line.replaceFirst("at 20.*Z", "at TIME")))
                .containsExactly(
                        "mlx5_0 port 1 at TIME",
                        "  link_downed                              255  at its maximum: the link went down",
                        "mlx5_0 port 2 at TIME",
                        "  no counters: the driver of this device has none",
                        "rxe0 port 1 at TIME",
                        "  sent_pkts                                 12");
        assertThat(counters("rxe0")).startsWith("rxe0 port 1 ").hasLineCount(2);
        assertThat(counters("mlx5_0:2")).startsWith("mlx5_0 port 2 ").hasLineCount(2);
    }

    @Test
    void countersNamesTheDevicesThatThereAre() {
        assertThatThrownBy(() -> counters("rxe0"))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessageContaining("rdma link add");
        sysfs.with("mlx5_0/ports/1/state", "4: ACTIVE");
        assertThatThrownBy(() -> counters("mlx5_0:2")).hasMessage("no port 'mlx5_0:2', there are the devices mlx5_0");
    }

    @Test
    void sincePrintsWhatHasChangedAndHowFast() throws Exception {
        sysfs.with("rxe0/ports/1/hw_counters/sent_pkts", 1012)
                .with("rxe0/ports/1/hw_counters/RNR sent", 7)
                .with("rxe0/ports/1/hw_counters/active_qps", 1)
                .with("rxe0/ports/1/hw_counters/link_downed", 0);
        Files.writeString(earlier, """
                rxe0 port 1 at 2020-01-01T00:00:00Z
                  RNR sent                                                5
                  active_qps                                              3
                  link_downed                                             0  at its maximum
                  sent_pkts                                              12
                rxe0 port 2 at 2020-01-01T00:00:00Z
                  sent_pkts                                              99
                """);
        assertThat(counters("--since", earlier.toString()).lines().map(line -> line.replaceFirst(": [0-9.]+ s", "")))
                .containsExactly(
                        "rxe0 port 1 since 2020-01-01T00:00:00Z",
                        "  RNR sent                                  +2  0.0/s: this side had no receive for a message",
                        "  active_qps                                -2  -0.0/s",
                        "  sent_pkts                              +1000  0.0/s");
    }

    @Test
    void sinceReadsAnOutputOfTheTool() throws Exception {
        sysfs.with("rxe0/ports/1/hw_counters/sent_pkts", 12).with("rxe1/ports/1/hw_counters/sent_pkts", 13);
        Files.writeString(earlier, counters());
        sysfs.with("rxe1/ports/1/hw_counters/sent_pkts", 20);
        String changes = counters("--since=" + earlier);
        assertThat(changes.lines().toList().get(1)).isEqualTo("  nothing has changed");
        assertThat(changes.lines().toList().get(3)).contains("sent_pkts", " +7 ");
    }

    @Test
    void sinceRefusesAFileThatIsNoOutputOfTheTool() throws IOException {
        sysfs.with("rxe0/ports/1/hw_counters/sent_pkts", 12);
        Files.writeString(earlier, "{}");
        assertThatThrownBy(() -> counters("--since=" + earlier))
                .isInstanceOf(IOException.class)
                .hasMessage(earlier + " is no output of 'verbena counters'");
        Files.writeString(earlier, "rxe1 port 1 at 2020-01-01T00:00:00Z\n");
        assertThatThrownBy(() -> counters("--since=" + earlier))
                .hasMessage(earlier + " has no counters of port 1 of rxe0");
    }

    @Test
    void jsonHasValuesAndChanges() throws Exception {
        sysfs.with("mlx5_0/ports/1/counters/link_downed", 255);
        Files.writeString(earlier, "mlx5_0 port 1 at 2020-01-01T00:00:00Z\n  link_downed                    250\n");
        assertThat(counters("--json", "--since=" + earlier).replaceAll("(time|seconds)\": [^,]+", "$1\": X"))
                .isEqualTo("""
                        {
                          "time": X,
                          "ports": [
                            {
                              "device": "mlx5_0",
                              "port": 1,
                              "counters": {
                                "link_downed": 255
                              },
                              "since": "2020-01-01T00:00:00Z",
                              "seconds": X,
                              "changes": {
                                "link_downed": 5
                              },
                              "stuck": [
                                "link_downed"
                              ]
                            }
                          ]
                        }
                        """);
        assertThat(counters("--json")).doesNotContain("since", "changes");
    }

    /** A file could have been made by anybody, and a name could command a terminal. */
    @Test
    void countersPrintsNoControlCharacters() throws Exception {
        sysfs.with("rxe0/ports/1/hw_counters/a\u001b[2Jb", 1);
        assertThat(counters()).contains("a?[2Jb").doesNotContain("\u001b");
    }

    @ParameterizedTest
    @CsvSource({
        "port_xmit_data, 250000000, 2, 4.000 Gbit/s",
        "rx_bytes, 250, 1, 2.000 kbit/s",
        "tx_bytes, 1, 1, 8.0 bit/s",
        "sent_pkts, 3, 2, 1.5/s",
        "sent_pkts, 123456, 1, 123.5 k/s"
    })
    void rateConvertsWordsAndBytesToBits(String counter, long change, double seconds, String rate) {
        assertThat(Traffic.rate(counter, change, seconds)).isEqualTo(rate);
    }

    @Test
    void trafficReadsTheFirstCounterThatAPortHas() {
        TreeMap<String, Long> changes = new TreeMap<>(Map.of("port_xmit_data", 10L, "tx_bytes", 50L, "rx_bytes", 7L));
        assertThat(Traffic.BYTES_OUT.in(changes)).hasValue(40L);
        assertThat(Traffic.BYTES_IN.in(changes)).hasValue(7L);
        assertThat(Traffic.PACKETS_IN.in(changes)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "rcvd_rnr_err, NO_RECEIVE_THERE",
        "out_of_buffer, NO_RECEIVE_HERE",
        "vport_out_of_buffer, NO_RECEIVE_HERE",
        "hw_counters/sent_cnps, CONGESTION_IN",
        "local_ack_timeout_err, LOST_TO_PEER",
        "link_downed, LINK",
        "sent_pkts,"
    })
    void troubleOfKnowsTheNamesOfDrivers(String counter, Trouble trouble) {
        assertThat(Trouble.of(counter).orElse(null)).isEqualTo(trouble);
    }

    @Test
    void troublesShareNoCounter() {
        TreeSet<String> all = new TreeSet<>();
        for (Trouble trouble : Trouble.values()) {
            assertThat(trouble.counters()).allMatch(all::add);
        }
    }
}

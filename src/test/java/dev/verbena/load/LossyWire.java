package dev.verbena.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;

/**
 * Two soft-RoCE devices of the test guest at the ends of one wire that loses packets in both directions. The kernel would
 * deliver packets between two of its own addresses without a wire; rules of routing send them over it.
 */
final class LossyWire implements AutoCloseable {
    private static final Path OURS = Path.of("/sys/devices/virtual/net/e0");
    private static final Path NETWORKS = Path.of("/sys/class/net");
    private static final Pattern DROPPED = Pattern.compile("dropped (\\d+)");
    private static final String TABLE = "7";
    private static final List<End> ENDS = List.of(new End("w7", "10.9.7.1", "rxe7"), new End("w8", "10.9.7.2", "rxe8"));

    /** An end of the wire: a network device with an address, and the RDMA device on it. */
    private record End(String network, String address, String device) {}

    private LossyWire() {}

    /** Makes the wire. Outside the test guest, skips the test and does not change the network. */
    static LossyWire losing(int percent) throws IOException {
        Assumptions.assumeTrue(
                Files.isDirectory(OURS) && TestDevice.get().name().equals("rxe0"),
                "devices are made and removed in the test guest only");
        LossyWire wire = new LossyWire();
        run("ip", "link", "add", ENDS.get(0).network, "type", "veth", "peer", "name", ENDS.get(1).network);
        try {
            wire.route();
            for (End end : ENDS) {
                run("rdma", "link", "add", end.device, "type", "rxe", "netdev", end.network);
                run(("tc qdisc replace dev " + end.network + " root netem limit 100000 loss " + percent + "%")
                        .split(" "));
                Await.until(
                        end.device,
                        () -> Device.list().stream()
                                .anyMatch(each -> each.name().equals(end.device)));
            }
        } catch (Throwable t) {
            wire.close();
            throw t;
        }
        return wire;
    }

    private void route() throws IOException {
        Files.writeString(Path.of("/proc/sys/net/ipv4/conf/all/rp_filter"), "0");
        for (int i = 0; i < 2; i++) {
            End own = ENDS.get(i);
            run("ip", "addr", "add", own.address + "/24", "dev", own.network);
            Path settings = Path.of("/proc/sys/net/ipv4/conf", own.network);
            Files.writeString(settings.resolve("accept_local"), "1");
            Files.writeString(settings.resolve("rp_filter"), "0");
            run("ip", "link", "set", own.network, "up");
        }
        for (int i = 0; i < 2; i++) {
            End own = ENDS.get(i);
            End peer = ENDS.get(1 - i);
            String station = Files.readString(NETWORKS.resolve(peer.network).resolve("address"))
                    .strip();
            run("ip", "neigh", "replace", peer.address, "lladdr", station, "nud", "permanent", "dev", own.network);
            run("ip", "route", "add", peer.address, "dev", own.network, "src", own.address, "table", TABLE);
            String way = " from " + peer.address + " to " + own.address + " iif " + own.network;
            run(("ip rule add pref 5" + way + " lookup local").split(" "));
        }
        run("ip", "rule", "add", "pref", "7", "to", "10.9.7.0/24", "lookup", TABLE);
        run("ip", "rule", "add", "pref", "100", "lookup", "local");
        run("ip", "rule", "del", "pref", "0");
    }

    Device left() {
        return Device.named(ENDS.get(0).device);
    }

    Device right() {
        return Device.named(ENDS.get(1).device);
    }

    /** Returns the number of packets that the wire has lost. */
    long lost() throws IOException {
        long sum = 0;
        for (End end : ENDS) {
            Matcher dropped = DROPPED.matcher(run("tc", "-s", "qdisc", "show", "dev", end.network));
            assertThat(dropped.find()).isTrue();
            sum += Long.parseLong(dropped.group(1));
        }
        return sum;
    }

    @Override
    public void close() throws IOException {
        if (run("ip", "rule", "show").startsWith("5:")) {
            run("ip", "rule", "add", "pref", "0", "lookup", "local");
            for (String rule : List.of("5", "5", "7", "100")) {
                run("ip", "rule", "del", "pref", rule);
            }
        }
        run("ip", "link", "del", ENDS.get(0).network); // with the other end and both RDMA devices
    }

    private static String run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int status = process.onExit()
                .orTimeout(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS)
                .join()
                .exitValue();
        assertThat(status).as(String.join(" ", command) + ": " + output).isZero();
        return output;
    }
}

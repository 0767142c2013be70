package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_wc;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.net.Channel;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transfer;
import dev.verbena.net.Transport;
import dev.verbena.support.ChildJvm;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import strangers.ListDevices;

/** What a program sees when the libraries are missing or may not be called. */
class RdmaUnavailableTest {
    private static final String MISSING = "-Ddev.verbena.libibverbs=/nonexistent.so";

    private static String line(String output, String key) {
        List<String> lines =
                output.lines().filter(line -> line.startsWith(key + ": ")).toList();
        assertThat(lines).as(output).hasSize(1);
        return lines.getFirst().substring(key.length() + 2);
    }

    private static String withoutLibrary() {
        return ChildJvm.with(MISSING, "--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(ListDevices.class)
                .successfulOutput();
    }

    @Test
    void missingLibraryMessageNamesPackagesAndProperty() {
        assertThat(line(withoutLibrary(), "refused"))
                .contains("/nonexistent.so", "apt install libibverbs1", "Debian", "Ubuntu")
                .contains("dnf install libibverbs", "Fedora", "RHEL")
                .contains("zypper install libibverbs1", "SUSE")
                .contains("-Ddev.verbena.libibverbs=");
    }

    @Test
    void unavailabilityReturnsTheExceptionOfTheFirstVerb() {
        String output = withoutLibrary();
        assertThat(line(output, "unavailability")).isEqualTo(line(output, "refused"));
    }

    @Test
    void missingConnectionManagerMessageNamesPackages() {
        String output = ChildJvm.with("-Ddev.verbena.librdmacm=/nonexistent.so", "--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(ListDevices.class)
                .successfulOutput();
        assertThat(line(output, "unavailability"))
                .contains(
                        "/nonexistent.so",
                        "apt install librdmacm1",
                        "dnf install librdmacm",
                        "zypper install librdmacm1",
                        "-Ddev.verbena.librdmacm=");
        assertThat(output).as("devices need only libibverbs").doesNotContain("refused: ");
    }

    @Test
    void valuesAndMemoryNeedNoLibrary() {
        String output = withoutLibrary();
        assertThat(line(output, "state")).isEqualTo("RTS");
        assertThat(line(output, "endpoint")).isEqualTo("0000:000011:a3b2c1:00000000000000000000ffff0a090901");
        assertThat(line(output, "memory")).isEqualTo("64");
    }

    /** Also in a program whose other sockets are RDMA sockets. */
    @Test
    void nodesOverTcpNeedNoLibrary() {
        String output = ChildJvm.with(
                        MISSING,
                        "-Ddev.verbena.librdmacm=/nonexistent.so",
                        "--enable-native-access=ALL-UNNAMED",
                        "-Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.RdmaSelectorProvider",
                        "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED")
                .runOnClassPath(OverTcp.class)
                .successfulOutput();
        assertThat(line(output, "unavailable")).isEqualTo("true");
        assertThat(line(output, "server")).as("AUTO").contains("on TCP");
        assertThat(line(output, "transport")).isEqualTo("TCP");
        assertThat(line(output, "offer")).isEqualTo("true");
        assertThat(line(output, "added to")).isEqualTo("7");
        assertThat(line(output, "read")).isEqualTo("12");
    }

    @Test
    void generatedLayoutsAndConstantsNeedNoLibrary() {
        String output = ChildJvm.with(
                        MISSING, "-Ddev.verbena.librdmacm=/nonexistent.so", "--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(LayoutsOnly.class)
                .successfulOutput();
        assertThat(output).contains("IBV_QPS_RTS = 3", "sizeof(struct ibv_wc) = 48");
    }

    @Test
    void deniedNativeAccessMessageNamesTheFlagOnTheClassPath() {
        String output =
                ChildJvm.with(ChildJvm.DENY).runOnClassPath(ListDevices.class).successfulOutput();
        assertThat(line(output, "refused")).contains("--enable-native-access=ALL-UNNAMED");
        assertThat(line(output, "unavailability")).isEqualTo(line(output, "refused"));
        assertThat(line(output, "memory")).as("memory needs no native access").isEqualTo("64");
    }

    @Test
    void deniedNativeAccessMessageNamesTheFlagOnTheModulePath() {
        String output =
                ChildJvm.with(ChildJvm.DENY).runOnModulePath(ListDevices.class).successfulOutput();
        assertThat(line(output, "module")).isEqualTo("module dev.verbena");
        assertThat(line(output, "refused")).contains("--enable-native-access=dev.verbena");
    }

    @Test
    void modulePathNeedsOnlyTheNativeAccessFlag() {
        String output = ChildJvm.with("--enable-native-access=dev.verbena")
                .option(Runtime.version().feature() >= 24 ? new String[] {ChildJvm.DENY} : new String[0])
                .runOnModulePath(ListDevices.class)
                .successfulOutput();
        assertThat(line(output, "module")).isEqualTo("module dev.verbena");
        assertThat(line(output, "unavailability")).isEqualTo("none");
        assertThat(line(output, "devices")).startsWith("[");
        assertThat(output).as("no warning of the virtual machine").doesNotContain("WARNING");
    }

    /** A program for {@link ChildJvm}: uses those generated bindings that need no library. */
    static final class LayoutsOnly {
        public static void main(String[] args) {
            System.out.println("IBV_QPS_RTS = " + rdma_h.IBV_QPS_RTS());
            System.out.println("sizeof(struct ibv_wc) = " + ibv_wc.sizeof());
        }
    }

    /** Uses all that a channel can do between two nodes over TCP, and prints what came of it. */
    static final class OverTcp {
        private static final Duration PATIENCE = Duration.ofSeconds(60);
        private static final int SIZE = 3 << 20;

        /** Needs no arguments. */
        public static void main(String[] args) throws Exception {
            System.out.println("unavailable: " + Rdma.unavailability().isPresent());
            NodeOptions options = NodeOptions.defaults().transport(Transport.TCP);
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Node server = Node.open(
                        new InetSocketAddress("127.0.0.1", 0),
                        NodeOptions.defaults().transport(Transport.AUTO),
                        arena);
                System.out.println("server: " + server);
                Node client = Node.open(new InetSocketAddress("127.0.0.1", 0), options, arena);
                MemorySegment table = arena.allocate(64, 8);
                server.export(
                        "table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
                byte[] received = new byte[SIZE];
                server.listen((channel, message) -> take(message.transfer(), received));
                Channel channel = client.connect(server.address(), PATIENCE);
                System.out.println("transport: " + channel.transport());
                System.out.println("offer: " + offer(channel, received));
                RemoteMemory remote = channel.remote("table", PATIENCE);
                LocalMemory local = client.register(arena.allocate(64, 8), AccessFlag.LOCAL_WRITE);
                local.segment().set(ValueLayout.JAVA_LONG, 0, 7);
                channel.write(local.slice(0, 8), remote.slice(8, 8), PATIENCE);
                System.out.println("added to: " + channel.fetchAndAdd(remote.slice(8, 8), 5, PATIENCE));
                channel.read(local, remote, PATIENCE);
                System.out.println("read: " + local.segment().getAtIndex(ValueLayout.JAVA_LONG, 1));
            }
        }

        /** Takes the data on a thread of its own, because that waits. */
        private static void take(Transfer transfer, byte[] received) {
            Thread.ofVirtual().start(() -> {
                try (transfer) {
                    transfer.accept(MemorySegment.ofArray(received), PATIENCE);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }

        private static boolean offer(Channel channel, byte[] received) throws InterruptedException {
            byte[] data = new byte[SIZE];
            for (int i = 0; i < SIZE; i++) {
                data[i] = (byte) (i * 31 >>> 3);
            }
            channel.offer(MemorySegment.ofArray(data), new byte[0], PATIENCE);
            return Arrays.equals(data, received);
        }
    }
}

package dev.verbena.tools.pingpong;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.VethWire;
import dev.verbena.tools.Listening;
import dev.verbena.tools.ToolRun;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/** Tests the RoCE v2 packets of two ping-pongs, as captured by tcpdump. */
@DeviceTest
@EnabledIfEnvironmentVariable(
        named = "VERBENA_GUEST",
        matches = "1",
        disabledReason = "it rewires the network, which only a guest of scripts/soft-roce may have done to it")
class WireTest {
    private static final int SIZE = 128;
    private static final int ROCE_V2 = 4791;
    private static final int RC_SEND_ONLY = 0x04;
    private static final int RC_ACKNOWLEDGE = 0x11;
    private static final Pattern ADDRESS =
            Pattern.compile("local address:.*QPN 0x([0-9a-f]{6}), PSN 0x([0-9a-f]{6}), GID ::ffff:(\\S+)");

    @BeforeAll
    static void lay() throws Exception {
        VethWire.lay();
    }

    @AfterAll
    static void remove() throws Exception {
        VethWire.remove();
    }

    /** The endpoint that a ping-pong printed. */
    private record Player(int number, int psn, String address) {
        static Player of(ToolRun run) {
            Matcher matcher = ADDRESS.matcher(run.out());
            assertThat(matcher.find()).as(run.toString()).isTrue();
            return new Player(
                    Integer.parseInt(matcher.group(1), 16), Integer.parseInt(matcher.group(2), 16), matcher.group(3));
        }
    }

    /** The tested parts of a packet: addresses, base transport header, and the bytes between it and the checksum. */
    private record Packet(
            String from,
            String to,
            int opcode,
            int partition,
            int pair,
            boolean acknowledge,
            int psn,
            List<Byte> payload) {
        static Packet read(ByteBuffer frame) throws IOException {
            assertThat(frame.getShort(12)).as("IPv4").isEqualTo((short) 0x0800);
            int ip = 14;
            int udp = ip + 4 * (frame.get(ip) & 0xf);
            assertThat(frame.get(ip + 9)).as("UDP").isEqualTo((byte) 17);
            assertThat(frame.getShort(udp + 2) & 0xffff).isEqualTo(ROCE_V2);
            int length = frame.getShort(udp + 4) & 0xffff;
            assertThat(udp + length)
                    .as("the frame holds what the UDP header says")
                    .isLessThanOrEqualTo(frame.limit());
            int base = udp + 8;
            List<Byte> payload = new ArrayList<>();
            for (int i = base + 12; i < udp + length - 4; i++) {
                payload.add(frame.get(i));
            }
            return new Packet(
                    address(frame, ip + 12),
                    address(frame, ip + 16),
                    frame.get(base) & 0xff,
                    frame.getShort(base + 2) & 0xffff,
                    frame.getInt(base + 4) & 0xffffff,
                    frame.get(base + 8) < 0,
                    frame.getInt(base + 8) & 0xffffff,
                    payload);
        }

        private static String address(ByteBuffer frame, int at) throws IOException {
            byte[] bytes = new byte[4];
            frame.get(at, bytes);
            return InetAddress.getByAddress(bytes).getHostAddress();
        }
    }

    /** Returns the packets in a file of tcpdump, without repetitions, which a slow machine can cause. */
    private static List<Packet> packets(Path file) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file));
        List<Packet> packets = new ArrayList<>();
        if (bytes.remaining() < 24) {
            return packets;
        }
        bytes.order(bytes.getInt(0) == 0xa1b2c3d4 ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
        for (int at = 24; at + 16 <= bytes.limit(); ) {
            int length = bytes.getInt(at + 8);
            if (at + 16 + length > bytes.limit()) {
                break; // tcpdump has not yet written the rest
            }
            Packet packet = Packet.read(bytes.slice(at + 16, length)); // in network order
            if (!packets.contains(packet)) {
                packets.add(packet);
            }
            at += 16 + length;
        }
        return packets;
    }

    @Test
    void pingPongPacketsHaveTheExpectedOpcodesAndNumbers(@TempDir Path folder) throws Exception {
        Path capture = folder.resolve("wire.pcap");
        Path said = folder.resolve("said");
        String capturing = "tcpdump -i w1 -w " + capture + " -U --immediate-mode -Z root udp port " + ROCE_V2;
        Process tcpdump = new ProcessBuilder(capturing.split(" "))
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        try {
            until(() -> Files.readString(said).contains("listening on"), said);
            int port = Listening.freePort();
            String[] common = {"rc-pingpong", "-s", String.valueOf(SIZE), "-n", "1", "-p", String.valueOf(port), "-d"};
            FutureTask<ToolRun> server = new FutureTask<>(() -> ToolRun.of(with(common, "wire2")));
            Thread.ofPlatform().daemon().start(server);
            Listening.await(port, () -> !server.isDone());
            ToolRun called = ToolRun.of(with(common, "wire1", "127.0.0.1")).succeeds();
            ToolRun served =
                    server.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS).succeeds();
            until(() -> packets(capture).size() >= 4, said);
            check(packets(capture), Player.of(called), Player.of(served));
        } finally {
            tcpdump.destroy();
        }
    }

    private static String[] with(String[] common, String... more) {
        List<String> all = new ArrayList<>(List.of(common));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    private interface Condition {
        boolean holds() throws IOException;
    }

    private static void until(Condition condition, Path said) throws IOException {
        long limit = System.nanoTime() + Loopback.DEADLINE.toNanos();
        while (!condition.holds()) {
            assertThat(System.nanoTime()).as(Files.readString(said)).isLessThan(limit);
            Thread.yield();
        }
    }

    private static void check(List<Packet> packets, Player client, Player server) {
        assertThat(client.address()).isEqualTo("10.8.0.1");
        assertThat(server.address()).isEqualTo("10.8.0.2");
        assertThat(packets)
                .hasSize(4)
                .allSatisfy(packet -> assertThat(packet.partition()).isEqualTo(0xffff));
        assertMessage(packets, client, server);
        assertMessage(packets, server, client);
    }

    private static void assertMessage(List<Packet> packets, Player from, Player to) {
        assertThat(packets)
                .filteredOn(packet ->
                        packet.opcode() == RC_SEND_ONLY && packet.from().equals(from.address()))
                .singleElement()
                .satisfies(send -> {
                    assertThat(send.pair()).isEqualTo(to.number());
                    assertThat(send.to()).isEqualTo(to.address());
                    assertThat(send.psn()).isEqualTo(from.psn());
                    assertThat(send.acknowledge())
                            .as("asks for an acknowledgement")
                            .isTrue();
                    assertThat(send.payload()).hasSize(SIZE).containsOnly((byte) 0x7b);
                });
        assertThat(packets)
                .filteredOn(packet ->
                        packet.opcode() == RC_ACKNOWLEDGE && packet.from().equals(to.address()))
                .singleElement()
                .satisfies(acknowledgement -> {
                    assertThat(acknowledgement.pair()).isEqualTo(from.number());
                    assertThat(acknowledgement.to()).isEqualTo(from.address());
                    assertThat(acknowledgement.psn()).as("of the message").isEqualTo(from.psn());
                    assertThat(acknowledgement.payload())
                            .as("a syndrome and a count of messages")
                            .hasSize(4);
                    assertThat(acknowledgement.payload().getFirst() & 0xe0)
                            .as("a positive one")
                            .isZero();
                    assertThat(acknowledgement.payload().subList(1, 4))
                            .as("the first message")
                            .containsExactly((byte) 0, (byte) 0, (byte) 1);
                });
    }
}

package dev.verbena.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.Loopback;
import dev.verbena.tools.ToolRun;
import dev.verbena.tools.command.Tcp;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.device.Mtu;
import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the handshake with a C program of perftest over real sockets, with valid and invalid messages. */
class PerftestPeerTest {
    private static final String HELLO = "6.06" + "\0".repeat(12) + "\0\0\u0010\0" + "\0\0\0@";
    private static final String KEYS = "0000:0001:000012:94074a:000005fa:00005641487d3000:"
            + "00:00:00:00:00:00:00:00:00:00:ff:ff:0a:09:09:01:00000000:\0";
    private static final PerftestKeys MINE = new PerftestKeys(
            Endpoint.parse("0000:000012:94074a:00000000000000000000ffff0a090901"), 1, 0x5641487d3000L, 0x5fa);
    private static final Duration SOON = Duration.ofMillis(200);

    private interface Step<T> {
        T with(PerftestPeer peer) throws Exception;
    }

    /** Runs the handshake with a peer, server or client, that sends the given text and closes or stays. */
    private static <T> T against(String sent, boolean client, boolean stays, Step<T> step) throws Exception {
        try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            FutureTask<T> task = new FutureTask<>(() -> {
                try (Tcp tcp = Tcp.connect("127.0.0.1", listening.getLocalPort(), stays ? SOON : Loopback.DEADLINE)) {
                    return step.with(new PerftestPeer(tcp, client));
                }
            });
            Thread.ofPlatform().daemon().start(task);
            try (Socket socket = listening.accept()) {
                OutputStream out = socket.getOutputStream();
                out.write(sent.getBytes(StandardCharsets.ISO_8859_1));
                if (!stays) {
                    socket.shutdownOutput();
                }
                return get(task);
            }
        }
    }

    private static <T> T get(FutureTask<T> task) throws Exception {
        try {
            return task.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw (Exception) e.getCause();
        }
    }

    private static void assertRefused(String sent, boolean client, String message) {
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> against(sent, client, false, peer -> {
                    peer.agree(Mtu.ofBytes(4096));
                    return peer.exchange(MINE);
                }))
                .withMessageContaining(message);
    }

    @Test
    void keysEqualTheTextOfTheCPrograms() throws IOException {
        assertThat(new String(MINE.toBytes(), StandardCharsets.US_ASCII))
                .isEqualTo(KEYS)
                .hasSize(PerftestKeys.BYTES);
        assertThat(PerftestKeys.from(KEYS.getBytes(StandardCharsets.US_ASCII))).isEqualTo(MINE);
    }

    @Test
    void agreeUsesTheSmallerMtuAndTheLargerBuffer() throws Exception {
        for (boolean client : new boolean[] {true, false}) {
            String larger = HELLO.replace("\0\0\u0010\0", "\0\1\0\0");
            PerftestKeys theirs = against(larger + "3\0" + KEYS, client, false, peer -> {
                assertThat(peer.agree(Mtu.ofBytes(4096))).isEqualTo(Mtu.ofBytes(1024));
                assertThat(peer.span()).isEqualTo(65_536);
                return peer.exchange(MINE);
            });
            assertThat(theirs).isEqualTo(MINE);
        }
    }

    @Test
    void agreeRefusesAnotherVersion() {
        for (boolean client : new boolean[] {true, false}) {
            assertRefused("5.96" + "\0".repeat(12), client, "the peer is perftest 5.96, but this tool supports");
            assertRefused("GET / HTTP/1.1\r\n", client, "the peer is not a program of perftest");
        }
    }

    @Test
    void exchangeRefusesInvalidValues() {
        assertRefused("6.06" + "\0".repeat(12) + "\u00ff".repeat(4), true, "sent -1 as the buffer size");
        assertRefused(HELLO + "9\0" + KEYS, true, "invalid MTU");
        assertRefused(HELLO + "3\0" + KEYS.replace(':', ' '), false, "keys that are not perftest's");
        assertRefused(HELLO + "3\0" + KEYS.replace('f', '\u00ff'), true, "keys that are not perftest's");
    }

    @Test
    void exchangeReportsAnEarlyClose() {
        for (boolean client : new boolean[] {true, false}) {
            assertRefused("", client, "closed the connection after 0 of the 16 bytes of its version");
            assertRefused("6.0", client, "closed the connection after 3 of the 16 bytes of its version");
            assertRefused(HELLO + "3\0" + KEYS.substring(9), client, "closed the connection after 99 of the 108 bytes");
        }
    }

    @Test
    void exchangeEndsAtItsTimeout() {
        for (boolean client : new boolean[] {true, false}) {
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> against("6.0", client, true, peer -> peer.agree(Mtu.ofBytes(4096))))
                    .withMessageContaining("sent 3 of the 16 bytes of its version within");
        }
    }

    @Test
    void reportConvertsMebibytesAndMegabytes() {
        Result result = new Result(PerfPlan.Mode.BW, 1 << 20, 100, PerfRun.histogram(), 1);
        PerftestPeer.Report report = PerftestPeer.Report.of(result);
        assertThat(report.mebibytes()).isEqualTo(100);
        assertThat(report.megabytesPerSecond()).isEqualTo(104.8576).isEqualTo(result.megabytesPerSecond());
        assertThat(report.millions()).isEqualTo(0.0001);
    }

    @Test
    void repeatRefusesOtherKeys() {
        PerfPlan plan = new PerfPlan(
                List.of(PerfPlan.Mode.LAT),
                PerfPlan.Operation.SEND,
                QueuePairType.RC,
                false,
                List.of(64),
                100,
                1,
                0,
                false,
                PerfTraffic.PLAIN);
        String other = KEYS.replace('5', '6');
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> against(KEYS + other, true, false, peer -> {
                    peer.exchange(MINE);
                    peer.repeat(PerftestPeer.Point.BEFORE_IT_MEASURES, plan);
                    return 0;
                }))
                .withMessageContaining("at another step");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "both --peer-perftest x | needs 'lat' or 'bw'",
                "server --peer-perftest | needs 'lat' or 'bw'",
                "lat --peer-perftest --self | with --self",
                "lat --peer-perftest -R x | with -R",
                "bw --peer-perftest -c UC x | RC only",
                "lat --peer-perftest --op atomic x | send, write and read only",
                "lat --peer-perftest -e x | with -e",
                "bw --peer-perftest -b x | with -D, -b and -q",
                "lat --peer-perftest -a x | one size at a time",
                "lat --peer-perftest -s 2,4 x | one size at a time",
                "lat --peer-perftest -n 4 x | at least 5",
                "lat --peer-perftest --json | the client has them"
            })
    void peerPerftestRefusesUnsupportedOptionsWithAReason(String words, String reason) {
        ToolRun.of(("perf " + words).split(" ")).refuses("--peer-perftest ", reason);
    }
}

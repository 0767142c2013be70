package dev.verbena.sockets;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.TestDevice;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * A program that knows nothing of RDMA, with the provider's flag. The programs with more code of others take long in a guest:
 * {@link HttpTest} and {@link NettyHttpTest}.
 */
@DeviceTest
class StockProgramTest {
    private static final int LENGTH = 100_000;

    private static long requestsOfFirstSockets;
    private static long packets;
    private static List<String> output;

    @BeforeAll
    static void runProgram() throws Exception {
        long requests = requests();
        Process process = ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        "-Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.RdmaSelectorProvider")
                .startOnClassPath(Program.class, CmAddress.four(0).getAddress().getHostAddress());
        try (BufferedReader lines = process.inputReader();
                OutputStream input = process.getOutputStream()) {
            assertThat(lines.readLine()).isEqualTo("opened");
            requestsOfFirstSockets = requests() - requests;
            packets = TestDevice.packetsSent();
            input.write('\n');
            input.flush();
            output = lines.lines().toList();
            packets = TestDevice.packetsSent() - packets;
            assertThat(process.waitFor(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
    }

    private static long requests() throws IOException {
        return Long.parseLong(Files.readString(Path.of("/sys/class/infiniband")
                        .resolve(TestDevice.get().name())
                        .resolve("ports/1/cm_tx_msgs/req"))
                .strip());
    }

    /** The first sockets of a process make room for the others. */
    @Test
    void firstSocketsOfAProcessSendNoRequestToAnyPeer() {
        assertThat(requestsOfFirstSockets).isZero();
    }

    @Test
    void streamsChannelsAndSelectorsOfTheJdkExchangeDataOverRdma() {
        assertThat(output).containsExactly("echoed: true", "in tcp: 0", "in tcp6: 0");
        assertThat(packets).as("packets of the device, of at most 4 KiB").isGreaterThan(2 * LENGTH / 4096);
    }

    /** A program with a server that selects, and a client with streams. */
    static final class Program {
        public static void main(String[] arguments) throws Exception {
            try (ServerSocketChannel server = ServerSocketChannel.open();
                    SocketChannel first = SocketChannel.open();
                    Selector selector = Selector.open()) {
                System.out.println("opened");
                System.in.read();
                server.bind(new InetSocketAddress(InetAddress.getByName(arguments[0]), 0));
                server.configureBlocking(false).register(selector, SelectionKey.OP_ACCEPT);
                InetSocketAddress address = (InetSocketAddress) server.getLocalAddress();
                Thread client = Thread.ofVirtual().start(() -> exchange(first, address));
                serve(selector, server);
                client.join();
                for (String table : List.of("tcp", "tcp6")) {
                    String port = ":%04X ".formatted(address.getPort());
                    List<String> lines = Files.readAllLines(Path.of("/proc/net", table));
                    System.out.println("in " + table + ": "
                            + lines.stream().filter(line -> line.contains(port)).count());
                }
            }
        }

        /** Sends back all that comes over one connection, until it ends. */
        private static void serve(Selector selector, ServerSocketChannel server) throws IOException {
            ByteBuffer buffer = ByteBuffer.allocate(4096);
            while (true) {
                selector.select();
                for (SelectionKey key : selector.selectedKeys()) {
                    if (key.isAcceptable()) {
                        server.accept().configureBlocking(false).register(selector, SelectionKey.OP_READ);
                    } else if (key.channel() instanceof SocketChannel channel) {
                        if (channel.read(buffer.clear()) < 0) {
                            channel.close();
                            return;
                        }
                        for (buffer.flip(); buffer.hasRemaining(); Thread.yield()) {
                            channel.write(buffer);
                        }
                    }
                }
                selector.selectedKeys().clear();
            }
        }

        private static void exchange(SocketChannel channel, InetSocketAddress address) {
            byte[] sent = new byte[LENGTH];
            new Random(1).nextBytes(sent);
            try {
                channel.connect(address);
                try (Socket socket = channel.socket()) {
                    OutputStream out = socket.getOutputStream();
                    InputStream in = socket.getInputStream();
                    byte[] came = new byte[LENGTH];
                    for (int at = 0; at < LENGTH; at += 1000) {
                        out.write(sent, at, 1000);
                        in.readNBytes(came, at, 1000);
                    }
                    System.out.println("echoed: " + Arrays.equals(came, sent));
                }
            } catch (IOException e) {
                e.printStackTrace();
            }
        }
    }
}

package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * C programs that know nothing of RDMA, with the library {@code librspreload.so}, and Java at the other end. They wait with
 * {@code epoll}, which that library knows in newer releases of rdma-core.
 */
@DeviceTest
class PreloadedProgramsTest {
    private static final InetSocketAddress REDIS = CmAddress.four(6399);

    private static Process start(Redirect output, String program, String... arguments) throws IOException {
        assumeTrue(
                Stream.of("/usr/bin", "/usr/sbin", "/usr/local/bin")
                        .anyMatch(folder -> Files.isExecutable(Path.of(folder, program))),
                program + " is not installed");
        assumeTrue(Preload.wraps("epoll_wait"), "librspreload.so of this rdma-core does not know epoll");
        List<String> command =
                Stream.concat(Stream.of(program), Stream.of(arguments)).toList();
        return new ProcessBuilder(Preload.of(command))
                .redirectErrorStream(true)
                .redirectOutput(output)
                .start();
    }

    // Redis

    @Test
    void redisServesJedisInAJvmWithTheFlag() throws Exception {
        Process server = start(
                Redirect.DISCARD,
                "redis-server",
                "--bind",
                REDIS.getHostString(),
                "--port",
                "" + REDIS.getPort(),
                "--save",
                "",
                "--protected-mode",
                "no");
        try {
            assertThat(ChildJvm.with(
                                    "--enable-native-access=ALL-UNNAMED",
                                    "-Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.RdmaSelectorProvider")
                            .runOnClassPath(RedisClient.class)
                            .successfulOutput())
                    .contains("class dev.verbena.sockets.RdmaSocketChannel", "10000 answers");
        } finally {
            server.destroyForcibly().waitFor();
        }
    }

    /** The program in the other JVM. It has no name of the library but in what it prints. */
    static final class RedisClient {
        public static void main(String[] arguments) {
            Await.until("a server that accepts", () -> {
                try (Jedis jedis = jedis()) {
                    return jedis.ping() != null;
                } catch (JedisConnectionException notYet) {
                    return false;
                }
            });
            try (Jedis jedis = jedis();
                    Pipeline pipeline = jedis.pipelined()) {
                String large = "0123456789".repeat(100_000);
                assertThat(jedis.set("large", large)).isEqualTo("OK");
                assertThat(jedis.get("large")).isEqualTo(large);
                IntStream.range(0, 10_000).forEach(i -> pipeline.incr("count"));
                List<Object> answers = pipeline.syncAndReturnAll();
                assertThat(answers)
                        .isEqualTo(IntStream.rangeClosed(1, 10_000)
                                .mapToObj(i -> (Object) (long) i)
                                .collect(Collectors.toList()));
                System.out.println(answers.size() + " answers");
            }
        }

        private static Jedis jedis() {
            return new Jedis(() -> {
                try {
                    SocketChannel channel = SocketChannel.open(REDIS);
                    System.out.println(channel.getClass());
                    Socket socket = channel.socket();
                    socket.setSoTimeout((int) Loopback.DEADLINE.toMillis());
                    return socket;
                } catch (IOException e) {
                    throw new JedisConnectionException(e);
                }
            });
        }
    }

    // iperf3

    /** The states of a test, which a server of iperf3 tells its client, but for the two of the client. */
    private static final int START = 1;

    private static final int RUNNING = 2;
    private static final int END = 4;
    private static final int PARAMETERS = 9;
    private static final int STREAMS = 10;
    private static final int RESULTS = 13;
    private static final int DISPLAY = 14;
    private static final int DONE = 16;
    private static final int COOKIE_BYTES = 37;
    private static final Pattern STREAM_BYTES =
            Pattern.compile("\"streams\":\\s*\\[\\{.*?\"bytes\":\\s*(\\d+)", Pattern.DOTALL);
    private static final Pattern SENT_AND_RECEIVED = Pattern.compile(
            "\"sum_sent\":.*?\"bytes\":\\s*(\\d+).*?\"sum_received\":.*?\"bytes\":\\s*(\\d+)", Pattern.DOTALL);

    @ParameterizedTest
    @ValueSource(strings = {"--version4", "--reverse"}) // the client sends, or the server
    void iperf3ExchangesDataWithAServerInJava(String way, @TempDir Path folder) throws Exception {
        boolean sends = way.equals("--reverse");
        try (ServerSocketChannel listener =
                RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET).bind(CmAddress.four(0))) {
            InetSocketAddress own = (InetSocketAddress) listener.getLocalAddress();
            Path output = folder.resolve("output");
            Process client = start(
                    Redirect.to(output.toFile()),
                    "iperf3",
                    "--json",
                    way,
                    "--bytes",
                    "20M",
                    "--port",
                    "" + own.getPort(),
                    "--client",
                    own.getHostString());
            try {
                long served = serve(listener, sends);
                assertThat(client.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                        .isTrue();
                String said = Files.readString(output);
                assertThat(client.exitValue()).as(said).isZero();
                Matcher totals = SENT_AND_RECEIVED.matcher(said);
                assertThat(totals.find()).as(said).isTrue();
                long received = Long.parseLong(totals.group(2));
                assertThat(totals.group(1)).as("sent").isEqualTo("" + (sends ? served : received));
                assertThat(received).isBetween(20L << 20, served);
            } finally {
                client.destroyForcibly().waitFor();
            }
        }
    }

    /** Serves one test with one stream. Returns the number of bytes that were sent, or that have come. */
    private static long serve(ServerSocketChannel listener, boolean sends) throws IOException {
        try (SocketChannel control = listener.accept()) {
            DataInputStream in = new DataInputStream(Channels.newInputStream(control));
            DataOutputStream out = new DataOutputStream(Channels.newOutputStream(control));
            byte[] cookie = in.readNBytes(COOKIE_BYTES);
            out.write(PARAMETERS);
            readText(in);
            out.write(STREAMS);
            try (SocketChannel stream = listener.accept()) {
                assertThat(stream).isInstanceOf(RdmaSocketChannel.class);
                assertThat(Channels.newInputStream(stream).readNBytes(COOKIE_BYTES))
                        .isEqualTo(cookie);
                out.write(START);
                out.write(RUNNING);
                long served = serveUntilEnd(stream, sends, control);
                out.write(RESULTS);
                Matcher ofClient = STREAM_BYTES.matcher(readText(in));
                assertThat(ofClient.find()).isTrue();
                if (!sends) {
                    served += Channels.newInputStream(stream)
                            .readNBytes((int) (Long.parseLong(ofClient.group(1)) - served))
                            .length;
                }
                byte[] results = ("{\"cpu_util_total\":0,\"cpu_util_user\":0,\"cpu_util_system\":0,"
                                + "\"sender_has_retransmits\":0,\"streams\":[{\"id\":1,\"bytes\":" + served
                                + ",\"retransmits\":-1,\"jitter\":0,\"errors\":0,\"packets\":0,"
                                + "\"start_time\":0,\"end_time\":1}]}")
                        .getBytes(StandardCharsets.UTF_8);
                out.writeInt(results.length);
                out.write(results);
                out.write(DISPLAY);
                assertThat(in.read()).isEqualTo(DONE);
                return served;
            }
        }
    }

    private static String readText(DataInputStream in) throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }

    /** Reads or writes a stream until the other channel has a byte, which tells the end. */
    private static long serveUntilEnd(SocketChannel stream, boolean sends, SocketChannel control) throws IOException {
        long served = 0;
        try (Selector selector = stream.provider().openSelector()) {
            stream.configureBlocking(false).register(selector, sends ? SelectionKey.OP_WRITE : SelectionKey.OP_READ);
            SelectionKey end = control.configureBlocking(false).register(selector, SelectionKey.OP_READ);
            ByteBuffer bytes = ByteBuffer.allocateDirect(1 << 17);
            while (!end.isReadable()) {
                assertThat(selector.select(Loopback.DEADLINE.toMillis())).isPositive();
                selector.selectedKeys().clear();
                served += sends ? stream.write(bytes.clear()) : stream.read(bytes.clear());
            }
        }
        stream.configureBlocking(true);
        control.configureBlocking(true);
        assertThat(Channels.newInputStream(control).read()).isEqualTo(END);
        return served;
    }
}

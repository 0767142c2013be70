package dev.verbena.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.docs.ValkeySnippets;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.Loopback;
import dev.verbena.support.Slow;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Jedis on the example {@code ValkeyConnection}, at Valkey's own server with its module {@code valkey-rdma.so}. */
@Slow
@EnabledIfSystemProperty(
        named = "dev.verbena.valkey",
        matches = ".+",
        disabledReason = "-Ddev.verbena.valkey=PATH names a valkey-server with valkey-rdma.so beside it")
class JedisAtValkeyTest {
    private static final InetSocketAddress ADDRESS = CmAddress.four(6380);
    private static final int TIMEOUT = (int) Loopback.DEADLINE.toMillis();

    private final List<Jedis> clients = new ArrayList<>();
    private Process server;

    @BeforeEach
    void start() throws Exception {
        Path program = Path.of(System.getProperty("dev.verbena.valkey"));
        server = new ProcessBuilder(
                        program.toString(),
                        "--port",
                        "0",
                        "--save",
                        "",
                        "--protected-mode",
                        "no",
                        "--loadmodule",
                        program.resolveSibling("valkey-rdma.so").toString(),
                        "bind=" + ADDRESS.getHostString(),
                        "port=" + ADDRESS.getPort(),
                        "rx-size=65536")
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        Await.until("a server that accepts", () -> {
            try (Jedis jedis = ValkeySnippets.jedis(ADDRESS, TIMEOUT)) {
                return jedis.ping() != null;
            } catch (JedisConnectionException notYet) {
                assertThat(server.isAlive()).isTrue();
                return false;
            }
        });
    }

    @AfterEach
    void end() throws Exception {
        clients.forEach(Jedis::close);
        server.destroyForcibly().waitFor();
    }

    private Jedis jedis() {
        Jedis made = ValkeySnippets.jedis(ADDRESS, TIMEOUT);
        clients.add(made);
        return made;
    }

    @Test
    void valuesPassThroughBothRings() {
        Jedis jedis = jedis();
        byte[] key = {1};
        for (int size : new int[] {0, 1, 4095, 65_535, 65_536, 65_537, 1 << 20, 3_000_000}) {
            byte[] value = new byte[size];
            new SplittableRandom(size).nextBytes(value);
            jedis.set(key, value);
            assertThat(jedis.get(key)).isEqualTo(value);
        }
    }

    @Test
    void tenThousandCommandsArePipelined() {
        ValkeyConnectionTest.countsToTenThousand(jedis());
    }

    @Test
    void subscriberWaitsWhileAnotherThreadUnsubscribes() throws Exception {
        AtomicReference<String> heard = new AtomicReference<>();
        JedisPubSub subscription = new JedisPubSub() {
            @Override
            public void onMessage(String channel, String message) {
                heard.set(message);
            }
        };
        Jedis subscriber = jedis();
        Thread waiting = Thread.ofPlatform().start(() -> subscriber.subscribe(subscription, "news"));
        Jedis publisher = jedis();
        Await.until("a subscriber", () -> publisher.publish("news", "all is well") == 1);
        Await.until("the message", () -> heard.get() != null);
        subscription.unsubscribe();
        Await.end(waiting);
        assertThat(heard.get()).isEqualTo("all is well");
        assertThat(subscriber.ping()).isEqualTo("PONG");
    }

    @Test
    void killedServerEndsTheConnection() {
        Jedis jedis = jedis();
        jedis.ping();
        server.destroyForcibly();
        assertThatThrownBy(jedis::ping).isInstanceOf(JedisConnectionException.class);
    }
}

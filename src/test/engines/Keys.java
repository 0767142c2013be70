import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** A client of Lettuce, which names nothing of RDMA. Argument: the number of its commands. */
public final class Keys {
    private static final RedisClient CLIENT = RedisClient.create(RedisURI.builder()
            .withHost("192.0.2.2")
            .withPort(6379)
            .withTimeout(Duration.ofMinutes(10))
            .build());

    private Keys() {}

    public static void main(String[] args) throws Exception {
        int commands = Integer.parseInt(args[0]);
        StatefulRedisConnection<String, String> connection = connect();
        RedisCommands<String, String> keys = connection.sync();
        String large = "0123456789".repeat(100_000);
        check(keys.set("large", large).equals("OK"), "a large value is set");
        check(keys.get("large").equals(large), "a large value comes back");
        long start = System.nanoTime();
        for (long i = 1; i <= commands; i++) {
            check(keys.incr("count") == i, "counted");
        }
        long called = System.nanoTime();
        connection.setAutoFlushCommands(false);
        List<? extends Future<Long>> answers = Stream.generate(
                        () -> connection.async().incr("many"))
                .limit(10L * commands)
                .toList();
        connection.flushCommands();
        connection.setAutoFlushCommands(true);
        for (int i = 0; i < answers.size(); i++) {
            check(answers.get(i).get() == i + 1, "answers are in order");
        }
        System.out.printf(
                "%d us a command; %d in one go in %d ms%n",
                (called - start) / commands / 1000, answers.size(), (System.nanoTime() - called) / 1_000_000);
        subscribe(keys);
        System.out.println("calling");
        int failed = callUntilTheServerHasForgotten(keys);
        System.out.printf("the server was killed and started again, %d commands failed, and commands go on%n", failed);
        System.out.println("done");
        System.in.read(); // the test looks at the sockets meanwhile
    }

    /** Connects once the server listens, for which it gets two minutes. */
    private static StatefulRedisConnection<String, String> connect() {
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
        while (true) {
            try {
                return CLIENT.connect();
            } catch (RedisConnectionException notYet) {
                if (System.nanoTime() - end > 0) {
                    throw notYet;
                }
                LockSupport.parkNanos(100_000_000); // leaves the only processor of the guest to the server
            }
        }
    }

    /** Counts until the server begins anew. Returns how many commands failed: one whose connection is reset may. */
    private static int callUntilTheServerHasForgotten(RedisCommands<String, String> keys) {
        int failed = 0;
        for (long last = 0; ; ) {
            try {
                long next = keys.incr("calls");
                if (next <= last) {
                    return failed;
                }
                last = next;
            } catch (RedisException e) {
                failed++;
            }
        }
    }

    private static void subscribe(RedisCommands<String, String> keys) throws InterruptedException {
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        try (StatefulRedisPubSubConnection<String, String> subscriber = CLIENT.connectPubSub()) {
            subscriber.addListener(new RedisPubSubAdapter<>() {
                @Override
                public void message(String channel, String message) {
                    heard.add(message);
                }
            });
            subscriber.sync().subscribe("news");
            keys.publish("news", "hello");
            check(heard.take().equals("hello"), "the subscriber's message");
        }
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException("Not " + what);
        }
    }
}

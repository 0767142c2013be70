package strangers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.link.BiasedLock;
import dev.verbena.net.Channel;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import dev.verbena.support.Await;
import dev.verbena.support.Loopback;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A lock stays with its thread while that thread lives, wherever it is: it may be in the program's code, or deep in it. */
@Timeout(150)
class LivingOwnerTest {
    private static final int TRIES = 5_000;

    /** Has a thread take a lock and stay outside the library with it. Then all tries of another thread are in vain. */
    private static void assertStaysTaken(int frames, Runnable lock, Runnable unlock, BooleanSupplier tryLock)
            throws InterruptedException {
        CountDownLatch taken = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        Thread owner = new Thread(() -> {
            lock.run();
            taken.countDown();
            Depth.await(frames, over);
            unlock.run();
        });
        owner.start();
        taken.await();
        try {
            for (int i = 0; i < TRIES; i++) {
                assertThat(tryLock.getAsBoolean()).isFalse();
            }
        } finally {
            over.countDown();
            Await.end(owner);
        }
        assertThat(tryLock.getAsBoolean()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, Depth.DEEP})
    void mutexStaysWithItsOwner(int frames) throws InterruptedException {
        Mutex lock = new Mutex();
        assertStaysTaken(frames, lock::lock, lock::unlock, lock::tryLock);
    }

    @Test
    void mutexOfAThreadThatHasEndedIsFree() throws InterruptedException {
        for (int i = 0; i < 2; i++) {
            Mutex lock = new Mutex();
            Await.end(Thread.ofPlatform().start(lock::lock));
            assertThat(i == 0 || lock.tryLock()).isTrue();
            lock.lock();
            assertThat(lock.isHeldByCurrentThread()).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, Depth.DEEP})
    void biasStaysWithItsHolder(int frames) throws InterruptedException {
        BiasedLock lock = new BiasedLock();
        Runnable often = () -> {
            for (int i = 0; i < TRIES; i++) {
                lock.lock();
                lock.unlock();
            }
            lock.lock();
        };
        assertStaysTaken(frames, often, lock::unlock, lock::tryLock);
    }

    @Test
    void handlersOfANodeRunOneAtATimeHoweverDeepTheyAre() throws Exception {
        InetSocketAddress own = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        NodeOptions options = NodeOptions.defaults().transport(Transport.TCP);
        AtomicInteger begun = new AtomicInteger();
        CountDownLatch over = new CountDownLatch(1);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node server = Node.open(own, options.progress(NodeOptions.Progress.CALLER), arena);
            server.listen((channel, message) -> {
                begun.incrementAndGet();
                Depth.await(Depth.DEEP, over);
            });
            Thread first = new Thread(() -> Await.until("a handler's end", () -> {
                server.progress();
                return over.getCount() == 0;
            }));
            first.start();
            Node client = Node.open(own, options, arena);
            Channel one = client.connect(server.address(), Loopback.DEADLINE);
            Channel other = client.connect(server.address(), Loopback.DEADLINE);
            one.send(one.message(Loopback.DEADLINE).length(1), Loopback.DEADLINE);
            Await.until("the first handler", () -> begun.get() == 1);
            other.send(other.message(Loopback.DEADLINE).length(1), Loopback.DEADLINE);
            Await.until("the second message", () -> {
                server.progress();
                return server.statistics().received() == 2;
            });
            for (int i = 0; i < TRIES; i++) {
                server.progress();
            }
            assertThat(begun).hasValue(1);
            over.countDown();
            Await.end(first);
            Await.until("the second handler", () -> {
                server.progress();
                return begun.get() == 2;
            });
        }
    }
}

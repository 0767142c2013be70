package dev.verbena.load;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.LongTest;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.support.Resources;
import dev.verbena.tools.CmTime;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePairState;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Many connections that are open at once, while new ones replace the oldest. Both ends are in this process. A machine that
 * can't make as many a second as are wanted makes as many as it can, for the same time; the rate of C stands beside. {@code
 * -Ddev.verbena.load.connections=N}, {@code -Ddev.verbena.load.rate=N} (a second, if the machine can), {@code
 * -Ddev.verbena.load.clients=N} (threads) and {@code -Ddev.verbena.load.held.seconds=N} set the load.
 */
@LongTest
class HeldConnectionsTest {
    private static final int HELD = Integer.getInteger("dev.verbena.load.connections", 2000);
    private static final int RATE = Integer.getInteger("dev.verbena.load.rate", 100);
    private static final Duration DURATION =
            Duration.ofSeconds(Integer.getInteger("dev.verbena.load.held.seconds", 600));
    private static final Duration REPORT = Duration.ofSeconds(30);
    /** The number of threads that connect, and of those that accept. */
    private static final int CLIENTS = Integer.getInteger("dev.verbena.load.clients", 4);

    private static final int HELD_BY_ONE = (HELD + CLIENTS - 1) / CLIENTS;
    private static final ConnectionResources SMALL = ConnectionResources.of(QueueCapabilities.of(4, 4));

    /** The growth of resident memory in KiB that the JVM itself needs. */
    private static final long SLACK_KIB = 8 << 10;

    private static final int OTHER_FILES = 10;

    private static final int OF_C = 200;

    /** A connection and the arena that owns it. */
    private record Held(Connection connection, VerbsArena arena) {}

    /** The process at a point in time. */
    private record Sample(int made, int held, long residentKib, long files) {
        static Sample of(int made, int held) throws java.io.IOException {
            return new Sample(made, held, Resources.residentKib(), OpenFileLimit.count());
        }
    }

    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final AtomicInteger started = new AtomicInteger();
    private final AtomicInteger made = new AtomicInteger();
    private final AtomicInteger held = new AtomicInteger();
    private final ConcurrentLinkedQueue<Held> accepted = new ConcurrentLinkedQueue<>();

    /** The connections made a second between the last two reports: a JVM in a guest gets warm for minutes. */
    private double rate;

    private double reportedAt;
    private int reported;

    @Test
    void heldConnectionsNeedAtMostOneDescriptorEachAndNoMoreMemory() throws Exception {
        double inC = rateOfC();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Listener listener = Listener.open(CmAddress.four(0), arena);
            List<Thread> acceptors = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                acceptors.add(Thread.ofPlatform().daemon().name("acceptor").start(() -> accept(listener)));
            }
            try {
                hold(listener.address(), inC);
            } finally {
                listener.close();
                for (Thread acceptor : acceptors) {
                    Await.end(acceptor);
                }
                accepted.forEach(each -> each.arena.close());
            }
        }
        assertThat(Resources.ofThisProcess()).isEmpty();
    }

    private void hold(InetSocketAddress address, double inC) throws Exception {
        long files = OpenFileLimit.count();
        long began = System.nanoTime();
        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            clients.add(Thread.ofPlatform().daemon().name("client").start(() -> connect(address, began)));
        }
        List<Sample> full = new ArrayList<>();
        while (clients.stream().anyMatch(Thread::isAlive)) {
            Sample sample = report(began);
            if (sample.held >= HELD) {
                full.add(sample);
            }
            for (Thread client : clients) {
                client.join(REPORT.toMillis() / CLIENTS);
            }
        }
        Sample last = full.isEmpty() ? report(began) : full.getLast();
        System.out.printf(
                "%d connections made in %.0f s, at last %.1f a second; %d were wanted, and cmtime in C makes and ends %.1f%n",
                made.get(), seconds(began), rate, RATE, inC);
        Throwable thrown = failure.get();
        if (thrown != null) {
            throw new AssertionError(thrown + " at " + last, thrown);
        }
        assertThat(full).as("reports while " + HELD + " were held").isNotEmpty();
        Sample first = full.getFirst();
        assertThat(last.files - files)
                .as("descriptors for " + HELD + " connections")
                .isLessThanOrEqualTo(HELD);
        assertThat(last.files).as("descriptors").isBetween(first.files - OTHER_FILES, first.files + OTHER_FILES);
        assertThat(last.residentKib - first.residentKib).as("growth in KiB").isLessThan(SLACK_KIB);
    }

    private static double seconds(long began) {
        return (System.nanoTime() - began) / 1e9;
    }

    private Sample report(long began) throws Exception {
        double seconds = seconds(began);
        Sample sample = Sample.of(made.get(), held.get());
        rate = seconds > reportedAt ? (sample.made - reported) / (seconds - reportedAt) : 0;
        reportedAt = seconds;
        reported = sample.made;
        System.out.printf(
                "%.0f s: %d made (now %.1f a second), %d held, %d KiB resident, %d files%n",
                seconds, sample.made, rate, sample.held, sample.residentKib, sample.files);
        return sample;
    }

    private void connect(InetSocketAddress address, long began) {
        Deque<Held> own = new ArrayDeque<>();
        long end = began + DURATION.toNanos();
        try {
            while (failure.get() == null && (end - System.nanoTime() > 0 || own.size() < HELD_BY_ONE)) {
                long due = began + started.getAndIncrement() * (TimeUnit.SECONDS.toNanos(1) / RATE);
                for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
                VerbsArena arena = VerbsArena.ofConfined();
                own.add(new Held(Connection.open(address, DEADLINE, SMALL, arena), arena));
                made.incrementAndGet();
                if (own.size() > HELD_BY_ONE) {
                    own.removeFirst().arena.close();
                } else {
                    held.incrementAndGet();
                }
            }
            for (Held each : own) {
                assertThat(each.connection.isOpen()).isTrue();
                assertThat(each.connection.queuePair().query().state()).isEqualTo(QueuePairState.RTS);
            }
        } catch (Throwable t) {
            failure.compareAndSet(null, t);
        } finally {
            own.forEach(each -> each.arena.close());
        }
    }

    private void accept(Listener listener) {
        try {
            for (int i = 0; ; i++) {
                VerbsArena arena = VerbsArena.ofShared();
                try {
                    accepted.add(new Held(listener.accept(Duration.ofHours(3), SMALL, arena), arena));
                } catch (Throwable t) {
                    arena.close();
                    throw t;
                }
                if (i % 50 == 0) {
                    closeEnded();
                }
            }
        } catch (IllegalStateException closed) {
            assert !listener.id().isOpen() : closed;
        } catch (Throwable t) {
            failure.compareAndSet(null, t);
        }
    }

    private void closeEnded() {
        for (Held each : accepted) {
            if (!each.connection.isOpen() && accepted.remove(each)) {
                each.arena.close();
            }
        }
    }

    /** Lets the program of rdma-core make and end connections, and returns how many it makes a second. */
    private static double rateOfC() throws Exception {
        String address = CmAddress.four(0).getAddress().getHostAddress();
        return OF_C * 1e3 / CmTime.milliseconds(address, OF_C);
    }
}

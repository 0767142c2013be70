package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.verbena.VerbsArena;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Hammer;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A cursor, other threads that use it, and other threads that close its queue. */
@FencedTest
@Hammer
@Timeout(120)
class CompletionThreadsTest {
    private static final int COUNT = 4;
    private static final int BATCH = 1 << 12;
    private static final long LONGEST_CLOSE = 75_000;
    private static final int MANY = 1 << 13;

    private static void write(Loopback loopback, int count) {
        for (int i = 0; i < count; i++) {
            loopback.left.pair.postWrite(i, loopback.left.buffer.slice(0, 8), loopback.right.buffer.remote());
        }
    }

    @ParameterizedTest
    @EnumSource
    void nextRefusesAnotherThread(ArenaKind kind) {
        try (Loopback loopback = Loopback.connected(kind.make(), QueuePairAttributes.none())) {
            Completions done = loopback.left.queue.completions(COUNT);
            write(loopback, COUNT);
            assertThat(done.poll()).isEqualTo(COUNT);
            assertThat(done.next()).isTrue();
            for (OtherThread.Call<?> use :
                    new OtherThread.Call<?>[] {done::next, done::id, done::isSuccess, done::completion, done::poll}) {
                assertThatThrownBy(() -> OtherThread.call(use)).isInstanceOf(WrongThreadException.class);
            }
            for (int i = 1; i < COUNT; i++) {
                assertThat(done.next()).isTrue();
                assertThat(done.id()).isEqualTo(i);
            }
            assertThat(done.next()).isFalse();
        }
    }

    /** The other thread must not move the cursor: the owner sees each completion once, and every poll ends. */
    @ParameterizedTest
    @EnumSource
    void pollEndsWhileAnotherThreadCallsNext(ArenaKind kind) throws Throwable {
        try (Loopback loopback = Loopback.connected(kind.make(), QueuePairAttributes.none())) {
            Completions done = loopback.left.queue.completions(COUNT);
            done.poll(); // the cursor belongs to this thread now
            AtomicBoolean stop = new AtomicBoolean();
            AtomicInteger refused = new AtomicInteger();
            OtherThread<Void> stranger = OtherThread.start(() -> {
                while (!stop.get()) {
                    try {
                        done.next();
                    } catch (WrongThreadException expected) {
                        refused.incrementAndGet();
                    }
                }
            });
            try {
                for (int round = 0; round < 5_000 || refused.get() == 0; round++) {
                    write(loopback, COUNT);
                    assertThat(done.poll()).isEqualTo(COUNT);
                    if (round % 2 == 0) { // the next poll drops the rest
                        for (int i = 0; i < COUNT; i++) {
                            assertThat(done.next()).isTrue();
                            assertThat(done.id()).isEqualTo(i);
                        }
                    }
                }
            } finally {
                stop.set(true);
                stranger.join();
            }
        }
    }

    /** The poll drops many unread completions, while another thread closes the queue. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void pollEndsWhenAnotherThreadClosesTheQueue(boolean failures) throws Throwable {
        for (int round = 0; round < (failures ? 10 : 100); round++) {
            VerbsArena arena = VerbsArena.ofShared();
            Context context = TestDevice.get().open(arena);
            CompletionQueue queue = context.createCompletionQueue(MANY);
            complete(context.allocateProtectionDomain(), queue, failures);
            CountDownLatch fetched = new CountDownLatch(1);
            OtherThread<Throwable> owner = OtherThread.start(() -> {
                Completions done = queue.completions(MANY);
                assertThat(done.poll()).isEqualTo(MANY);
                fetched.countDown();
                while (queue.isOpen()) {
                    Thread.onSpinWait();
                }
                long start = System.nanoTime() + ThreadLocalRandom.current().nextLong(LONGEST_CLOSE);
                while (System.nanoTime() < start) {
                    Thread.onSpinWait(); // so that the queue is destroyed at any point of the poll
                }
                return catchThrowable(done::poll);
            });
            fetched.await();
            arena.close();
            assertThat(owner.join()).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
        }
    }

    private static void complete(ProtectionDomain domain, CompletionQueue queue, boolean failures) {
        QueuePair pair =
                domain.createQueuePair(QueuePair.rc(queue).sendDepth(BATCH).receiveDepth(BATCH));
        pair.connect(pair.endpoint());
        MemoryRegion buffer =
                domain.register(domain.arena().allocate(8), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        RemoteMemory remote = buffer.remote();
        ReceiveBatch receives = pair.receiveBatch(BATCH);
        SendBatch writes = pair.sendBatch(BATCH);
        for (int i = 0; i < BATCH; i++) {
            receives.receive(i);
            writes.write(i, buffer, remote);
        }
        if (failures) {
            pair.fail();
        }
        for (int posted = 0; posted < MANY; posted += BATCH) {
            if (failures) {
                receives.post(); // flushed
            } else {
                writes.post();
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void nextThrowsOnceTheQueueIsClosed(ArenaKind kind) {
        try (Loopback loopback = Loopback.connected(kind.make(), QueuePairAttributes.none())) {
            CompletionQueue queue = loopback.context.createCompletionQueue(4);
            Completions unused = queue.completions(1);
            Completions used = queue.completions(1);
            used.poll();
            queue.close();
            for (Completions closed : new Completions[] {unused, used}) {
                assertThatThrownBy(closed::next)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("closed");
            }
        }
    }
}

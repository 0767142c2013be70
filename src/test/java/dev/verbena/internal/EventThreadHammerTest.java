package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.OpenFileLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Threads watch descriptors and end the watches while events come. Descriptors get the numbers of closed ones, and the event
 * thread starts and retires all the time, because now and then nothing is watched.
 */
class EventThreadHammerTest {
    private static final int THREADS = 3;
    private static final int ROUNDS = 400;

    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

    /** An eventfd that one thread watches. */
    private final class Watched implements EventThread.Handler {
        private final int descriptor = EventDescriptor.make(0);
        private final AtomicInteger events = new AtomicInteger();
        private final boolean closesItself;
        private volatile EventThread.@Nullable Watch watch;
        private boolean closed;

        Watched(boolean apart, boolean closesItself) {
            this.closesItself = closesItself;
            watch = EventThread.watch(descriptor, apart, this);
        }

        void raise() {
            EventDescriptor.raise(descriptor);
        }

        @Override
        public synchronized void readable() {
            if (closed) {
                return; // once more after the end, as documented: the number may be another file's by now
            }
            if (EventDescriptor.take(descriptor)) {
                events.incrementAndGet();
            }
            EventThread.Watch known = watch;
            if (closesItself && known != null) {
                known.close();
            }
        }

        @Override
        public void failed(Throwable cause) {
            failure.compareAndSet(null, new AssertionError("a live watch failed", cause));
        }

        void end() {
            Objects.requireNonNull(watch).close();
            synchronized (this) { // the handler may be at work
                closed = true;
            }
        }
    }

    private void hammer(IntConsumer round) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int seed = i;
            threads.add(Thread.ofPlatform().daemon().start(() -> {
                for (int n = 0; n < ROUNDS && failure.get() == null; n++) {
                    try {
                        round.accept(n * THREADS + seed);
                    } catch (Throwable t) {
                        failure.compareAndSet(null, t);
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            Await.end(thread);
        }
        assertThat(failure.get()).isNull();
        Await.until("the end of the event thread", () -> RunningEventThread.pollDescriptor() == -1);
    }

    @Test
    void watchReportsAllEventsWhileOthersComeAndGo() throws Exception {
        hammer(n -> {
            boolean apart = n % 2 == 0;
            Watched watched = new Watched(apart, false);
            try {
                for (int i = 1; i <= 3; i++) {
                    int events = i;
                    watched.raise();
                    Await.until("event " + i, () -> watched.events.get() >= events);
                }
            } finally {
                watched.end();
                SystemCall.close(watched.descriptor);
            }
        });
    }

    /** The event and the end of the watch meet. An event of a closed descriptor reaches no watch of the same number. */
    @Test
    void watchEndsBesideItsEvent() throws Exception {
        hammer(n -> {
            SplittableRandom random = new SplittableRandom(n);
            Watched watched = new Watched(n % 2 == 0, false);
            try {
                watched.raise();
                for (int i = random.nextInt(2_000); i > 0; i--) {
                    Thread.onSpinWait();
                }
            } finally {
                watched.end();
                SystemCall.close(watched.descriptor);
            }
        });
    }

    @Test
    void watcherEndsItsOwnWatch() throws Exception {
        hammer(n -> {
            boolean apart = n % 2 == 0;
            Watched watched = new Watched(apart, true);
            try {
                watched.raise();
                Await.until("the event", () -> watched.events.get() == 1);
                watched.raise(); // nobody watches, or the watch ends a moment later
            } finally {
                watched.end();
                SystemCall.close(watched.descriptor);
            }
        });
    }

    @Test
    void retiredEventThreadsLeaveNoDescriptors() throws Exception {
        new Watched(false, false).end();
        Await.until("the end of the event thread", () -> RunningEventThread.pollDescriptor() == -1);
        long before = OpenFileLimit.count();
        hammer(n -> {
            Watched watched = new Watched(false, false);
            watched.end();
            SystemCall.close(watched.descriptor);
        });
        Await.until("as few descriptors as before", () -> OpenFileLimit.count() <= before);
    }
}

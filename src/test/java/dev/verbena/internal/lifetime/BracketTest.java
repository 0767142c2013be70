package dev.verbena.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Barrier;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Await;
import dev.verbena.support.LibraryCopy;
import dev.verbena.support.OtherThread;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import strangers.Depth;

/** The brackets around calls into C. */
class BracketTest {
    private final List<String> destroyed = new CopyOnWriteArrayList<>();

    @Test
    void firstThreadHasTheFlagAndOthersCount() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ObjectLifetime guard = GuardedObject.in(arena, "object", destroyed).lifetime;
            int own = guard.enter();
            assertThat(own).isEqualTo(SharedGuard.FLAGGED);
            int other = OtherThread.call(() -> {
                int way = guard.enter();
                guard.exit(way);
                return way;
            });
            assertThat(other).isEqualTo(SharedGuard.COUNTED);
            guard.exit(own);
            int again = guard.enter();
            assertThat(again).isEqualTo(SharedGuard.FLAGGED);
            guard.exit(again);
        }
        assertThat(destroyed).containsExactly("object");
    }

    @Test
    void nextThreadGetsTheFlagOfThreadThatHasEnded() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ObjectLifetime guard = GuardedObject.in(arena, "object", destroyed).lifetime;
            Await.end(Thread.ofPlatform().start(() -> guard.exit(guard.enter())));
            int way = guard.enter();
            guard.exit(way);
            assertThat(way).isEqualTo(SharedGuard.FLAGGED);
        }
    }

    @Test
    void nextThreadGetsTheFlagOfForgottenUser() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ObjectLifetime guard = GuardedObject.in(arena, "object", destroyed).lifetime;
            guard.exit(guard.enter());
            guard.forgetUser();
            int other = OtherThread.call(() -> {
                int way = guard.enter();
                guard.exit(way);
                return way;
            });
            assertThat(other).isEqualTo(SharedGuard.FLAGGED);
        }
    }

    @Test
    void confinedObjectNeedsNoBracket() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ObjectLifetime guard = GuardedObject.in(arena, "object", destroyed).lifetime;
            int way = guard.enter();
            assertThat(way).isEqualTo(Lifetime.UNGUARDED);
            guard.exit(way);
            guard.forgetUser();
            guard.checkOpen();
        }
    }

    @ParameterizedTest
    @EnumSource
    void closedObjectRefusesCallsAndNamesItself(ArenaKind kind) {
        try (VerbsArena arena = kind.make()) {
            GuardedObject object = GuardedObject.in(arena, "object", destroyed);
            object.close();
            ObjectLifetime guard = object.lifetime;
            assertThatIllegalStateException().isThrownBy(guard::checkOpen).withMessage("object is closed");
            assertThatIllegalStateException().isThrownBy(guard::hold).withMessage("object is closed");
            assertThatIllegalStateException().isThrownBy(guard::enter).withMessage("object is closed");
        }
    }

    @Test
    void confinedObjectIsOpenToItsThreadUntilItIsClosed() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            GuardedObject object = GuardedObject.in(arena, "object", destroyed);
            ObjectLifetime guard = object.lifetime;
            guard.checkOpen();
            assertThatThrownBy(() -> OtherThread.run(guard::checkOpen)).isInstanceOf(WrongThreadException.class);
            object.refusing = true;
            assertThatThrownBy(object::close).isInstanceOf(VerbsException.class);
            guard.checkOpen(); // C refused
            object.refusing = false;
            object.close();
            assertThatIllegalStateException().isThrownBy(guard::checkOpen);
            assertThatThrownBy(() -> OtherThread.run(guard::checkOpen)).isInstanceOf(WrongThreadException.class);
        }
    }

    /** Also once it is closed: another thread must not learn that from its exception only now and then. */
    @Test
    void closedConfinedObjectStillBelongsToItsThread() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            GuardedObject object = GuardedObject.in(arena, "object", destroyed);
            object.close();
            ObjectLifetime guard = object.lifetime;
            assertThat(guard.owner()).isSameAs(Thread.currentThread());
            assertThat(guard.isConfined()).isTrue();
            assertThat(guard.isAccessibleBy(Thread.currentThread())).isTrue();
            assertThat(guard.isAccessibleBy(Thread.ofPlatform().unstarted(() -> {})))
                    .isFalse();
            assertThatThrownBy(() -> OtherThread.run(guard::checkOpen)).isInstanceOf(WrongThreadException.class);
            assertThatThrownBy(() -> OtherThread.run(object::close)).isInstanceOf(WrongThreadException.class);
        }
    }

    @Test
    void sharedObjectBelongsToNoThread() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ObjectLifetime guard = GuardedObject.in(arena, "object", destroyed).lifetime;
            assertThat(guard.owner()).isNull();
            assertThat(guard.isConfined()).isFalse();
            assertThat(guard.isAccessibleBy(Thread.ofPlatform().unstarted(() -> {})))
                    .isTrue();
        }
    }

    /** Closes an object that another thread uses on its data path, in a process without {@code membarrier}. */
    static final class WithoutMembarrier implements Callable<String> {
        @Override
        public String call() throws Exception {
            List<String> events = new CopyOnWriteArrayList<>();
            try (VerbsArena arena = VerbsArena.ofShared()) {
                GuardedObject object = GuardedObject.in(arena, "destroyed", events);
                ObjectLifetime guard = object.lifetime;
                int way = guard.enter();
                events.add("system call " + Barrier.isSystemCall());
                Thread closer = Thread.ofPlatform().daemon().start(object::close);
                Await.until("the close", guard::isClosed);
                Await.until("the closer waits", () -> closer.getState() == Thread.State.TIMED_WAITING);
                events.add("end of the call");
                guard.exit(way);
                closer.join();
                try {
                    guard.enter();
                    events.add("entered");
                } catch (IllegalStateException refused) {
                    events.add(String.valueOf(refused.getMessage()));
                }
            }
            return String.join(", ", events);
        }
    }

    @Test
    void closeWaitsForCallsWithoutMembarrierToo() {
        assertThat(LibraryCopy.call(WithoutMembarrier.class, Map.of("dev.verbena.membarrier", "false")))
                .isEqualTo("system call false, end of the call, destroyed, destroyed is closed");
    }

    /** Closes an arena while threads are in calls, in a process whose closes do not wait for long. */
    static final class WithoutPatience implements Callable<String> {
        /** More threads than have places of their own. */
        private static final int MANY = 20;

        @Override
        public String call() throws Exception {
            List<String> events = new CopyOnWriteArrayList<>();
            VerbsArena arena = VerbsArena.ofShared();
            ObjectLifetime guard = GuardedObject.in(arena, "destroyed", events).lifetime;
            for (int i = 0; i < MANY; i++) { // their places become free
                Await.end(Thread.ofPlatform().start(() -> guard.held().close()));
            }
            for (boolean data : new boolean[] {false, true}) {
                CountDownLatch inside = new CountDownLatch(1);
                CountDownLatch over = new CountDownLatch(1);
                Thread user = Thread.ofPlatform().name("user").start(() -> {
                    guard.held().close();
                    int way = data ? guard.enter() : 0;
                    if (!data) {
                        guard.hold();
                    }
                    inside.countDown();
                    Depth.await(Depth.DEEP, over);
                    if (data) {
                        guard.exit(way);
                    } else {
                        guard.release();
                    }
                });
                awaitLatch(inside);
                events.add(refusal(arena));
                over.countDown();
                Await.end(user);
            }
            guard.hold();
            events.add(refusal(arena));
            guard.release();
            int way = guard.enter();
            guard.forgetUser();
            events.add(refusal(arena));
            guard.exit(way);
            Await.end(Thread.ofPlatform().start(guard::hold)); // has ended inside
            Await.end(Thread.ofPlatform().start(guard::enter));
            arena.close();
            closeBesideAClose(events);
            closeWhileManyAreInside(events);
            return String.join(", ", events);
        }

        private static void closeBesideAClose(List<String> events) throws Exception {
            VerbsArena arena = VerbsArena.ofShared();
            GuardedObject slow = GuardedObject.in(arena, "slow", events);
            CountDownLatch inside = new CountDownLatch(1);
            CountDownLatch over = new CountDownLatch(1);
            slow.whenDestroyed = () -> {
                if (inside.getCount() > 0) {
                    inside.countDown();
                    awaitLatch(over);
                }
            };
            Thread closer = Thread.ofPlatform().name("closer").start(arena::close);
            awaitLatch(inside);
            events.add(refusal(arena));
            over.countDown();
            Await.end(closer);
        }

        /** The last thread of many has no place of its own, and no name. It leaves by a place that has become free. */
        private static void closeWhileManyAreInside(List<String> events) throws Exception {
            VerbsArena arena = VerbsArena.ofShared();
            ObjectLifetime guard = GuardedObject.in(arena, "used by many", events).lifetime;
            CountDownLatch firstLeave = new CountDownLatch(1);
            CountDownLatch lastLeaves = new CountDownLatch(1);
            CountDownLatch lastHasLeft = new CountDownLatch(1);
            CountDownLatch lastEnds = new CountDownLatch(1);
            Await.end(inside(guard, () -> {})); // ends inside
            List<Thread> first = new ArrayList<>();
            for (int i = 0; i < MANY; i++) {
                first.add(inside(guard, () -> {
                    awaitLatch(firstLeave);
                    guard.release();
                }));
            }
            Thread last = inside(guard, () -> {
                awaitLatch(lastLeaves);
                guard.held().close();
                guard.release();
                lastHasLeft.countDown();
                awaitLatch(lastEnds);
            });
            firstLeave.countDown();
            for (Thread each : first) {
                Await.end(each);
            }
            events.add(refusal(arena));
            lastLeaves.countDown();
            Await.until("the last one has left", () -> lastHasLeft.getCount() == 0 || !last.isAlive());
            arena.close();
            lastEnds.countDown();
        }

        private static Thread inside(ObjectLifetime guard, Runnable then) {
            CountDownLatch inside = new CountDownLatch(1);
            Thread thread = Thread.ofPlatform().daemon().start(() -> {
                guard.hold();
                inside.countDown();
                then.run();
            });
            Await.until("the thread is inside", () -> inside.getCount() == 0 || !thread.isAlive());
            return thread;
        }

        private static String refusal(VerbsArena arena) {
            try {
                arena.close();
                return "closed";
            } catch (ResourceBusyException e) {
                assert e.dependents().isEmpty();
                String text = String.valueOf(e.getMessage());
                return (arena.scope().isAlive() ? "" : "freed ")
                        + text.replaceAll(".*EBUSY[^.]*[.] (.* uses it).*", "$1");
            }
        }
    }

    @Test
    void closeRefusesWhileAThreadThatLivesIsInACallOrCloses() {
        assertThat(LibraryCopy.call(WithoutPatience.class, Map.of("dev.verbena.closeLimit", "20")))
                .isEqualTo(
                        "Thread 'user' has been in a call that uses it, Thread 'user' has been in a call that uses it,"
                                + " This thread is in a call that uses it, A thread has been in a call that uses it,"
                                + " destroyed, Thread 'closer' has been in a call that uses it, slow,"
                                + " A thread has been in a call that uses it, used by many");
    }

    /** A call that was refused because of a close that failed later leaves nothing that the next close waits for. */
    @Test
    void callsThatWereRefusedDoNotDelayTheNextClose() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            GuardedObject object = GuardedObject.in(arena, "object", destroyed);
            CountDownLatch closing = new CountDownLatch(1);
            CountDownLatch goOn = new CountDownLatch(1);
            object.whenDestroyed = () -> {
                closing.countDown();
                awaitLatch(goOn);
            };
            object.refusing = true;
            int way = object.lifetime.enter(); // this thread has the flag
            object.lifetime.exit(way);
            AtomicReference<Throwable> refusal = new AtomicReference<>();
            Thread closer = Thread.ofPlatform().daemon().start(() -> {
                try {
                    object.close();
                } catch (VerbsException e) {
                    refusal.set(e);
                }
            });
            awaitLatch(closing);
            assertThatIllegalStateException().isThrownBy(object.lifetime::enter);
            assertThatIllegalStateException().isThrownBy(object.lifetime::hold);
            assertThatIllegalStateException().isThrownBy(() -> OtherThread.call(object.lifetime::enter));
            goOn.countDown();
            Await.end(closer);
            assertThat(refusal.get()).isNotNull();
            object.whenDestroyed = null;
            object.refusing = false;
            object.close();
        }
        assertThat(destroyed).containsExactly("object");
    }

    /** Else one would end the call of the other. */
    @Test
    void oneOfTwoThreadsThatEnterAtOnceHasTheFlag() throws Exception {
        for (int round = 0; round < 200; round++) {
            try (VerbsArena arena = VerbsArena.ofShared()) {
                ObjectLifetime guard = GuardedObject.in(arena, "object", destroyed).lifetime;
                CyclicBarrier both = new CyclicBarrier(2);
                AtomicInteger ready = new AtomicInteger();
                Callable<Integer> use = () -> {
                    ready.incrementAndGet();
                    while (ready.get() < 2) {
                        Thread.onSpinWait();
                    }
                    int way = guard.enter();
                    guard.exit(way);
                    both.await(); // the flag of a thread that has ended is free
                    return way;
                };
                OtherThread<Integer> other = OtherThread.start(use);
                assertThat(List.of(use.call(), other.join()))
                        .containsExactlyInAnyOrder(SharedGuard.FLAGGED, SharedGuard.COUNTED);
            }
        }
        assertThat(destroyed).hasSize(200);
    }

    /** Calls from the end of the stack, and then from each frame above, until a call does not overflow. */
    private static void callFromTheEndOfTheStack(Runnable call, int wide) {
        try {
            if (wide > 0) {
                callFromTheEndOfTheStack(call, wide - 1, 0L, 0L);
            } else {
                callFromTheEndOfTheStack(call, 0);
            }
        } catch (StackOverflowError end) {
            call.run();
        }
    }

    /** Takes more of the stack, so that the frames end elsewhere. */
    private static long callFromTheEndOfTheStack(Runnable call, int wide, long more, long yetMore) {
        callFromTheEndOfTheStack(call, wide);
        return more + yetMore;
    }

    @Test
    void closeThatRunsOutOfStackWhileItWaitsCanBeRepeated() throws Throwable {
        for (int round = 0; round < 40; round++) {
            int wide = round;
            try (VerbsArena arena = VerbsArena.ofShared()) {
                GuardedObject object = GuardedObject.in(arena, "object", destroyed);
                int way = object.lifetime.enter();
                Runnable work = () -> callFromTheEndOfTheStack(object::close, wide);
                Thread closer = new Thread(null, work, "closer", 256 << 10);
                closer.start();
                Await.until(
                        "the closer waits", () -> closer.getState() == Thread.State.TIMED_WAITING || !closer.isAlive());
                object.lifetime.exit(way);
                Await.end(closer);
                assertThat(destroyed).as("round " + round).hasSize(round + 1);
            }
        }
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}

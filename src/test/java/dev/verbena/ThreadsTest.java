package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.lifetime.Lifetime;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.support.Hammer;
import dev.verbena.support.OtherThread;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which thread may do what, and how closing and using keep out of each other's way. */
@Hammer
@Timeout(120)
class ThreadsTest {
    private final List<String> destroyed = new ArrayList<>();

    private static void assertWrongThread(ThrowingCallable work) {
        assertThatThrownBy(() -> OtherThread.call(() -> {
                    work.call();
                    return null;
                }))
                .isInstanceOf(WrongThreadException.class)
                .hasMessageContaining("thread");
    }

    @Test
    void confinedArenaRefusesOtherThreads() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            FakeObject object = FakeObject.in(arena, "object", destroyed);
            assertWrongThread(arena::close);
            assertWrongThread(() -> arena.allocate(8));
            assertWrongThread(() -> FakeObject.in(arena, "foreign", destroyed));
            assertWrongThread(object::close);
            assertWrongThread(() -> object.use(() -> {}));
            assertWrongThread(() -> object.useFast(() -> {}));
            assertThat(ArenaLifetime.of(arena).objects()).containsExactly(object);
            assertThat(destroyed).isEmpty();
        }
        assertThat(destroyed).containsExactly("object");
    }

    @Test
    void confinedParentRefusesChildrenOfOtherThreads() {
        try (VerbsArena shared = VerbsArena.ofShared();
                VerbsArena confined = VerbsArena.ofConfined()) {
            FakeObject parent = FakeObject.in(confined, "parent");
            assertWrongThread(() -> FakeObject.in(shared, "child", destroyed, parent));
            assertThat(ArenaLifetime.of(shared).objects()).isEmpty();
        }
    }

    @Test
    void confinedMemoryRefusesObjectsOfOtherThreads() {
        try (VerbsArena shared = VerbsArena.ofShared();
                VerbsArena confined = VerbsArena.ofConfined()) {
            MemorySegment memory = confined.allocate(8);
            assertWrongThread(() -> FakeObject.over(shared, memory, "region"));
        }
    }

    @Test
    void wrongThreadMessageNamesBothThreadsAndARemedy() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            assertThatThrownBy(() -> OtherThread.run(arena::close))
                    .hasMessageContaining(Thread.currentThread().getName())
                    .hasMessageContaining("'other'")
                    .hasMessageContaining("VerbsArena.ofShared()");
        }
    }

    @Test
    void sharedArenaIsClosedByAnotherThread() throws Throwable {
        VerbsArena arena = VerbsArena.ofShared();
        FakeObject object = FakeObject.in(arena, "object", destroyed);
        OtherThread.run(() -> object.use(() -> {}));
        OtherThread.run(arena::close);
        assertThat(destroyed).containsExactly("object");
        assertThatIllegalStateException().isThrownBy(() -> object.use(() -> {}));
    }

    @Test
    void sharedObjectIsClosedByAnotherThread() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            FakeObject object = FakeObject.in(arena, "object", destroyed);
            OtherThread.run(object::close);
            assertThat(object.isOpen()).isFalse();
        }
        assertThat(destroyed).containsExactly("object");
    }

    @Test
    void concurrentCloseSucceedsInOneThread() throws Throwable {
        VerbsArena arena = VerbsArena.ofShared();
        FakeObject object = FakeObject.in(arena, "object");
        List<OtherThread<Boolean>> closers = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            closers.add(OtherThread.start(() -> {
                try {
                    arena.close();
                    return true;
                } catch (IllegalStateException closedAlready) {
                    return false;
                }
            }));
        }
        int successes = 0;
        for (OtherThread<Boolean> closer : closers) {
            successes += closer.join() ? 1 : 0;
        }
        assertThat(successes).isEqualTo(1);
        assertThat(object.timesDestroyed()).isEqualTo(1);
    }

    @Test
    void objectCloseWaitsForRunningCallsAndRefusesLaterOnes() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            FakeObject object = FakeObject.in(arena, "object");
            assertCloseWaits(object, object::close, work -> object.use(work));
        }
    }

    @Test
    void objectCloseWaitsForTheFirstDataPathThread() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            FakeObject object = FakeObject.in(arena, "object");
            assertCloseWaits(object, object::close, work -> object.useFast(work));
        }
    }

    @Test
    void objectCloseWaitsForOtherDataPathThreads() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            FakeObject object = FakeObject.in(arena, "object");
            object.useFast(() -> {}); // this thread is the first now
            assertCloseWaits(object, object::close, work -> object.useFast(work));
        }
    }

    @Test
    void arenaCloseWaitsForRunningCalls() throws Throwable {
        VerbsArena arena = VerbsArena.ofShared();
        FakeObject object = FakeObject.in(arena, "object");
        assertCloseWaits(object, arena::close, work -> object.useFast(work));
    }

    @Test
    void arenaCloseWaitsForObjectsUnderConstruction() throws Throwable {
        VerbsArena arena = VerbsArena.ofShared();
        CountDownLatch making = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        OtherThread<FakeObject> maker = OtherThread.start(() -> SlowlyMade.in(arena, making, goOn));
        making.await();
        OtherThread<Void> closer = OtherThread.start(arena::close);
        awaitClosing(ArenaLifetime.of(arena));
        assertThatIllegalStateException().isThrownBy(() -> FakeObject.in(arena, "late", destroyed));
        assertThat(closer.isDone()).isFalse();
        goOn.countDown();
        FakeObject made = maker.join();
        closer.join();
        assertThat(made.timesDestroyed())
                .as("it came in time, and was closed with the rest")
                .isEqualTo(1);
        assertThat(destroyed).isEmpty();
    }

    private interface User {
        void use(Runnable work);
    }

    /** While one thread is in a call, another closes: it must not get through before the call has ended. */
    private static void assertCloseWaits(FakeObject object, Runnable close, User user) throws Throwable {
        CountDownLatch inCall = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        OtherThread<Integer> caller = OtherThread.start(() -> {
            int[] destroyedMeanwhile = new int[1];
            user.use(() -> {
                inCall.countDown();
                await(goOn);
                destroyedMeanwhile[0] = object.timesDestroyed();
            });
            return destroyedMeanwhile[0];
        });
        inCall.await();
        OtherThread<Void> closer = OtherThread.start(close);
        awaitClosing(object.lifetime());
        assertThatIllegalStateException().isThrownBy(() -> object.use(() -> {}));
        assertThatIllegalStateException().isThrownBy(() -> object.useFast(() -> {}));
        assertThat(closer.isDone()).isFalse();
        goOn.countDown();
        assertThat(caller.join()).as("destroyed during the call").isZero();
        closer.join();
        assertThat(object.timesDestroyed()).isEqualTo(1);
        assertThatIllegalStateException().isThrownBy(() -> object.useFast(() -> {}));
    }

    @Test
    void closingAnObjectThatIsBeingPublishedLeavesNoDependent() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            AtomicBoolean stop = new AtomicBoolean();
            AtomicReference<FakeObject> target = new AtomicReference<>();
            OtherThread<Void> closer = OtherThread.start(() -> {
                while (!stop.get()) {
                    FakeObject parent = target.get();
                    if (parent != null) {
                        closeDependents(parent);
                    }
                }
            });
            try {
                for (int round = 0; round < 5_000; round++) {
                    FakeObject first = FakeObject.in(arena, "first");
                    List<FakeObject> others = new ArrayList<>();
                    for (int i = 0; i < 4; i++) {
                        others.add(FakeObject.in(arena, "other " + i));
                    }
                    target.set(first);
                    FakeObject child = FakeObject.in(
                            arena,
                            "child",
                            Stream.concat(Stream.of(first), others.stream()).toArray(VerbsObject[]::new));
                    target.set(null);
                    child.close();
                    first.close();
                    others.forEach(FakeObject::close);
                }
            } finally {
                stop.set(true);
                closer.join();
            }
        }
    }

    private static void closeDependents(FakeObject parent) {
        for (ObjectLifetime dependent : parent.lifetime().dependents()) {
            dependent.close();
        }
    }

    private static void awaitClosing(Lifetime guarded) {
        while (!guarded.isClosed()) {
            Thread.onSpinWait();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** An object whose making another thread can watch. */
    private static final class SlowlyMade extends FakeObject {
        private SlowlyMade(ObjectLifetime lifetime) {
            super(lifetime, "slowly made", object -> {});
        }

        static FakeObject in(VerbsArena arena, CountDownLatch making, CountDownLatch goOn) {
            return ObjectLifetime.create(arena, lifetime -> {
                making.countDown();
                await(goOn);
                return new SlowlyMade(lifetime);
            });
        }
    }
}

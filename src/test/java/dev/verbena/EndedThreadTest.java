package dev.verbena;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.OtherThread;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Confined arenas whose thread has ended without closing them: another thread can. */
@Timeout(120)
class EndedThreadTest {
    private final List<String> destroyed = new ArrayList<>();
    private final AtomicReference<FakeObject> object = new AtomicReference<>();
    private final AtomicReference<MemorySegment> memory = new AtomicReference<>();

    /** Makes an arena with an object and memory on a thread, and returns when this thread has ended. */
    private VerbsArena abandoned(Function<Runnable, Thread> starter) throws InterruptedException {
        AtomicReference<VerbsArena> arena = new AtomicReference<>();
        Thread thread = starter.apply(() -> {
            VerbsArena made = VerbsArena.ofConfined();
            FakeObject older = FakeObject.in(made, "older", destroyed);
            object.set(FakeObject.in(made, "object", destroyed, older));
            memory.set(made.allocate(JAVA_INT));
            arena.set(made);
        });
        Await.end(thread);
        return arena.get();
    }

    private VerbsArena abandoned() throws InterruptedException {
        return abandoned(Thread.ofPlatform()::start);
    }

    @Test
    void arenaOfAnEndedThreadIsClosedByAnother() throws InterruptedException {
        VerbsArena arena = abandoned();
        arena.close();
        assertThat(destroyed).containsExactly("object", "older");
        assertThat(object.get().isOpen()).isFalse();
        assertThatIllegalStateException().isThrownBy(arena::close).withMessageContaining("closed");
        assertThatThrownBy(() -> memory.get().get(JAVA_INT, 0)).isInstanceOf(WrongThreadException.class);
    }

    @Test
    void arenaOfAnEndedVirtualThreadIsClosedByAnother() throws InterruptedException {
        VerbsArena arena = abandoned(Thread.ofVirtual()::start);
        arena.close();
        assertThat(destroyed).containsExactly("object", "older");
    }

    @Test
    void arenaOfALivingThreadIsNotClosedByAnother() throws Throwable {
        CountDownLatch done = new CountDownLatch(1);
        AtomicReference<VerbsArena> arena = new AtomicReference<>();
        CountDownLatch made = new CountDownLatch(1);
        OtherThread<Void> owner = OtherThread.start(() -> {
            arena.set(VerbsArena.ofConfined());
            made.countDown();
            done.await();
            arena.get().close();
            return null;
        });
        made.await();
        assertThatThrownBy(arena.get()::close).isInstanceOf(WrongThreadException.class);
        done.countDown();
        owner.join();
    }

    /** Until the arena is closed, nothing else is allowed: the objects still belong to the ended thread. */
    @Test
    void objectsOfAnEndedThreadStayConfined() throws InterruptedException {
        VerbsArena arena = abandoned();
        assertThatThrownBy(() -> object.get().use(() -> {})).isInstanceOf(WrongThreadException.class);
        assertThatThrownBy(object.get()::close).isInstanceOf(WrongThreadException.class);
        assertThatThrownBy(() -> arena.allocate(8)).isInstanceOf(WrongThreadException.class);
        arena.close();
    }

    @Test
    void failedCloseOfAnEndedThreadsArenaCanBeRepeated() throws InterruptedException {
        VerbsArena arena = abandoned();
        object.get().refuse(true);
        assertThatThrownBy(arena::close).isInstanceOf(VerbsException.class);
        object.get().refuse(false);
        assertThatThrownBy(() -> OtherThread.run(arena::close)).isInstanceOf(WrongThreadException.class);
        arena.close();
        assertThat(destroyed).containsExactly("object", "older");
    }

    @Test
    void onlyOneThreadTakesAnEndedThreadsArenaOver() throws Throwable {
        for (int round = 0; round < 100; round++) {
            destroyed.clear();
            VerbsArena arena = abandoned();
            List<OtherThread<String>> closers = new ArrayList<>();
            AtomicInteger ready = new AtomicInteger();
            CountDownLatch over = new CountDownLatch(2);
            for (int i = 0; i < 2; i++) {
                closers.add(OtherThread.start(() -> {
                    ready.incrementAndGet();
                    while (ready.get() < 2) {
                        Thread.onSpinWait();
                    }
                    try {
                        arena.close();
                        return "closed";
                    } catch (IllegalStateException | WrongThreadException late) {
                        return late.getClass().getSimpleName();
                    } finally {
                        over.countDown();
                        over.await(); // the new owner has not ended
                    }
                }));
            }
            List<String> results = new ArrayList<>();
            for (OtherThread<String> closer : closers) {
                results.add(closer.join());
            }
            assertThat(results).containsExactlyInAnyOrder("closed", "WrongThreadException");
            assertThat(destroyed).containsExactly("object", "older");
        }
    }

    @Test
    void freedMemoryOfAnEndedThreadIsNotRegistered() throws InterruptedException {
        abandoned().close();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            assertThatThrownBy(() -> FakeObject.over(arena, memory.get(), "region"))
                    .isInstanceOf(RuntimeException.class);
            assertThatThrownBy(() -> FakeObject.overForeign(arena, memory.get(), "region"))
                    .isInstanceOf(RuntimeException.class);
        }
    }

    @Test
    void memoryOfEndedThreadsIsFreed() {
        ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(AbandonedArenas.class)
                .successfulOutput();
    }

    /** Memory that is too much for the machine: the check comes before the allocation. */
    @Test
    void confinedMemoryChecksItsThreadBeforeItAllocates() {
        long huge = 1L << 50;
        Arena arena = new ConfinedMemory();
        assertThatThrownBy(() -> OtherThread.call(() -> arena.allocate(huge, 8)))
                .isInstanceOf(WrongThreadException.class);
        assertThatThrownBy(() -> arena.allocate(huge, 8)).isInstanceOf(OutOfMemoryError.class);
        arena.close();
        assertThatIllegalStateException().isThrownBy(() -> arena.allocate(huge, 8));
    }

    @Test
    void confinedMemoryIsCheckedAsThatOfTheJdk() throws Throwable {
        Arena arena = new ConfinedMemory();
        MemorySegment first = arena.allocate(8, 8);
        first.set(JAVA_INT, 0, 1);
        assertThat(first.scope()).isEqualTo(arena.scope());
        assertThat(first.isAccessibleBy(Thread.currentThread())).isTrue();
        assertThat(first.isAccessibleBy(Thread.ofPlatform().unstarted(() -> {})))
                .isFalse();
        assertThatThrownBy(() -> OtherThread.call(() -> first.get(JAVA_INT, 0)))
                .isInstanceOf(WrongThreadException.class);
        assertThatThrownBy(() -> OtherThread.call(() -> arena.allocate(8))).isInstanceOf(WrongThreadException.class);
        arena.close();
        assertThat(arena.scope().isAlive()).isFalse();
        assertThatIllegalStateException().isThrownBy(() -> first.get(JAVA_INT, 0));
        assertThatIllegalStateException().isThrownBy(() -> arena.allocate(8));
        assertThatIllegalStateException().isThrownBy(arena::close);
    }

    /** A program for {@link ChildJvm}: closes confined arenas with memory whose threads have ended. */
    static final class AbandonedArenas {
        private static final int ARENAS = 16;
        private static final long SIZE = 16 << 20;

        /** Returns the bytes of memory that this process uses. */
        private static long resident() throws IOException {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith("VmRSS:")) {
                    return Long.parseLong(line.replaceAll("\\D", "")) << 10;
                }
            }
            throw new AssertionError("no VmRSS");
        }

        public static void main(String[] args) throws IOException, InterruptedException {
            long before = resident();
            for (int i = 0; i < ARENAS; i++) {
                AtomicReference<VerbsArena> arena = new AtomicReference<>();
                AtomicReference<Throwable> failure = new AtomicReference<>();
                Thread thread = Thread.ofPlatform().start(() -> {
                    try {
                        arena.set(VerbsArena.ofConfined());
                        arena.get().allocate(SIZE);
                    } catch (Throwable t) {
                        failure.set(t);
                    }
                });
                Await.end(thread);
                if (failure.get() != null) {
                    throw new AssertionError("arena " + i, failure.get());
                }
                arena.get().close();
            }
            System.out.println("grown by " + (resident() - before) + " of " + ARENAS * SIZE);
            if (resident() - before > ARENAS * SIZE / 2) {
                throw new AssertionError("the memory was not freed");
            }
        }
    }
}

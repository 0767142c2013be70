package dev.verbena.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Await;
import dev.verbena.support.OtherThread;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The lifetimes of arenas and objects where two threads, two arenas or two parents meet. */
class LifetimeTest {
    private final List<String> destroyed = new CopyOnWriteArrayList<>();

    private GuardedObject in(VerbsArena arena, String name, GuardedObject... parents) {
        return GuardedObject.in(arena, name, destroyed, parents);
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {64, 4096})
    void untouchedMemoryIsZeroAndAlignedAndFreedWithItsArena(long alignment) throws IOException {
        long size = 64 << 20; // C has a mapping of its own for so much
        long start;
        try (VerbsArena arena = VerbsArena.ofShared()) {
            MemorySegment memory = ArenaLifetime.of(arena).allocateUntouched(size, alignment);
            start = memory.address();
            assertThat(start % alignment).isZero();
            assertThat(memory.byteSize()).isEqualTo(size);
            for (long at = 0; at < size; at += size - 1) {
                assertThat(memory.get(ValueLayout.JAVA_BYTE, at)).isZero();
                memory.set(ValueLayout.JAVA_BYTE, at, (byte) 1);
            }
            assertThat(isMapped(start, size)).isTrue();
        }
        assertThat(isMapped(start, size)).isFalse();
    }

    private static boolean isMapped(long start, long size) throws IOException {
        try (Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
            return mappings.map(line -> line.substring(0, line.indexOf(' ')).split("-"))
                    .anyMatch(range -> Long.parseUnsignedLong(range[0], 16) <= start
                            && start + size <= Long.parseUnsignedLong(range[1], 16));
        }
    }

    @Test
    void untouchedMemoryThatAThreadMayNotUseIsFreedOnce() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            assertThatThrownBy(
                            () -> OtherThread.call(() -> ArenaLifetime.of(arena).allocateUntouched(64 << 20, 64)))
                    .isInstanceOf(WrongThreadException.class);
        }
    }

    @Test
    void memoryThatTheSystemRefusesIsNamed() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            assertThatExceptionOfType(OutOfMemoryError.class)
                    .isThrownBy(() -> ArenaLifetime.of(arena).allocateUntouched(1L << 50, 64))
                    .withMessage("calloc(1125899906842688): the system has no memory of this size");
        }
    }

    @Test
    void closeOfAnObjectDoesNotWaitForTheCloseOfItsArena() throws Throwable {
        VerbsArena arena = VerbsArena.ofShared();
        GuardedObject object = in(arena, "object");
        GuardedObject slow = in(arena, "slow");
        CountDownLatch closing = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        slow.whenDestroyed = () -> {
            closing.countDown();
            awaitLatch(goOn);
        };
        OtherThread<Void> ofArena = OtherThread.start(arena::close);
        awaitLatch(closing);
        object.close();
        assertThat(destroyed).containsExactly("object");
        FutureTask<Void> second = new FutureTask<>(slow::close, null);
        Thread closer = Thread.ofPlatform().daemon().start(second);
        Await.until(
                "the second close of an object waits for the first",
                () -> Await.isIn(closer, "dev.verbena.internal.Mutex", "tryLockWithin"));
        assertThat(arena.scope().isAlive()).isTrue();
        goOn.countDown();
        ofArena.join();
        second.get();
        assertThat(destroyed).containsExactly("object", "slow");
        assertThat(arena.scope().isAlive()).isFalse();
    }

    @Test
    void workWithoutClosingIsForTheOwnersThread() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            GuardedObject object = in(arena, "object");
            assertThatThrownBy(() -> OtherThread.call(() -> object.lifetime.withoutClosing(() -> "done")))
                    .isInstanceOf(WrongThreadException.class);
            assertThat(object.lifetime.withoutClosing(() -> "done")).isEqualTo("done");
            assertThat(object.isOpen()).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource
    void closedArenaSaysSo(ArenaKind kind) {
        VerbsArena arena = kind.make();
        arena.close();
        assertThatIllegalStateException().isThrownBy(arena::close).withMessage(arena + " is closed");
        assertThat(arena).asString().isEqualTo(kind.name().toLowerCase() + " VerbsArena (0 objects, closed)");
    }

    /** Open arenas are kept, because an adapter may use their memory. */
    @Test
    void closedArenaIsCollectedAndAnOpenOneIsNot() {
        WeakReference<VerbsArena> closed = new WeakReference<>(closedArena());
        VerbsArena open = VerbsArena.ofShared();
        WeakReference<VerbsArena> kept = new WeakReference<>(open);
        MemorySegment memory = open.allocate(8);
        open = null;
        Await.until("the closed arena is collected", () -> {
            System.gc();
            return closed.get() == null;
        });
        assertThat(kept.get()).isNotNull();
        assertThat(ArenaLifetime.owning(memory)).isSameAs(ArenaLifetime.of(kept.get()));
        kept.get().close();
        assertThat(ArenaLifetime.owning(memory)).isNull();
    }

    private static VerbsArena closedArena() {
        VerbsArena arena = VerbsArena.ofShared();
        arena.close();
        return arena;
    }

    @Test
    void lifetimeIsOfOneObject() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> GuardedObject.twins(arena, destroyed))
                    .withMessage("The lifetime belongs to another object: first");
            assertThat(ArenaLifetime.of(arena).objects()).isEmpty();
        }
    }

    /** Memory may be missing for what follows the call of C. */
    @Test
    void objectThatCHasDestroyedIsClosedAlthoughItsCloseFails() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            GuardedObject parent = in(arena, "parent");
            GuardedObject object = in(arena, "object", parent);
            object.whenDestroyed = () -> {
                destroyed.add("object in C");
                object.lifetime.noteDestroyed();
                throw new OutOfMemoryError("for a test");
            };
            assertThatThrownBy(object::close).isInstanceOf(OutOfMemoryError.class);
            assertThat(object.isOpen()).isFalse();
            object.close();
        }
        assertThat(destroyed).containsExactly("object in C", "parent");
    }

    // Objects that are being made

    /**
     * Closes something while an object is made that depends on it, and returns the exception of the close.
     *
     * @param maker makes the object, and runs its argument meanwhile
     */
    private Throwable closeWhileMaking(AutoCloseable closed, Lifetime guard, Consumer<Runnable> maker)
            throws InterruptedException {
        AtomicReference<Throwable> refusal = new AtomicReference<>();
        Thread closer = Thread.ofPlatform().daemon().unstarted(() -> {
            try {
                closed.close();
            } catch (Exception e) {
                refusal.set(e);
            }
        });
        maker.accept(() -> {
            closer.start();
            Await.until("the close", guard::isClosed);
        });
        Await.end(closer);
        return refusal.get();
    }

    private Consumer<Runnable> childIn(VerbsArena arena, GuardedObject parent) {
        return meanwhile -> GuardedObject.in(arena, "child", destroyed, meanwhile, parent);
    }

    @Test
    void parentStaysOpenIfAChildIsMadeAtTheSameTime() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            GuardedObject parent = in(arena, "parent");
            assertThat(closeWhileMaking(parent, parent.lifetime, childIn(arena, parent)))
                    .isInstanceOf(ResourceBusyException.class)
                    .hasMessageContaining("child");
            assertThat(parent.isOpen()).isTrue();
            assertThat(destroyed).isEmpty();
        }
        assertThat(destroyed).containsExactly("child", "parent");
    }

    @Test
    void arenaStaysOpenIfAnObjectOfAnotherArenaIsMadeAtTheSameTime() throws Throwable {
        VerbsArena arena = VerbsArena.ofShared();
        try (VerbsArena other = VerbsArena.ofShared()) {
            GuardedObject parent = in(arena, "parent");
            assertThat(closeWhileMaking(arena, ArenaLifetime.of(arena), childIn(other, parent)))
                    .isInstanceOf(ResourceBusyException.class)
                    .hasMessageContaining("child");
            assertThat(parent.isOpen()).isTrue();
            assertThat(destroyed).isEmpty();
            MemorySegment memory = arena.allocate(8);
            assertThat(memory.scope().isAlive()).isTrue();
        }
        arena.close();
        assertThat(destroyed).containsExactly("child", "parent");
    }

    /** An adapter would write to freed memory. */
    @Test
    void arenaStaysOpenIfItsMemoryIsRegisteredAtTheSameTime() throws Throwable {
        VerbsArena arena = VerbsArena.ofShared();
        try (VerbsArena other = VerbsArena.ofShared()) {
            MemorySegment memory = arena.allocate(8);
            in(arena, "object");
            assertThat(closeWhileMaking(
                            arena,
                            ArenaLifetime.of(arena),
                            meanwhile -> GuardedObject.over(memory, other, "region", destroyed, meanwhile)))
                    .isInstanceOf(ResourceBusyException.class)
                    .hasMessageContaining("region");
            assertThat(destroyed).isEmpty();
            assertThat(memory.scope().isAlive()).isTrue();
        }
        arena.close();
        assertThat(destroyed).containsExactly("region", "object");
    }

    // Objects that move, or close first

    @Test
    void movedObjectDependsOnItsNewParent() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            GuardedObject before = in(arena, "before");
            GuardedObject other = in(arena, "other");
            GuardedObject object = in(arena, "object", before, other);
            GuardedObject after = in(arena, "after");
            List<String> moved = new ArrayList<>();
            object.lifetime.move(before, after, () -> moved.add("moved"));
            assertThat(moved).containsExactly("moved");
            assertThatExceptionOfType(ResourceBusyException.class)
                    .isThrownBy(after::close)
                    .satisfies(busy -> assertThat(busy.dependents()).containsExactly(object));
            assertThatExceptionOfType(ResourceBusyException.class).isThrownBy(other::close);
            before.close();
            object.close();
            after.close();
            other.close();
        }
        assertThat(destroyed).containsExactly("before", "object", "after", "other");
    }

    @Test
    void failedMoveKeepsTheParent() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            GuardedObject before = in(arena, "before");
            GuardedObject object = in(arena, "object", before);
            GuardedObject after = in(arena, "after");
            assertThatThrownBy(() -> object.lifetime.move(before, after, () -> {
                        throw new VerbsException("move", "object", 16, "");
                    }))
                    .isInstanceOf(VerbsException.class);
            assertThatExceptionOfType(ResourceBusyException.class).isThrownBy(before::close);
            after.close();
            object.close();
            before.close();
        }
        assertThat(destroyed).containsExactly("after", "object", "before");
    }

    /** The new parent is younger than the object, and would go first by its age. */
    @ParameterizedTest
    @EnumSource
    void arenaDestroysAMovedObjectBeforeItsNewParent(ArenaKind kind) {
        try (VerbsArena arena = kind.make()) {
            GuardedObject before = in(arena, "before");
            GuardedObject object = in(arena, "object", before);
            GuardedObject after = in(arena, "after");
            object.lifetime.move(before, after, () -> {});
        }
        assertThat(destroyed).containsExactly("object", "after", "before");
    }

    /** Neither the object nor its parents nor their arenas are closed while C moves the object. */
    @Test
    void closeWaitsForTheEndOfAMove() throws InterruptedException {
        for (int i = 0; i < 6; i++) {
            destroyed.clear();
            VerbsArena arena = VerbsArena.ofShared();
            VerbsArena fromArena = VerbsArena.ofShared();
            VerbsArena toArena = VerbsArena.ofShared();
            GuardedObject from = in(fromArena, "from");
            GuardedObject to = in(toArena, "to");
            GuardedObject object = in(arena, "object", from);
            AutoCloseable closed = List.<AutoCloseable>of(object, to, arena, toArena, from, fromArena)
                    .get(i);
            Lifetime guard =
                    closed instanceof VerbsArena of ? ArenaLifetime.of(of) : ObjectLifetime.of((GuardedObject) closed);
            boolean busyBefore = i >= 4; // an object depends on it, and the close ends at once
            List<Throwable> refusals = new CopyOnWriteArrayList<>();
            Thread closer = Thread.ofPlatform().daemon().unstarted(() -> {
                try {
                    closed.close();
                } catch (Exception e) {
                    refusals.add(e);
                }
            });
            List<String> during = new ArrayList<>();
            object.lifetime.move(from, to, () -> {
                closer.start();
                Await.until("the close", () -> busyBefore || guard.isClosed());
                Set<Thread.State> states = Set.of(Thread.State.TIMED_WAITING, Thread.State.TERMINATED);
                Await.until("the closer waits, or was refused", () -> states.contains(closer.getState()));
                during.addAll(destroyed);
            });
            Await.end(closer);
            assertThat(during).as("destroyed during the move").isEmpty();
            boolean busyAfter = closed == to || closed == toArena;
            assertThat(refusals).hasSize(busyBefore || busyAfter ? 1 : 0);
            for (VerbsArena each : List.of(arena, fromArena, toArena)) {
                if (each.scope().isAlive()) {
                    each.close();
                }
            }
            assertThat(destroyed).containsExactlyInAnyOrder("object", "from", "to");
        }
    }

    @Test
    void objectsOfAnotherArenaAreNotClosedFirst() {
        try (VerbsArena other = VerbsArena.ofShared()) {
            GuardedObject window = in(other, "window");
            try (VerbsArena arena = VerbsArena.ofShared()) {
                in(arena, "region").lifetime.closesAfter(() -> List.of(window));
            }
            assertThat(destroyed).containsExactly("region");
            assertThat(window.isOpen()).isTrue();
        }
    }

    /** The arena had looked for such objects, and begun to close. */
    @Test
    void objectOfAnotherArenaIsNotDestroyedWithItsParent() {
        VerbsArena arena = VerbsArena.ofShared();
        try (VerbsArena other = VerbsArena.ofShared()) {
            GuardedObject parent = in(arena, "parent");
            in(arena, "youngest").whenDestroyed = () -> in(other, "child", parent);
            assertThatExceptionOfType(ResourceBusyException.class)
                    .isThrownBy(arena::close)
                    .withMessageContaining("child");
            assertThat(destroyed).containsExactly("youngest");
        }
        arena.close();
        assertThat(destroyed).containsExactly("youngest", "child", "parent");
    }

    // Arenas of ended threads

    /** The close fails, so that the new owner has open and closed objects. */
    @Test
    void objectsOfAnEndedThreadBelongToTheThreadThatTriedToCloseThem() throws Throwable {
        AtomicReference<VerbsArena> made = new AtomicReference<>();
        AtomicReference<GuardedObject> closed = new AtomicReference<>();
        AtomicReference<GuardedObject> open = new AtomicReference<>();
        Await.end(Thread.ofPlatform().start(() -> {
            VerbsArena arena = VerbsArena.ofConfined();
            closed.set(in(arena, "closed"));
            open.set(in(arena, "open"));
            in(arena, "youngest");
            made.set(arena);
        }));
        open.get().refusing = true;
        assertThatThrownBy(made.get()::close).hasMessageContaining("guarded_destroy(open)");
        assertThat(destroyed).containsExactly("youngest");

        Thread current = Thread.currentThread();
        assertThat(ArenaLifetime.of(made.get()).owner()).isSameAs(current);
        for (GuardedObject each : List.of(closed.get(), open.get())) {
            assertThat(each.lifetime.owner()).isSameAs(current);
            each.lifetime.checkOpen();
            int way = each.lifetime.enter();
            each.lifetime.exit(way);
        }
        closed.get().close();
        assertThatIllegalStateException().isThrownBy(closed.get().lifetime::checkOpen);
        assertThatThrownBy(() -> OtherThread.run(made.get()::close)).isInstanceOf(WrongThreadException.class);
        open.get().refusing = false;
        made.get().close();
        assertThat(destroyed).containsExactly("youngest", "closed", "open");
    }

    /** An arena that is taken over while it is open stays usable; the objects that were closed stay closed. */
    @ParameterizedTest
    @EnumSource
    void takeOverOpensNothing(ArenaKind kind) {
        try (VerbsArena arena = kind.make()) {
            GuardedObject closed = in(arena, "closed");
            ObjectLifetime guard = closed.lifetime;
            closed.close();
            guard.takeOver();
            assertThat(guard.isClosed()).isTrue();
        }
    }
}

package dev.verbena;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.support.ArenaKind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What closing an arena does, and what it does when an object can't be destroyed. */
class ArenaClosingTest {
    private final List<String> destroyed = new ArrayList<>();

    @ParameterizedTest
    @EnumSource
    void closeDestroysYoungestObjectsFirst(ArenaKind kind) {
        try (VerbsArena arena = kind.make()) {
            FakeObject context = FakeObject.in(arena, "context", destroyed);
            FakeObject domain = FakeObject.in(arena, "domain", destroyed, context);
            FakeObject.in(arena, "queue", destroyed, context);
            FakeObject.in(arena, "pair", destroyed, domain);
        }
        assertThat(destroyed).containsExactly("pair", "queue", "domain", "context");
    }

    /** C refuses to deregister a region with a bound window, which need not be younger. */
    @ParameterizedTest
    @EnumSource
    void closeDestroysObjectsThatMustGoFirst(ArenaKind kind) {
        try (VerbsArena arena = kind.make()) {
            FakeObject window = FakeObject.in(arena, "window", destroyed);
            FakeObject region = FakeObject.in(arena, "region", destroyed);
            region.lifetime().closesAfter(() -> List.of(window));
        }
        assertThat(destroyed).containsExactly("window", "region");
    }

    @ParameterizedTest
    @EnumSource
    void closeFreesMemoryAfterAllObjects(ArenaKind kind) {
        VerbsArena arena = kind.make();
        MemorySegment memory = arena.allocate(JAVA_INT);
        List<Integer> seen = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            FakeObject.in(arena, "object", object -> {
                memory.set(JAVA_INT, 0, memory.get(JAVA_INT, 0) + 1);
                seen.add(memory.get(JAVA_INT, 0));
            });
            arena.allocate(16);
        }
        arena.close();

        assertThat(seen).as("all destructors could use the memory").containsExactly(1, 2, 3, 4, 5);
        assertThat(memory.scope().isAlive()).isFalse();
        assertThatIllegalStateException().isThrownBy(() -> memory.get(JAVA_INT, 0));
    }

    @ParameterizedTest
    @EnumSource
    void failedCloseKeepsMemoryAndOlderObjectsAndCanBeRetried(ArenaKind kind) {
        VerbsArena arena = kind.make();
        MemorySegment memory = arena.allocate(JAVA_INT);
        FakeObject oldest = FakeObject.in(arena, "oldest", destroyed);
        FakeObject middle = FakeObject.in(arena, "middle", destroyed).refuse(true);
        FakeObject youngest = FakeObject.in(arena, "youngest", destroyed);

        for (int tries = 0; tries < 2; tries++) {
            VerbsException refusal = catchThrowableOfType(VerbsException.class, arena::close);
            assertThat(refusal.errno()).isEqualTo(16);
            assertThat(destroyed).containsExactly("youngest");
            assertThat(youngest.isOpen()).isFalse();
            assertThat(middle.isOpen()).isTrue();
            assertThat(oldest.isOpen()).isTrue();
            memory.set(JAVA_INT, 0, tries);
            assertThat(arena.scope().isAlive()).isTrue();
        }
        FakeObject later = FakeObject.in(arena, "later", destroyed, middle);
        arena.allocate(8).fill((byte) 1);
        middle.refuse(false);
        arena.close();

        assertThat(destroyed).containsExactly("youngest", "later", "middle", "oldest");
        assertThat(List.of(oldest, middle, youngest, later)).allMatch(object -> object.timesDestroyed() == 1);
        assertThat(memory.scope().isAlive()).isFalse();
    }

    @ParameterizedTest
    @EnumSource
    void failedCloseLeavesObjectsUsable(ArenaKind kind) {
        VerbsArena arena = kind.make();
        FakeObject object = FakeObject.in(arena, "object", destroyed).refuse(true);
        assertThatThrownBy(arena::close).isInstanceOf(VerbsException.class);

        object.use(() -> destroyed.add("held"));
        object.useFast(() -> destroyed.add("entered"));
        assertThat(destroyed).containsExactly("held", "entered");
        object.refuse(false);
        arena.close();
    }

    @ParameterizedTest
    @EnumSource
    void closeThatThrowsAnErrorKeepsMemory(ArenaKind kind) {
        VerbsArena arena = kind.make();
        MemorySegment memory = arena.allocate(JAVA_INT);
        boolean[] broken = {true};
        FakeObject.in(arena, "object", object -> {
            if (broken[0]) {
                throw new AssertionError("broken");
            }
        });
        assertThatThrownBy(arena::close).isInstanceOf(AssertionError.class);
        memory.set(JAVA_INT, 0, 1);
        broken[0] = false;
        arena.close();
        assertThat(memory.scope().isAlive()).isFalse();
    }

    @ParameterizedTest
    @EnumSource
    void secondCloseThrowsAsForEveryArena(ArenaKind kind) {
        VerbsArena arena = kind.make();
        FakeObject.in(arena, "object", destroyed);
        arena.close();
        assertThatIllegalStateException().isThrownBy(arena::close).withMessageContaining("closed");
        assertThat(destroyed).containsExactly("object");
    }

    @ParameterizedTest
    @EnumSource
    void closedArenaRefusesObjects(ArenaKind kind) {
        VerbsArena arena = kind.make();
        arena.close();
        assertThatIllegalStateException()
                .isThrownBy(() -> FakeObject.in(arena, "late", destroyed))
                .withMessageContaining("closed");
    }

    @ParameterizedTest
    @EnumSource
    void closingArenaRefusesObjects(ArenaKind kind) {
        VerbsArena arena = kind.make();
        List<Throwable> refusals = new ArrayList<>();
        FakeObject.in(arena, "object", object -> {
            try {
                FakeObject.in(arena, "late", destroyed);
            } catch (IllegalStateException e) {
                refusals.add(e);
            }
        });
        arena.close();
        assertThat(refusals).hasSize(1);
        assertThat(destroyed).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void closeSkipsObjectsClosedEarlier(ArenaKind kind) {
        FakeObject early;
        try (VerbsArena arena = kind.make()) {
            FakeObject.in(arena, "stays", destroyed);
            early = FakeObject.in(arena, "early", destroyed);
            early.close();
            assertThat(destroyed).containsExactly("early");
        }
        assertThat(destroyed).containsExactly("early", "stays");
        assertThat(early.timesDestroyed()).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource
    void failedConstructionLeavesNothingInTheArena(ArenaKind kind) {
        VerbsArena arena = kind.make();
        FakeObject parent = FakeObject.in(arena, "parent", destroyed);
        RuntimeException why = new RuntimeException("no");
        assertThatThrownBy(() -> FakeObject.failing(arena, why, parent)).isSameAs(why);

        assertThat(ArenaLifetime.of(arena).objects()).containsExactly(parent);
        parent.close(); // nothing depends on it, and nobody holds it
        arena.close();
        assertThat(destroyed).containsExactly("parent");
    }

    @Test
    void closeFailsWhileACallUsesItsMemory() {
        VerbsArena arena = VerbsArena.ofShared();
        MemorySegment memory = arena.allocate(8);
        // A downcall that is given a segment keeps its arena from closing: this one closes it meanwhile.
        try (Arena stubs = Arena.ofConfined()) {
            Upcall.during(memory, stubs, () -> assertThatIllegalStateException().isThrownBy(arena::close));
        }
        memory.set(JAVA_INT, 0, 1);
        arena.close();
        assertThat(memory.scope().isAlive()).isFalse();
    }

    @Test
    void toStringDescribesTheArena() {
        VerbsArena arena = VerbsArena.ofConfined();
        FakeObject.in(arena, "object");
        assertThat(arena).hasToString("confined VerbsArena (1 object)");
        arena.close();
        assertThat(arena).hasToString("confined VerbsArena (0 objects, closed)");
    }
}

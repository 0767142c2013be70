package dev.verbena;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.support.ArenaKind;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What depends on an object, or on an arena's memory, is named and not pulled away from under its user. */
class DependentsTest {
    private final List<String> destroyed = new ArrayList<>();

    @ParameterizedTest
    @EnumSource
    void parentCloseNamesLiveChildrenAndDestroysNothing(ArenaKind kind) {
        try (VerbsArena arena = kind.make()) {
            FakeObject parent = FakeObject.in(arena, "parent", destroyed);
            FakeObject first = FakeObject.in(arena, "first child", destroyed, parent);
            FakeObject second = FakeObject.in(arena, "second child", destroyed, parent);

            ResourceBusyException busy = catchThrowableOfType(ResourceBusyException.class, parent::close);
            assertThat(busy.dependents()).containsExactly(first, second);
            assertThat(busy).hasMessageContaining("first child, second child").hasMessageContaining("parent");
            assertThat(destroyed).isEmpty();
            assertThat(parent.isOpen()).isTrue();

            first.close();
            assertThatThrownBy(parent::close)
                    .hasMessageContaining("second child")
                    .hasMessageNotContaining("first child");
            second.close();
            parent.close();
        }
        assertThat(destroyed).containsExactly("first child", "second child", "parent");
    }

    /** A dependent that notes whether another thread could use what it depends on, when the exception names it. */
    private static FakeObject witness(VerbsArena arena, BooleanSupplier usable, List<Boolean> seen, FakeObject parent) {
        return ObjectLifetime.create(
                arena,
                lifetime -> new FakeObject(lifetime, "witness", object -> {}) {
                    @Override
                    public String toString() {
                        seen.add(usable.getAsBoolean());
                        return super.toString();
                    }
                },
                parent);
    }

    @Test
    void refusedCloseOfAParentDoesNotInterruptItsUsers() {
        List<Boolean> seen = new ArrayList<>();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            FakeObject parent = FakeObject.in(arena, "parent");
            witness(arena, parent::isOpen, seen, parent);
            assertThatThrownBy(parent::close).isInstanceOf(ResourceBusyException.class);
        }
        assertThat(seen).isNotEmpty().containsOnly(true);
    }

    @Test
    void refusedCloseOfAnArenaDoesNotInterruptItsUsers() {
        List<Boolean> seen = new ArrayList<>();
        try (VerbsArena arena = VerbsArena.ofShared();
                VerbsArena other = VerbsArena.ofShared()) {
            FakeObject parent = FakeObject.in(arena, "parent");
            witness(other, () -> !ArenaLifetime.of(arena).isClosed(), seen, parent);
            assertThatThrownBy(arena::close).isInstanceOf(ResourceBusyException.class);
        }
        assertThat(seen).isNotEmpty().containsOnly(true);
    }

    @Test
    void parentCloseCountsManyChildrenInsteadOfListingThem() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            FakeObject parent = FakeObject.in(arena, "parent");
            for (int i = 0; i < 8; i++) {
                FakeObject.in(arena, "child" + i, parent);
            }
            ResourceBusyException busy = catchThrowableOfType(ResourceBusyException.class, parent::close);
            assertThat(busy).hasMessageContaining("child4 and 3 more");
            assertThat(busy.dependents()).hasSize(8);
        }
    }

    @ParameterizedTest
    @EnumSource
    void arenaCloseFailsWhileAnotherArenaHasAChild(ArenaKind kind) {
        try (VerbsArena others = kind.make()) {
            VerbsArena arena = kind.make();
            MemorySegment memory = arena.allocate(JAVA_INT);
            FakeObject parent = FakeObject.in(arena, "parent", destroyed);
            FakeObject.in(arena, "sibling", destroyed, parent);
            FakeObject child = FakeObject.in(others, "child", destroyed, parent);

            ResourceBusyException busy = catchThrowableOfType(ResourceBusyException.class, arena::close);
            assertThat(busy.dependents()).containsExactly(child);
            assertThat(destroyed).isEmpty();
            memory.set(JAVA_INT, 0, 1);

            child.close();
            arena.close();
            assertThat(destroyed).containsExactly("child", "sibling", "parent");
        }
    }

    @ParameterizedTest
    @EnumSource
    void arenaCloseSucceedsAfterTheChildsArenaIsClosed(ArenaKind kind) {
        VerbsArena arena = kind.make();
        VerbsArena others = kind.make();
        FakeObject parent = FakeObject.in(arena, "parent", destroyed);
        FakeObject.in(others, "child", destroyed, parent);
        others.close();
        arena.close();
        assertThat(destroyed).containsExactly("child", "parent");
    }

    @ParameterizedTest
    @EnumSource
    void arenaCloseFailsWhileAnotherArenaHasAGrandchild(ArenaKind kind) {
        VerbsArena arena = kind.make();
        VerbsArena others = kind.make();
        FakeObject parent = FakeObject.in(arena, "parent", destroyed);
        FakeObject child = FakeObject.in(others, "child", destroyed, parent);
        FakeObject.in(arena, "grandchild", destroyed, child);

        assertThatThrownBy(arena::close)
                .isInstanceOf(ResourceBusyException.class)
                .hasMessageContaining("child");
        assertThatThrownBy(others::close)
                .isInstanceOf(ResourceBusyException.class)
                .hasMessageContaining("grandchild");
        assertThat(destroyed).isEmpty();
        ArenaLifetime.of(arena).objects().getFirst().close();
        others.close();
        arena.close();
        assertThat(destroyed).containsExactly("grandchild", "child", "parent");
    }

    @ParameterizedTest
    @EnumSource
    void arenaCloseFailsWhileAnotherArenasObjectUsesItsMemory(ArenaKind kind) {
        VerbsArena owner = kind.make();
        MemorySegment memory = owner.allocate(64);
        try (VerbsArena arena = kind.make()) {
            FakeObject region = FakeObject.over(arena, memory.asSlice(8, 8).asReadOnly(), "region");
            ResourceBusyException busy = catchThrowableOfType(ResourceBusyException.class, owner::close);
            assertThat(busy.dependents()).containsExactly(region);
            assertThat(memory.scope().isAlive()).isTrue();
        }
        owner.close();
        assertThat(memory.scope().isAlive()).isFalse();
    }

    @ParameterizedTest
    @EnumSource
    void closedParentRefusesChildren(ArenaKind kind) {
        try (VerbsArena arena = kind.make()) {
            FakeObject parent = FakeObject.in(arena, "parent");
            parent.close();
            assertThatIllegalStateException()
                    .isThrownBy(() -> FakeObject.in(arena, "child", destroyed, parent))
                    .withMessageContaining("parent is closed");
            assertThat(ArenaLifetime.of(arena).objects()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void failedChildCloseKeepsTheDependency(ArenaKind kind) {
        try (VerbsArena arena = kind.make()) {
            FakeObject parent = FakeObject.in(arena, "parent", destroyed);
            FakeObject child = FakeObject.in(arena, "child", destroyed, parent).refuse(true);
            assertThatThrownBy(child::close).isInstanceOf(VerbsException.class);
            assertThatThrownBy(parent::close).isInstanceOf(ResourceBusyException.class);
            child.refuse(false);
            child.close();
            parent.close();
        }
        assertThat(destroyed).containsExactly("child", "parent");
    }

    @ParameterizedTest
    @EnumSource
    void secondObjectCloseDoesNothing(ArenaKind kind) {
        VerbsArena arena = kind.make();
        FakeObject object = FakeObject.in(arena, "object");
        object.close();
        object.close();
        arena.close();
        object.close();
        assertThat(object.timesDestroyed()).isEqualTo(1);
        assertThat(object.isOpen()).isFalse();
    }

    @Test
    void dependentsExceptionIsSerializableWithoutObjects() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            FakeObject parent = FakeObject.in(arena, "parent");
            FakeObject.in(arena, "child", parent);
            ResourceBusyException busy = catchThrowableOfType(ResourceBusyException.class, parent::close);

            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                out.writeObject(busy);
            }
            try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
                ResourceBusyException copy = (ResourceBusyException) in.readObject();
                assertThat(copy).hasMessage(busy.getMessage());
                assertThat(copy.dependents()).isEmpty();
            }
        }
    }
}

package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.support.ArenaKind;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests that an object whose maker fails after C has made it is destroyed, and keeps nothing from being closed. */
class FailedMakersTest {
    private final AtomicReference<FakeObject> made = new AtomicReference<>();

    /** Makes an object, does something with it, and fails. */
    private void fail(VerbsArena arena, Consumer<FakeObject> first, VerbsObject... parents) {
        assertThatThrownBy(() -> ObjectLifetime.create(
                        arena,
                        lifetime -> {
                            FakeObject object = new FakeObject(lifetime, "made", it -> {});
                            made.set(object);
                            first.accept(object);
                            throw new OutOfMemoryError("for a test");
                        },
                        parents))
                .isInstanceOf(OutOfMemoryError.class);
    }

    @ParameterizedTest
    @EnumSource
    void makerThatFailsAfterCDestroysTheObject(ArenaKind kind) {
        try (VerbsArena arena = kind.make()) {
            FakeObject parent = FakeObject.in(arena, "parent");
            fail(arena, object -> {}, parent);
            assertThat(made.get().timesDestroyed()).isEqualTo(1);
            assertThat(made.get().isOpen()).isFalse();
            parent.close();
        }
        assertThat(made.get().timesDestroyed()).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource
    void objectThatCRefusesToDestroyIsDestroyedByItsArena(ArenaKind kind) {
        VerbsArena arena = kind.make();
        FakeObject parent = FakeObject.in(arena, "parent");
        fail(arena, object -> object.refuse(true), parent);
        assertThat(made.get().timesDestroyed()).isZero();
        assertThatThrownBy(parent::close).isInstanceOf(ResourceBusyException.class);
        assertThatThrownBy(arena::close).hasMessageContaining("fake_destroy");
        made.get().refuse(false);
        arena.close();
        assertThat(made.get().timesDestroyed()).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource
    void makerWithAnUndoerLeavesTheObjectToItsCaller(ArenaKind kind) {
        AtomicReference<Boolean> undone = new AtomicReference<>(false);
        try (VerbsArena arena = kind.make()) {
            fail(arena, object -> object.lifetime().undoneBy(() -> undone.set(true)));
            assertThat(made.get().timesDestroyed()).isZero();
            assertThat(undone.get()).isTrue();
        }
        assertThat(made.get().timesDestroyed()).isZero();
    }
}

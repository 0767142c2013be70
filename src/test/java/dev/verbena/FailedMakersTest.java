package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

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
    private Throwable fail(VerbsArena arena, Consumer<FakeObject> first, VerbsObject... parents) {
        return catchThrowableOfType(
                OutOfMemoryError.class,
                () -> ObjectLifetime.create(
                        arena,
                        lifetime -> {
                            FakeObject object = new FakeObject(lifetime, "made", it -> {});
                            made.set(object);
                            first.accept(object);
                            throw new OutOfMemoryError("for a test");
                        },
                        parents));
    }

    @ParameterizedTest
    @EnumSource
    void makerThatFailsAfterCDestroysTheObject(ArenaKind kind) {
        try (VerbsArena arena = kind.make()) {
            FakeObject parent = FakeObject.in(arena, "parent");
            assertThat(fail(arena, object -> {}, parent)).hasNoSuppressedExceptions();
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
        assertThat(fail(arena, object -> object.refuse(true), parent).getSuppressed())
                .singleElement()
                .asString()
                .contains("fake_destroy");
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
            assertThat(fail(arena, object -> object.lifetime().undoneBy(() -> undone.set(true))))
                    .hasMessage("for a test");
            assertThat(made.get().timesDestroyed()).isZero();
            assertThat(undone.get()).isTrue();
        }
        assertThat(made.get().timesDestroyed()).isZero();
    }
}

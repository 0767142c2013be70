package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.support.FencedTest;
import dev.verbena.support.TestDevice;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Pools and caches check their arguments before anything is allocated, registered or kept. */
@FencedTest
class PoolArgumentTest {
    private final VerbsArena arena = VerbsArena.ofShared();
    private final ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    void poolIsNotMadeWithoutADomainOrRights() {
        List<AccessFlag> hole = Arrays.asList(AccessFlag.LOCAL_WRITE, null);
        long tooMuch = 1L << 60; // an OutOfMemoryError if the pool allocates first
        assertThatNullPointerException().isThrownBy(() -> BufferPool.of(null, 1, tooMuch, List.of(), arena));
        assertThatNullPointerException().isThrownBy(() -> BufferPool.of(domain, 1, tooMuch, null, arena));
        assertThatNullPointerException().isThrownBy(() -> BufferPool.of(domain, 1, tooMuch, hole, arena));
        assertThatNullPointerException().isThrownBy(() -> BufferPool.of(domain, 1, tooMuch, List.of(), null));
    }

    @Test
    void cacheIsNotMadeWithoutADomainOrAnArena() {
        assertThatNullPointerException().isThrownBy(() -> RegistrationCache.of(null, 4, List.of(), arena));
        assertThatNullPointerException().isThrownBy(() -> RegistrationCache.of(domain, 4, List.of(), null));
        assertThatNullPointerException().isThrownBy(() -> RegistrationCache.of(domain, 4, null, arena));
    }

    @Test
    void forgetRefusesNullEvenIfTheCacheIsEmpty() {
        RegistrationCache cache = RegistrationCache.of(domain, 4);
        assertThatNullPointerException().isThrownBy(() -> cache.forget(null));
        assertThatNullPointerException().isThrownBy(() -> cache.use(null));
    }

    @Test
    void poolOfAClosedDomainAllocatesNothing() {
        domain.close();
        assertThatThrownBy(() -> BufferPool.of(domain, 1, 1L << 60, List.of(), arena))
                .isInstanceOf(IllegalStateException.class); // and not an OutOfMemoryError
    }
}

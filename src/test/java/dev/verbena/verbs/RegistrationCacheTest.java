package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertOutOfBounds;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests cached registrations. */
@DeviceTest
class RegistrationCacheTest {
    private static final int MAX = 3;

    private Loopback loopback;
    private RegistrationCache cache;

    @BeforeEach
    void open() {
        loopback = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none());
        cache = RegistrationCache.of(loopback.domain, MAX, AccessFlag.LOCAL_WRITE);
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private MemorySegment memory() {
        return Arena.ofAuto().allocate(256, 64);
    }

    private RegistrationCache.Use usedOnce(MemorySegment segment) {
        RegistrationCache.Use use = cache.use(segment);
        use.close();
        return use;
    }

    @Test
    void cachedRegionsSendAndReceive() throws Exception {
        MemorySegment source = memory();
        MemorySegment target = memory();
        source.setString(16, "cached");
        try (RegistrationCache.Use from = cache.use(source);
                RegistrationCache.Use to = cache.use(target)) {
            loopback.right.pair.postReceive(1, to.memory(target));
            loopback.left.pair.postSend(2, from.memory(source.asSlice(16, 32)));
            loopback.right.next().orThrow();
            assertThat(target.getString(0)).isEqualTo("cached");
        }
    }

    @Test
    void useFindsRegisteredMemoryAndItsParts() {
        MemorySegment segment = memory();
        RegistrationCache.Use first = cache.use(segment);
        assertThat(cache.use(segment).region()).isSameAs(first.region());
        assertThat(cache.use(segment.asSlice(10, 20)).region()).isSameAs(first.region());
        assertThat(first.memory(segment)).isSameAs(first.region());
        assertThat(first.memory(segment.asSlice(10, 20)).address()).isEqualTo(segment.address() + 10);
        assertThat(cache.size()).isOne();
    }

    @Test
    void useOfAWiderSegmentReplacesItsParts() {
        MemorySegment segment = memory();
        RegistrationCache.Use part = usedOnce(segment.asSlice(0, 64));
        usedOnce(segment.asSlice(128, 64));
        RegistrationCache.Use whole = usedOnce(segment);
        assertThat(cache.size()).isOne();
        assertThat(part.region().isOpen()).isFalse();
        assertThat(whole.region().isOpen()).isTrue();
    }

    @Test
    void useOfAWiderSegmentKeepsPartsInUse() {
        MemorySegment segment = memory();
        RegistrationCache.Use part = cache.use(segment.asSlice(64, 64));
        RegistrationCache.Use whole = cache.use(segment);
        assertThat(part.region().isOpen()).isTrue();
        assertThat(cache.use(segment.asSlice(100, 100)).region()).isSameAs(whole.region());
    }

    @Test
    void evictionRemovesTheLeastRecentlyUsed() {
        MemorySegment oldest = memory();
        MemorySegment older = memory();
        RegistrationCache.Use first = usedOnce(oldest);
        RegistrationCache.Use second = usedOnce(older);
        usedOnce(memory());
        usedOnce(oldest);
        usedOnce(memory());
        assertThat(second.region().isOpen()).isFalse();
        assertThat(first.region().isOpen()).isTrue();
        assertThat(cache.size()).isEqualTo(MAX);
    }

    @Test
    void evictionKeepsRegionsInUseAndRefusesMore() {
        for (int i = 0; i < MAX; i++) {
            cache.use(memory());
        }
        assertThrows(NoSuchElementException.class, "all 3 registrations", () -> cache.use(memory()));
    }

    @Test
    void forgetReleasesTheMemory() {
        try (VerbsArena other = VerbsArena.ofShared()) {
            MemorySegment segment = other.allocate(256, 64);
            RegistrationCache.Use use = cache.use(segment);
            assertIllegalState("in use", () -> cache.forget(segment));
            use.close();
            assertThatThrownBy(other::close).hasMessageContaining("memory region");
            cache.forget(segment.asSlice(100, 1));
            assertThat(cache.size()).isZero();
        }
    }

    @Test
    void useRegistersAgainAfterItsArenaClosed() {
        MemorySegment segment = memory();
        RegistrationCache.Use before = usedOnce(segment);
        before.region().close();
        assertThat(cache.size()).isZero();
        RegistrationCache.Use after = cache.use(segment);
        assertThat(after.region()).isNotSameAs(before.region());
        assertThat(after.region().isOpen()).isTrue();
    }

    @Test
    void closingUseTwiceEndsNoOtherUse() {
        MemorySegment segment = memory();
        RegistrationCache.Use other = cache.use(segment);
        RegistrationCache.Use use = usedOnce(segment);
        use.close();
        assertThatThrownBy(() -> cache.forget(segment)).hasMessageContaining("in use");
        assertIllegalState("closed", () -> use.memory(segment));
        other.close();
        cache.forget(segment);
    }

    @Test
    void memoryRefusesSegmentsOutsideTheUse() {
        RegistrationCache.Use use = cache.use(memory());
        assertOutOfBounds(() -> use.memory(memory()));
    }

    @Test
    void useRefusesHeapMemory() {
        assertIllegalArgument(() -> cache.use(MemorySegment.ofArray(new byte[8])));
    }

    @Test
    void cacheRefusesACapacityOfZero() {
        assertIllegalArgument(() -> RegistrationCache.of(loopback.domain, 0));
    }
}

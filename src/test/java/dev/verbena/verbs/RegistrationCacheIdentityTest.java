package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertOutOfBounds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests which segments share a registration of a cache. */
@FencedTest
class RegistrationCacheIdentityTest {
    private static final int SIZE = 256;

    private Loopback loopback;
    private RegistrationCache cache;

    @BeforeEach
    void open() {
        loopback = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none());
        cache = RegistrationCache.of(loopback.domain, 4);
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private static MemorySegment memory() {
        return Arena.ofAuto().allocate(SIZE, 64);
    }

    private RegistrationCache.Use usedOnce(MemorySegment segment) {
        RegistrationCache.Use use = cache.use(segment);
        use.close();
        return use;
    }

    @Test
    void useRegistersReadOnlyMemoryApart() {
        MemorySegment segment = memory();
        MemoryRegion writable = usedOnce(segment).region();
        try (RegistrationCache.Use use = cache.use(segment.asReadOnly())) {
            assertThat(use.region()).isNotSameAs(writable);
            assertThat(use.region().segment().isReadOnly()).isTrue();
            assertThat(use.memory(segment.asReadOnly().asSlice(8, 8)).segment().isReadOnly())
                    .isTrue();
        }
        assertThat(writable.isOpen()).as("not replaced").isTrue();
        assertThat(usedOnce(segment).region()).isSameAs(writable);
    }

    @Test
    void useRefusesReadOnlyMemoryForAWritingAdapter() {
        RegistrationCache written = RegistrationCache.of(loopback.domain, 4, AccessFlag.LOCAL_WRITE);
        MemorySegment segment = memory();
        written.use(segment).close();
        assertIllegalArgument(() -> written.use(segment.asReadOnly()));
    }

    @Test
    void memoryRefusesSegmentsWithOtherRights() {
        MemorySegment segment = memory();
        try (RegistrationCache.Use readable = cache.use(segment.asReadOnly());
                RegistrationCache.Use writable = cache.use(segment)) {
            assertIllegalArgument("is not read-only", () -> readable.memory(segment));
            assertIllegalArgument(
                    "is read-only", () -> writable.memory(segment.asReadOnly().asSlice(8)));
        }
    }

    @Test
    void useFindsDirectBuffers() {
        ByteBuffer buffer = ByteBuffer.allocateDirect(SIZE);
        MemoryRegion region = usedOnce(MemorySegment.ofBuffer(buffer)).region();
        assertThat(usedOnce(MemorySegment.ofBuffer(buffer)).region()).isSameAs(region);
        assertThat(usedOnce(MemorySegment.ofBuffer(buffer.slice(8, 8))).region())
                .isSameAs(region);
    }

    /** The memory stays allocated, so that both arenas have it at one address. */
    @Test
    void useRefusesFreedMemoryWhoseAddressIsInUseAgain() {
        MemorySegment base = memory();
        VerbsArena first = VerbsArena.ofShared();
        MemorySegment freed = base.reinterpret(SIZE, first, null);
        usedOnce(freed);
        cache.forget(freed);
        first.close();
        try (VerbsArena second = VerbsArena.ofShared()) {
            MemorySegment again = base.reinterpret(SIZE, second, null);
            try (RegistrationCache.Use use = cache.use(again)) {
                assertIllegalState("freed", () -> cache.use(freed));
                assertOutOfBounds(() -> use.memory(freed));
            }
            cache.forget(again);
        }
    }

    @Test
    void useRegistersMemoryOfAnotherArenaApart() {
        MemorySegment base = memory();
        try (VerbsArena first = VerbsArena.ofShared();
                VerbsArena second = VerbsArena.ofShared()) {
            MemorySegment one = base.reinterpret(SIZE, first, null);
            MemorySegment other = base.reinterpret(SIZE, second, null);
            try (RegistrationCache.Use mine = cache.use(one);
                    RegistrationCache.Use yours = cache.use(other)) {
                assertThat(yours.region()).isNotSameAs(mine.region());
                assertThat(usedOnce(one.asSlice(8, 8)).region()).isSameAs(mine.region());
                assertThat(usedOnce(other.asSlice(8, 8)).region()).isSameAs(yours.region());
            }
            cache.forget(base);
        }
    }

    @Test
    void useRefusesConfinedMemoryOfAnotherThread() throws Throwable {
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            MemorySegment segment = confined.allocate(SIZE, 64);
            usedOnce(segment);
            OtherThread.run(
                    () -> assertThatThrownBy(() -> cache.use(segment)).isInstanceOf(WrongThreadException.class));
            cache.forget(segment);
        }
    }

    /** No call comes between that could notice the closed region. */
    @Test
    void useRegistersAgainAfterItsRegionClosed() {
        MemorySegment segment = memory();
        RegistrationCache.Use before = usedOnce(segment);
        before.region().close();
        RegistrationCache.Use after = cache.use(segment);
        assertThat(after.region()).isNotSameAs(before.region());
        assertThat(after.region().isOpen()).isTrue();
    }

    @Test
    void forgottenRegionIsUnreachable() {
        MemorySegment segment = memory();
        WeakReference<MemoryRegion> region = regionOf(segment);
        cache.forget(segment);
        awaitCleared(region);
    }

    /** Forgetting any memory makes the cache forget regions that somebody else has closed. */
    @Test
    void closedRegionIsUnreachable() {
        WeakReference<MemoryRegion> region = regionOf(memory());
        MemoryRegion known = region.get();
        assertThat(known).isNotNull();
        known.close();
        known = null;
        cache.forget(memory());
        awaitCleared(region);
    }

    private WeakReference<MemoryRegion> regionOf(MemorySegment segment) {
        return new WeakReference<>(usedOnce(segment).region());
    }

    private static void awaitCleared(WeakReference<MemoryRegion> region) {
        Await.until("a region that nothing reaches", () -> {
            System.gc();
            return region.refersTo(null);
        });
    }
}

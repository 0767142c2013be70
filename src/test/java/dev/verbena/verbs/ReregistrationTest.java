package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.TestDevice;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests that registered memory has an owner at each moment of a reregistration. */
@FencedTest
class ReregistrationTest {
    private static final int ROUNDS = 1000;
    private static final int MOST_SPINS = 2000;

    private final VerbsArena parents = VerbsArena.ofShared();
    private int before;
    private ProtectionDomain domain;

    @BeforeEach
    void open() {
        before = Fenced.liveObjects();
        domain = TestDevice.get().open(parents).allocateProtectionDomain();
    }

    @AfterEach
    void closeLeavesNothing() {
        parents.close();
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    /** The provider for tests fails this test if memory is freed while it is registered. */
    @Test
    void reregisterBesideClosingTheArenaKeepsTheMemoryOwned() throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            VerbsArena arena = VerbsArena.ofShared();
            MemoryRegion region = domain.register(arena.allocate(64), List.of(), arena);
            RegionChange change = RegionChange.of(arena.allocate(64));
            race(() -> region.reregister(change), arena::close);
            assertThat(domain.isOpen()).isTrue();
        }
    }

    @Test
    void reregisterBesideClosingTheOwnerOfItsMemoryKeepsTheMemoryOwned() throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            VerbsArena owner = VerbsArena.ofShared();
            VerbsArena arena = VerbsArena.ofShared();
            MemoryRegion region = domain.register(arena.allocate(64), List.of(), arena);
            RegionChange change = RegionChange.of(owner.allocate(64));
            race(() -> region.reregister(change), owner::close);
            arena.close();
            if (owner.scope().isAlive()) {
                owner.close();
            }
        }
    }

    @Test
    void reregisterStoppedInCKeepsTheArenaOpen() throws InterruptedException {
        VerbsArena arena = VerbsArena.ofShared();
        MemoryRegion region = domain.register(arena.allocate(64), List.of(), arena);
        RegionChange change = RegionChange.of(arena.allocate(64));
        AtomicReference<MemoryRegion> made = new AtomicReference<>();
        Fenced.stop("ibv_rereg_mr");
        Thread changing = Thread.ofPlatform().start(() -> made.set(region.reregister(change)));
        Fenced.awaitStopped("ibv_rereg_mr", 1);
        Thread closing = Thread.ofPlatform().start(arena::close);
        Fenced.goOn("ibv_rereg_mr");
        Await.end(changing);
        Await.end(closing);
        assertThat(made.get()).isNotNull();
        assertThat(made.get().isOpen()).isFalse();
        assertThat(arena.scope().isAlive()).isFalse();
    }

    @Test
    void reregisterThatFailsLeavesTheRegion() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            MemoryRegion region = domain.register(arena.allocate(64), List.of(), arena);
            Fenced.fail("ibv_rereg_mr", 1, 95);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> region.reregister(RegionChange.of(arena.allocate(64))));
            assertThat(region.isOpen()).isTrue();
            MemoryRegion changed = region.reregister(RegionChange.of(AccessFlag.LOCAL_WRITE));
            assertThat(region.isOpen()).isFalse();
            assertThat(changed.access()).contains(AccessFlag.LOCAL_WRITE);
            assertThatIllegalStateException()
                    .isThrownBy(() -> region.reregister(RegionChange.of(AccessFlag.LOCAL_WRITE)));
        }
    }

    /** Changes a region, and closes what the change uses a moment later. */
    private static void race(Runnable changing, Runnable closing) throws InterruptedException {
        AtomicInteger ready = new AtomicInteger();
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        Thread other = Thread.ofPlatform().daemon().start(() -> {
            meet(ready);
            try {
                changing.run();
            } catch (IllegalStateException closed) {
                assertThat(closed).hasMessageContaining("closed");
            } catch (Throwable t) {
                wrong.set(t);
            }
        });
        meet(ready);
        for (int spins = ThreadLocalRandom.current().nextInt(MOST_SPINS); spins > 0; spins--) {
            Thread.onSpinWait();
        }
        try {
            closing.run();
        } catch (ResourceBusyException changedFirst) {
            assertThat(changedFirst.dependents()).isNotEmpty();
        }
        Await.end(other);
        assertThat(wrong.get()).isNull();
    }

    /** Returns at the same time in both threads, if both have a processor. */
    private static void meet(AtomicInteger ready) {
        ready.incrementAndGet();
        for (int spins = 0; ready.get() < 2; spins++) {
            if (spins < MOST_SPINS) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
    }
}

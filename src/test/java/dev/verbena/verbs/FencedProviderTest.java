package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests that the provider for tests does what it promises, and rules that no device shows. */
@FencedTest
class FencedProviderTest {
    private int before;
    private Loopback loopback;

    @BeforeEach
    void connect() {
        before = Fenced.liveObjects();
        loopback = Loopback.connected();
    }

    @AfterEach
    void closeLeavesNothing() {
        loopback.close();
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void writeMovesBytes() throws InterruptedException {
        loopback.left.buffer.segment().setString(0, "moved");
        loopback.left.pair.postWrite(1, loopback.left.buffer.slice(0, 8), loopback.right.buffer.remote());
        assertThat(loopback.left.done().id()).isEqualTo(1);
        assertThat(loopback.right.buffer.segment().getString(0)).isEqualTo("moved");
    }

    @Test
    void hugeSizesOfACompletionQueueAreRefused() {
        for (int size : new int[] {Integer.MAX_VALUE, (1 << 30) + 1, (1 << 16) + 1}) {
            assertThrows(VerbsException.class, "EINVAL", () -> loopback.left.queue.resize(size));
        }
    }

    @Test
    void sendWaitsForAReceive() throws InterruptedException {
        long waited = Fenced.receiverNotReady();
        loopback.left.pair.postSend(1, loopback.left.buffer.slice(0, 8));
        assertThat(loopback.left.queue.poll()).isNull();
        loopback.right.pair.postReceive(2, loopback.right.buffer);
        assertThat(loopback.left.done().id()).isEqualTo(1);
        assertThat(loopback.right.done().id()).isEqualTo(2);
        assertThat(Fenced.receiverNotReady()).isGreaterThan(waited);
    }

    @Test
    void nthCallFailsOnDemand() {
        Fenced.fail("ibv_alloc_pd", 2, Errno.ENOMEM);
        try (ProtectionDomain first = loopback.context.allocateProtectionDomain()) {
            assertThat(first.isOpen()).isTrue();
            assertThrows(VerbsException.class, "ENOMEM", loopback.context::allocateProtectionDomain);
        }
    }

    /** Other memory was registered before and after it, and is registered no more. */
    @Test
    void freeOfRegisteredMemoryIsAViolation() {
        Arena foreign = Arena.ofConfined();
        MemorySegment memory = foreign.allocate(64);
        MemoryRegion before = loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        MemoryRegion region =
                loopback.domain.register(RegionOptions.foreign(memory).access(AccessFlag.LOCAL_WRITE), loopback.arena);
        MemoryRegion after = loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        before.close();
        after.close();
        int violations = Fenced.violations();
        foreign.close();
        assertThat(Fenced.violations()).isEqualTo(violations + 1);
        assertThat(Fenced.firstViolation()).contains("free of memory at");
        Fenced.allowViolations(1);
        region.close();
    }

    @Test
    void freeOfLowerMemoryBesideRegistrationsIsNoViolation() throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared();
                Arena own = Arena.ofShared()) {
            MemorySegment upper;
            try (Arena first = Arena.ofConfined()) { // what comes later is then lower
                for (int i = 0; i < 1_000; i++) {
                    first.allocate(64);
                }
                upper = own.allocate(64);
            }
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain(arena);
            int violations = Fenced.violations();
            Thread registrations = Thread.ofPlatform().start(() -> {
                for (int i = 0; i < 20_000 && Fenced.violations() == violations; i++) {
                    domain.register(RegionOptions.foreign(upper).access(AccessFlag.LOCAL_WRITE))
                            .close();
                }
            });
            long lower = 0;
            while (registrations.isAlive()) {
                try (Arena brief = Arena.ofConfined()) {
                    for (int i = 0; i < 100; i++) {
                        lower += brief.allocate(64).address() < upper.address() ? 1 : 0;
                    }
                }
            }
            assertThat(lower).isPositive();
            assertThat(Fenced.violations()).as(Fenced::firstViolation).isEqualTo(violations);
        }
    }

    @Test
    void outOfMemoryFailsAllMakersUntilItEnds() {
        Fenced.outOfMemory(true);
        assertThatThrownBy(loopback.context::allocateProtectionDomain).hasMessageContaining("ENOMEM");
        assertThatThrownBy(() -> loopback.domain.createQueuePair(QueuePair.rc(loopback.left.queue)))
                .hasMessageContaining("ENOMEM");
        Fenced.outOfMemory(false);
        loopback.context.allocateProtectionDomain().close();
    }

    @Test
    void asyncEventsAreAcknowledgedBeforeTheirObjectIsDestroyed() throws InterruptedException {
        Fenced.raise(loopback.context, AsyncEvent.Type.QP_FATAL.code(), loopback.left.pair);
        AsyncEvent event = loopback.context.events().await(Loopback.DEADLINE);
        assertThat(event)
                .isInstanceOfSatisfying(
                        AsyncEvent.OfQueuePair.class,
                        of -> assertThat(of.queuePair()).isSameAs(loopback.left.pair));
        Fenced.raise(loopback.context, AsyncEvent.Type.QP_FATAL.code(), loopback.left.pair);
        loopback.left.pair.close();
        assertThat(loopback.context.events().poll()).isNull();
    }

    @Test
    void importsShareTheObjectsOfAnotherContext() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.importDevice(loopback.context.commandDescriptor(), arena);
            ProtectionDomain domain = context.importProtectionDomain(loopback.domain.handle());
            MemoryRegion region = domain.importRegion(loopback.left.buffer.handle(), loopback.left.buffer.address());
            assertThat(region.localKey()).isEqualTo(loopback.left.buffer.localKey());
            assertThat(region.length()).isEqualTo(loopback.left.buffer.length());
        }
    }

    @Test
    void pathBackLeadsToTheSenderOfADatagram() throws InterruptedException {
        QueuePair pair = loopback.domain.createQueuePair(QueuePair.ud(loopback.left.queue));
        pair.toReady(1);
        AddressHandle path = loopback.domain.createAddressHandle(pair.pathTo(pair.endpoint()));
        pair.postReceive(1, loopback.left.buffer);
        pair.postSend(2, loopback.right.buffer.slice(0, 8), path, pair.number(), 1);
        WorkCompletion first = loopback.left.done();
        WorkCompletion received = first.isReceive() ? first : loopback.left.done();
        AddressHandle back = loopback.domain.createAddressHandle(received, loopback.left.buffer.segment());
        assertThat(back.path().globalRoute()).isNotNull();
        assertThat(back.path().globalRoute().destination())
                .isEqualTo(pair.endpoint().gid());
    }

    @Test
    void freeOfMemoryInARegisteredAddressSpaceIsNoViolation() {
        loopback.domain.registerAddressSpace(AccessFlag.LOCAL_WRITE);
        int violations = Fenced.violations();
        try (Arena arena = Arena.ofConfined()) {
            arena.allocate(64);
        }
        assertThat(Fenced.violations()).isEqualTo(violations);
    }

    @Test
    void makersRefuseOtherObjectsOfAnotherContext() {
        try (VerbsArena other = VerbsArena.ofConfined()) {
            Context context = loopback.context.device().open(other);
            CompletionQueue queue = context.createCompletionQueue(8);
            ProtectionDomain domain = context.allocateProtectionDomain();
            WorkQueue workQueue = domain.createWorkQueue(WorkQueueOptions.of(queue, 4));
            DeviceMemory memory = context.allocateDeviceMemory(64);
            XrcDomain xrc = context.openXrcDomain();
            IndirectionTable table = context.createIndirectionTable(List.of(workQueue));
            refuses(() -> loopback.domain.createWorkQueue(WorkQueueOptions.of(queue, 4)));
            refuses(() ->
                    loopback.domain.register(RegionOptions.of(memory, 0, 64).access(AccessFlag.LOCAL_WRITE)));
            refuses(() -> loopback.left.buffer.reregister(RegionChange.of(domain)));
            refuses(() -> loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.xrc(xrc, loopback.left.queue)));
            refuses(() -> loopback.domain.createQueuePair(QueuePair.xrcReceive(xrc)));
            refuses(() ->
                    loopback.domain.createQueuePair(QueuePair.hashed(ReceiveHash.of(table, new byte[40], Set.of()))));
        }
    }

    private static void refuses(ThrowingCallable maker) {
        assertIllegalArgument("belongs to another context", maker);
    }
}

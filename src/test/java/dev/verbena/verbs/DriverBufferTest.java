package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.Refusals.assertBusy;
import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertOutOfBounds;
import static dev.verbena.verbs.Refusals.assertThrows;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.ResourceBusyException;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.SystemCall;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests buffers that the driver allocates, and regions with all options: data, refusals, and the order of closing. */
@FencedTest
class DriverBufferTest {
    private int before;
    private Loopback loopback;
    private ProtectionDomain domain;

    @BeforeEach
    void open() {
        before = Fenced.liveObjects();
        loopback = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none());
        domain = loopback.domain;
    }

    @AfterEach
    void closeLeavesNothing() {
        Fenced.calm();
        loopback.close();
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    private static ProtectionDomain unprotected(ProtectionDomain domain) {
        return domain.allocateParentDomain(ParentDomainOptions.defaults().allowUnprotectedBuffers(true));
    }

    @Test
    void bufferIsFilledWithZeros() {
        DriverBuffer buffer = domain.allocateBuffer(5000);
        assertThat(buffer.length()).isEqualTo(5000);
        assertThat(buffer.segment().address() % 4096).isZero();
        assertThat(buffer.segment().mismatch(MemorySegment.ofArray(new byte[5000])))
                .isEqualTo(-1);
        assertThat(buffer.domain()).isSameAs(domain);
        assertThat(buffer.toString()).contains("by the driver of fenced0");
    }

    @Test
    void regionOfABufferMovesData() throws InterruptedException {
        DriverBuffer buffer = domain.allocateBuffer(8192);
        MemoryRegion region = domain.register(RegionOptions.of(buffer, 4096, 64).access(LOCAL_WRITE));
        assertThat(region.segment()).isEqualTo(buffer.segment().asSlice(4096, 64));
        assertThat(region.address()).isEqualTo(buffer.segment().address() + 4096);
        loopback.right.buffer.segment().set(JAVA_LONG, 0, 0x1122334455667788L);
        loopback.left.pair.postRead(
                1, region.slice(8, 8), loopback.right.buffer.slice(0, 8).remote());
        loopback.left.done();
        assertThat(buffer.segment().get(JAVA_LONG, 4096 + 8)).isEqualTo(0x1122334455667788L);
    }

    @Test
    void bufferIsFreedAfterItsRegions() {
        DriverBuffer buffer = domain.allocateBuffer(64);
        MemoryRegion plain = domain.register(RegionOptions.of(buffer, 0, 64).access(LOCAL_WRITE));
        MemoryRegion extended = domain.register(RegionOptions.of(buffer, 8, 8).address(8));
        ResourceBusyException busy = catchThrowableOfType(ResourceBusyException.class, buffer::close);
        assertThat(busy.dependents()).containsExactly(plain, extended);
        assertThatThrownBy(domain::close).isInstanceOf(ResourceBusyException.class);
        buffer.segment().set(JAVA_BYTE, 0, (byte) 1);
        plain.close();
        extended.close();
        buffer.close();
    }

    @ParameterizedTest
    @EnumSource
    void segmentCanNotBeAccessedOnceTheBufferIsClosed(ArenaKind kind) {
        MemorySegment segment;
        try (VerbsArena arena = kind.make()) {
            DriverBuffer buffer =
                    TestDevice.get().open(arena).allocateProtectionDomain().allocateBuffer(64);
            segment = buffer.segment();
            segment.set(JAVA_BYTE, 63, (byte) 1);
            assertOutOfBounds(() -> segment.get(JAVA_BYTE, 64));
        }
        assertIllegalState(() -> segment.get(JAVA_BYTE, 0));
    }

    /** A confined arena whose thread has ended can be closed by another one, and no thread can access the memory. */
    @Test
    void bufferOfAnEndedThreadIsFreed() throws InterruptedException {
        AtomicReference<VerbsArena> arena = new AtomicReference<>();
        AtomicReference<MemorySegment> segment = new AtomicReference<>();
        Thread maker = Thread.ofPlatform().start(() -> {
            arena.set(VerbsArena.ofConfined());
            segment.set(TestDevice.get()
                    .open(arena.get())
                    .allocateProtectionDomain()
                    .allocateBuffer(64)
                    .segment());
        });
        maker.join();
        arena.get().close();
        assertThat(Fenced.calls("ibv_free_buf")).isEqualTo(1);
        assertThatThrownBy(() -> segment.get().get(JAVA_BYTE, 0)).isInstanceOf(WrongThreadException.class);
    }

    @Test
    void bufferOfAConfinedArenaIsRegisteredByItsThread() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            RegionOptions options = RegionOptions.of(domain.allocateBuffer(64, arena), 0, 64);
            OtherThread.run(
                    () -> assertThatThrownBy(() -> domain.register(options)).isInstanceOf(WrongThreadException.class));
        }
    }

    @Test
    void bufferRefusesWhatItCanNotRegister() {
        DriverBuffer buffer = domain.allocateBuffer(64);
        ProtectionDomain other = loopback.context.allocateProtectionDomain();
        assertIllegalArgument(
                "only be registered in the domain that allocated it",
                () -> other.register(
                        RegionOptions.of(buffer, 0, 64).hints(loopback.context.allocateDmaHandle(DmaHints.none()))));
        assertIllegalArgument(() -> other.register(RegionOptions.of(buffer, 0, 64)));
        assertOutOfBounds(() -> domain.register(RegionOptions.of(buffer, 1, 64)));
        assertOutOfBounds(() -> domain.register(RegionOptions.of(buffer, -1, 4)));
        assertOutOfBounds(() -> RegionOptions.of(buffer, 60, 5));
        assertIllegalArgument(() -> RegionOptions.of(buffer, 0, 0));
        assertIllegalArgument(
                "LOCAL_WRITE",
                () -> domain.register(RegionOptions.of(buffer, 0, 8).access(AccessFlag.REMOTE_WRITE)));
        assertIllegalArgument("can be closed", () -> domain.register(buffer.segment(), LOCAL_WRITE));
        assertIllegalArgument("at least 1", () -> domain.allocateBuffer(0));
        Fenced.fail("ibv_reg_buf_mr", 1, Errno.ENOMEM);
        assertThrows(
                        VerbsException.class,
                        "ibv_reg_buf_mr(64 bytes of memory by the driver",
                        () -> domain.register(RegionOptions.of(buffer, 0, 64)))
                .hasMessageContaining("ulimit");
        Fenced.fail("ibv_alloc_buf", 1, Errno.EOPNOTSUPP);
        assertThatThrownBy(() -> domain.allocateBuffer(64)).isInstanceOf(UnsupportedVerbException.class);
        buffer.close();
        assertIllegalState(() -> domain.register(RegionOptions.of(buffer, 0, 64)));
    }

    /** A changed region depends on its buffer as the old one did: the buffer would be freed below the adapter. */
    @Test
    void reregisteredRegionKeepsItsBuffer() {
        DriverBuffer buffer = domain.allocateBuffer(64);
        MemoryRegion changed = domain.register(RegionOptions.of(buffer, 0, 64).access(LOCAL_WRITE))
                .reregister(RegionChange.of(LOCAL_WRITE, REMOTE_READ));
        assertBusy(buffer::close, changed);
        changed.close();
        buffer.close();
    }

    @Test
    void reregisteredRegionKeepsItsHints() {
        DmaHandle hints = loopback.context.allocateDmaHandle(DmaHints.none().cpu(1));
        MemoryRegion changed = domain.register(
                        RegionOptions.of(loopback.arena.allocate(64)).hints(hints))
                .reregister(RegionChange.of(LOCAL_WRITE));
        assertThatThrownBy(hints::close).isInstanceOf(ResourceBusyException.class);
        changed.close();
        hints.close();
    }

    @Test
    void dmaBufferIsExported() {
        int descriptor = unprotected(domain).allocateBuffer(64).exportDmaBuf();
        assertThat(descriptor).isGreaterThan(0);
        SystemCall.close(descriptor);
    }

    @Test
    void plainBufferIsNotExported() {
        assertThrows(
                        VerbsException.class,
                        "ibv_export_buf_dmabuf_fd",
                        () -> domain.allocateBuffer(64).exportDmaBuf())
                .isNotInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining("ENODATA")
                .hasMessageContaining("plain memory");
    }

    @Test
    void addressOfADmaBufferCanNotBeChosen() {
        ProtectionDomain open = unprotected(domain);
        DriverBuffer buffer = open.allocateBuffer(64);
        assertThrows(
                        VerbsException.class,
                        "ibv_reg_mr_ex(",
                        () -> open.register(RegionOptions.of(buffer, 0, 64).address(0)))
                .hasMessageContaining("keeps its own address");
        DriverBuffer plain = domain.allocateBuffer(64);
        MemoryRegion region = domain.register(RegionOptions.of(plain, 8, 16).address(8));
        assertThat(region.address()).isEqualTo(8);
        assertThat(region.segment()).isEqualTo(plain.segment().asSlice(8, 16));
    }

    @Test
    void regionWithAllOptionsWorks() throws InterruptedException {
        DmaHandle hints = loopback.context.allocateDmaHandle(DmaHints.none().cpu(1));
        MemorySegment memory = loopback.arena.allocate(64, 64);
        RegionOptions options = RegionOptions.of(memory)
                .access(List.of(LOCAL_WRITE, REMOTE_READ))
                .address(0)
                .hints(hints);
        MemoryRegion region = domain.register(options);
        assertThat(region.address()).isZero();
        assertThat(region.segment()).isEqualTo(memory);
        assertThat(region.access()).containsExactly(LOCAL_WRITE, REMOTE_READ);
        memory.set(JAVA_LONG, 56, 99);
        loopback.left.pair.postRead(
                1, loopback.left.buffer.slice(0, 8), region.slice(56, 8).remote());
        loopback.left.done();
        assertThat(loopback.left.buffer.segment().get(JAVA_LONG, 0)).isEqualTo(99);
        assertThatThrownBy(hints::close).isInstanceOf(ResourceBusyException.class);
        region.close();
        hints.close();
        assertIllegalState(() -> domain.register(options));
    }

    @Test
    void dmaBufferOfAnotherDriverTakesHints() {
        DmaHandle hints = loopback.context.allocateDmaHandle(DmaHints.none());
        int descriptor = unprotected(domain).allocateBuffer(64).exportDmaBuf();
        RegionOptions options = RegionOptions.dmaBuf(descriptor, 4096, 64).hints(hints);
        assertThat(domain.register(options).address()).isEqualTo(4096);
        assertThat(domain.register(options.address(0x7000)).address()).isEqualTo(0x7000);
        SystemCall.close(descriptor);
        assertThrows(VerbsException.class, "is not open", () -> domain.register(RegionOptions.dmaBuf(999_999, 0, 64)));
    }

    @Test
    void regionOptionsRefuseWhatRegisterRefuses() {
        assertIllegalArgument("heap", () -> domain.register(RegionOptions.of(MemorySegment.ofArray(new byte[8]))))
                .hasMessageContaining("VerbsArena.allocate()");
        assertIllegalArgument("empty", () -> domain.register(RegionOptions.of(MemorySegment.NULL)));
        assertIllegalArgument(
                "read-only",
                () -> domain.register(
                        RegionOptions.of(loopback.arena.allocate(8).asReadOnly())
                                .access(List.of(LOCAL_WRITE))));
        try (Loopback other = Loopback.unconnected(VerbsArena.ofShared(), options -> options)) {
            DmaHandle hints = other.context.allocateDmaHandle(DmaHints.none());
            assertIllegalArgument(
                    "another context",
                    () -> domain.register(
                            RegionOptions.of(loopback.arena.allocate(8)).hints(hints)));
        }
    }

    @Test
    void parentDomainOptionsReachC() {
        ThreadDomain threads = loopback.context.allocateThreadDomain();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain parent = domain.allocateParentDomain(
                    ParentDomainOptions.defaults().threadDomain(threads).allowUnprotectedBuffers(true), arena);
            assertThat(parent.threadDomain()).containsSame(threads);
            assertThat(parent.base()).containsSame(domain);
            assertThatThrownBy(threads::close).isInstanceOf(ResourceBusyException.class);
            SystemCall.close(parent.allocateBuffer(64).exportDmaBuf());
        }
        ProtectionDomain plain = domain.allocateParentDomain(ParentDomainOptions.defaults());
        assertThatThrownBy(() -> plain.allocateBuffer(64).exportDmaBuf()).hasMessageContaining("ENODATA");
        Fenced.fail("ibv_alloc_parent_domain", 1, Errno.EINVAL);
        assertThatThrownBy(() -> unprotected(domain)).hasMessageContaining("unprotected buffers");
    }
}

package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.ON_DEMAND;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static dev.verbena.verbs.AccessFlag.ZERO_BASED;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Twin;
import dev.verbena.support.Unsupported;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory that is registered in other ways than as it is. */
@DeviceTest
class MemoryKindsTest {
    private static final int PAGE = 4096;

    private Loopback loopback;
    private Loopback.Side left;
    private Loopback.Side right;
    private ProtectionDomain domain;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected();
        left = loopback.left;
        right = loopback.right;
        domain = loopback.domain;
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private MemorySegment page() {
        return loopback.arena.allocate(PAGE, PAGE);
    }

    private static void fill(MemorySegment memory, int value) {
        memory.fill((byte) value);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 0x7000_0000_0000L})
    void registerAtGivesRegionTheChosenAddress(long address) throws Exception {
        MemoryRegion region = domain.registerAt(page(), address, LOCAL_WRITE, REMOTE_WRITE);
        assertThat(region.address()).isEqualTo(address);
        assertThat(region.remote().address()).isEqualTo(address);
        fill(left.buffer.segment(), 7);

        left.pair.postWrite(1, left.buffer.slice(0, 64), region.slice(128, 64).remote());
        left.done();
        assertThat(region.segment().get(JAVA_BYTE, 127)).isZero();
        assertThat(region.segment().get(JAVA_BYTE, 128)).isEqualTo((byte) 7);
        assertThat(region.segment().get(JAVA_BYTE, 191)).isEqualTo((byte) 7);
    }

    @Test
    void registerAtRegionCanBeSent() throws Exception {
        MemoryRegion region = domain.registerAt(page(), 1L << 40, LOCAL_WRITE);
        fill(region.segment().asSlice(256, 8), 9);

        right.pair.postReceive(1, right.buffer);
        left.pair.postSend(2, region.slice(256, 8));
        left.done();
        right.done();
        assertThat(right.buffer.segment().asSlice(0, 8).toArray(JAVA_BYTE)).containsOnly(9);
    }

    @Test
    void registerAtRefusesAnotherOffsetWithinThePage() {
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> domain.registerAt(page(), 1, LOCAL_WRITE))
                .withMessageContaining("EINVAL")
                .withMessageContaining("same offset within their pages");
    }

    @Test
    @Twin("test_mr.MRTest.test_reg_mr_bad_flags")
    void registerRefusesRemoteWriteWithoutLocalWrite() {
        for (AccessFlag flag : List.of(REMOTE_WRITE, REMOTE_ATOMIC)) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> domain.register(page(), flag, REMOTE_READ))
                    .withMessageContaining("LOCAL_WRITE");
        }
    }

    @Test
    void registerAtReplacesZeroBased() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> domain.register(page(), LOCAL_WRITE, ZERO_BASED))
                .withMessageContaining("registerAt(memory, 0");
    }

    @Test
    void registerDmaBufRefusesOtherDescriptors() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> domain.registerDmaBuf(-1, 0, PAGE, 0, List.of(LOCAL_WRITE), loopback.arena));
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> domain.registerDmaBuf(1_000_000, 0, PAGE, 0, List.of(LOCAL_WRITE), loopback.arena))
                .matches(e -> e.verb().equals("ibv_reg_dmabuf_mr"));
    }

    @Test
    void nullRegionDropsWrites() throws Exception {
        Optional<MemoryRegion> nothing = Unsupported.orSaysSo("ibv_alloc_null_mr", () -> domain.allocateNullRegion());
        if (nothing.isPresent()) {
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> nothing.get().segment());
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> nothing.get().remote());
            right.pair.postReceive(1, nothing.get().slice(0, 64));
            left.pair.postSend(2, left.buffer.slice(0, 64));
            left.done();
            assertThat(right.done().byteLength()).isEqualTo(64);
        }
    }

    @Test
    void deviceMemoryIsWrittenReadAndRegistered() throws Exception {
        Optional<DeviceMemory> made = Unsupported.orSaysSo(
                "ibv_alloc_dm", () -> loopback.context.allocateDeviceMemory(PAGE, 8, loopback.arena));
        if (made.isPresent()) {
            DeviceMemory memory = made.get();
            memory.write(64, MemorySegment.ofArray(new byte[] {1, 2, 3}));
            byte[] back = new byte[3];
            memory.read(64, MemorySegment.ofArray(back));
            assertThat(back).containsExactly(1, 2, 3);
            MemoryRegion region = domain.register(memory, 0, PAGE, List.of(LOCAL_WRITE, REMOTE_READ), loopback.arena);
            left.pair.postRead(1, left.buffer.slice(0, 3), region.slice(64, 3).remote());
            left.done();
            assertThat(left.buffer.segment().asSlice(0, 3).toArray(JAVA_BYTE)).containsExactly(1, 2, 3);
        }
    }

    @Test
    void allocateDeviceMemoryRefusesBadSizesAndAlignments() {
        assertThatIllegalArgumentException().isThrownBy(() -> loopback.context.allocateDeviceMemory(0));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> loopback.context.allocateDeviceMemory(PAGE, 3, loopback.arena))
                .withMessageContaining("power of two");
    }

    @Test
    void onDemandMemoryIsNotPinned() throws Exception {
        Optional<MemoryRegion> paged = onDemand();
        if (paged.isPresent()) {
            fill(left.buffer.segment(), 5);
            left.pair.postWrite(
                    1, left.buffer.slice(0, 64), paged.get().remote().slice(0, 64));
            left.done();
            assertThat(paged.get().segment().get(JAVA_BYTE, 63)).isEqualTo((byte) 5);
        }
    }

    /** A fresh page, or nothing where the device has no on-demand paging and says so. */
    private Optional<MemoryRegion> onDemand() {
        try {
            return Optional.of(domain.register(page(), LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, ON_DEMAND));
        } catch (VerbsException e) {
            assertThat(e).isInstanceOf(UnsupportedVerbException.class).hasMessageContaining("on-demand paging");
            return Optional.empty();
        }
    }

    @Test
    void registerAddressSpaceSucceedsOrGivesTheReason() throws Exception {
        try {
            AddressSpace space = domain.registerAddressSpace(LOCAL_WRITE);
            MemoryRegion part = space.region(page());
            fill(part.segment(), 3);
            right.pair.postReceive(1, right.buffer);
            left.pair.postSend(2, part.slice(0, 16));
            left.done();
            right.done();
            assertThat(right.buffer.segment().get(JAVA_BYTE, 15)).isEqualTo((byte) 3);
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(part::remote);
        } catch (VerbsException e) {
            assertThat(e.getMessage()).contains("the whole address space").contains("on-demand paging");
        }
    }

    @Test
    void registerAddressSpaceRefusesRightsOfPeers() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> domain.registerAddressSpace(LOCAL_WRITE, REMOTE_READ))
                .withMessageContaining("peers can't get rights over the whole address space");
    }

    @Test
    void adviseSucceedsOrGivesTheReason() {
        for (Advice advice : Advice.values()) {
            try {
                domain.advise(advice, true, left.buffer.slice(0, 64));
            } catch (VerbsException e) {
                assertThat(e.verb()).isEqualTo("ibv_advise_mr");
                assertThat(e.getMessage()).contains(advice.toString());
            }
        }
        assertThatIllegalArgumentException().isThrownBy(() -> domain.advise(Advice.PREFETCH, false));
    }

    @Test
    void adviseRefusesMemoryOfAnotherDomain() {
        MemoryRegion other = loopback.context.allocateProtectionDomain().register(page(), LOCAL_WRITE);
        assertThatIllegalArgumentException().isThrownBy(() -> domain.advise(Advice.PREFETCH, false, other));
    }

    @Test
    void reregisterFailureLeavesRegionUnchanged() throws Exception {
        MemoryRegion region = domain.register(page(), LOCAL_WRITE, REMOTE_WRITE);
        fill(left.buffer.segment(), 4);
        Optional<MemoryRegion> changed = Unsupported.orSaysSo(
                "ibv_rereg_mr", () -> region.reregister(RegionChange.of(LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ)));

        assertThat(region.isOpen()).isEqualTo(changed.isEmpty());
        MemoryRegion now = changed.orElse(region);
        left.pair.postWrite(1, left.buffer.slice(0, 8), now.slice(0, 8).remote());
        left.done();
        assertThat(now.segment().get(JAVA_BYTE, 7)).isEqualTo((byte) 4);
        now.close();
    }

    @Test
    void reregisterChangesMemoryAndDomain() throws Exception {
        MemoryRegion region = domain.register(page(), LOCAL_WRITE, REMOTE_READ);
        MemorySegment other = page();
        fill(other, 6);
        Optional<MemoryRegion> changed =
                Unsupported.orSaysSo("ibv_rereg_mr", () -> region.reregister(RegionChange.of(other)));
        if (changed.isPresent()) {
            left.pair.postRead(
                    1, left.buffer.slice(0, 8), changed.get().remote().slice(0, 8));
            left.done();
            assertThat(left.buffer.segment().get(JAVA_BYTE, 7)).isEqualTo((byte) 6);
        }
        ProtectionDomain second = loopback.context.allocateProtectionDomain();
        MemoryRegion moved = changed.orElse(region);
        Unsupported.orSaysSo("ibv_rereg_mr", () -> moved.reregister(RegionChange.of(second)))
                .ifPresent(there -> assertThat(there.domain()).isSameAs(second));
    }

    @Test
    void reregisterRefusesMemoryThatRegisterRefuses() {
        MemoryRegion region = domain.register(page(), LOCAL_WRITE);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> region.reregister(RegionChange.of(MemorySegment.ofArray(new byte[8]))))
                .withMessageContaining("heap");
        assertThatIllegalArgumentException().isThrownBy(() -> RegionChange.of(REMOTE_WRITE));
        assertThat(region.isOpen()).isTrue();
        region.close();
        assertThatIllegalStateException().isThrownBy(() -> region.reregister(RegionChange.of(LOCAL_WRITE)));
    }

    @Test
    void dmaHandleSucceedsOrGivesTheReason() {
        Optional<DmaHandle> handle = Unsupported.orSaysSo(
                "ibv_alloc_dmah",
                () -> loopback.context.allocateDmaHandle(DmaHints.none().cpu(0), loopback.arena));
        handle.ifPresent(hints -> Unsupported.orSaysSo(
                "ibv_reg_mr_ex", () -> domain.register(page(), List.of(LOCAL_WRITE), hints, loopback.arena)));
        assertThatIllegalArgumentException().isThrownBy(() -> DmaHints.none().processingHint(4));
    }

    @Test
    void regionOptionsSucceedOrGiveTheReason() throws Exception {
        MemorySegment memory = page();
        RegionOptions options = RegionOptions.of(memory)
                .access(List.of(LOCAL_WRITE, REMOTE_READ))
                .address(0);
        assertSince(RdmaCoreVersion.V59, "ibv_reg_mr_ex", () -> domain.register(options, loopback.arena));
        Optional<MemoryRegion> region = Unsupported.orSaysSo("ibv_reg_mr_ex", () -> domain.register(options));
        if (region.isPresent()) {
            fill(memory, 5);
            left.pair.postRead(
                    1, left.buffer.slice(0, 8), region.get().slice(0, 8).remote());
            left.done();
            assertThat(left.buffer.segment().get(JAVA_BYTE, 7)).isEqualTo((byte) 5);
        }
    }

    @Test
    void driverBufferSucceedsOrGivesTheReason() throws Exception {
        assertSince(RdmaCoreVersion.V64, "ibv_alloc_buf", () -> domain.allocateBuffer(4096, loopback.arena));
        Optional<DriverBuffer> buffer = Unsupported.orSaysSo("ibv_alloc_buf", () -> domain.allocateBuffer(4096));
        if (buffer.isPresent()) {
            MemoryRegion region = domain.register(buffer.get(), 0, 4096, LOCAL_WRITE, REMOTE_READ);
            fill(buffer.get().segment(), 7);
            left.pair.postRead(1, left.buffer.slice(0, 8), region.slice(0, 8).remote());
            left.done();
            assertThat(left.buffer.segment().get(JAVA_BYTE, 7)).isEqualTo((byte) 7);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(buffer.get()::exportDmaBuf)
                    .withMessageContaining("ibv_export_buf_dmabuf_fd");
        }
    }

    @Test
    void unprotectedParentDomainSucceedsOrGivesTheReason() {
        ParentDomainOptions options = ParentDomainOptions.defaults().allowUnprotectedBuffers(true);
        assertSince(
                RdmaCoreVersion.V64,
                "ibv_alloc_parent_domain",
                () -> domain.allocateParentDomain(options, loopback.arena));
        Unsupported.orSaysSo("ibv_alloc_parent_domain", () -> domain.allocateParentDomain(options));
    }

    @Test
    void completionCounterSucceedsOrGivesTheReason() {
        Context context = loopback.context;
        assertSince(RdmaCoreVersion.V65, "ibv_query_comp_cntr_caps", context::completionCounterLimits);
        assertSince(
                RdmaCoreVersion.V65,
                "ibv_create_comp_cntr",
                () -> context.createCompletionCounter(CompletionCounterUnit.BYTES, loopback.arena));
        Unsupported.orSaysSo(
                        "ibv_create_comp_cntr",
                        () -> context.createCompletionCounter(CompletionCounterUnit.WORK_REQUESTS))
                .ifPresent(counter -> {
                    counter.add(3);
                    assertThat(counter.value() + counter.errors()).isBetween(0L, 3L);
                });
    }

    /** An older rdma-core is named as the reason, with the release that is needed. */
    private static void assertSince(RdmaCoreVersion release, String function, Runnable call) {
        if (!release.isInstalled()) {
            assertThatExceptionOfType(UnsupportedVerbException.class)
                    .isThrownBy(call::run)
                    .withMessageStartingWith(function + "(")
                    .withMessageContaining("too old: " + release.number() + " or newer is needed");
        }
    }

    @Test
    void refusedObjectsAreNotLeftInTheArena() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Unsupported.orSaysSo("ibv_alloc_null_mr", () -> domain.allocateNullRegion(arena));
            Unsupported.orSaysSo("ibv_alloc_dm", () -> loopback.context.allocateDeviceMemory(64, 1, arena));
        }
        loopback.domain.register(page(), LOCAL_WRITE).close();
    }
}

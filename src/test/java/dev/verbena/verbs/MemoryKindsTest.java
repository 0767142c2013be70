package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.ON_DEMAND;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsException;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Unsupported;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
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
    void chosenAddressIsTheRegions(long address) throws Exception {
        MemoryRegion region =
                domain.register(RegionOptions.of(page()).address(address).access(LOCAL_WRITE, REMOTE_WRITE));
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
    void regionAtAChosenAddressCanBeSent() throws Exception {
        MemoryRegion region =
                domain.register(RegionOptions.of(page()).address(1L << 40).access(LOCAL_WRITE));
        fill(region.segment().asSlice(256, 8), 9);

        right.pair.postReceive(1, right.buffer);
        left.pair.postSend(2, region.slice(256, 8));
        left.done();
        right.done();
        assertThat(right.buffer.segment().asSlice(0, 8).toArray(JAVA_BYTE)).containsOnly(9);
    }

    @Test
    void chosenAddressNeedsTheSameOffsetWithinThePage() {
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() ->
                        domain.register(RegionOptions.of(page()).address(1).access(LOCAL_WRITE)))
                .withMessageContaining("EINVAL")
                .withMessageContaining("same offset within their pages");
    }

    @Test
    void dmaBufRefusesOtherDescriptors() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> domain.register(
                        RegionOptions.dmaBuf(-1, 0, PAGE).address(0).access(LOCAL_WRITE), loopback.arena));
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> domain.register(
                        RegionOptions.dmaBuf(1_000_000, 0, PAGE).address(0).access(LOCAL_WRITE), loopback.arena))
                .matches(e -> e.verb().equals("ibv_reg_dmabuf_mr"));
    }

    @Test
    void nullRegionDropsWrites() throws Exception {
        MemoryRegion nothing = Unsupported.orAborts("ibv_alloc_null_mr", () -> domain.allocateNullRegion());
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(nothing::segment);
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(nothing::remote);
        right.pair.postReceive(1, nothing.slice(0, 64));
        left.pair.postSend(2, left.buffer.slice(0, 64));
        left.done();
        assertThat(right.done().byteLength()).isEqualTo(64);
    }

    @Test
    void deviceMemoryIsWrittenReadAndRegistered() throws Exception {
        DeviceMemory memory = Unsupported.orAborts(
                "ibv_alloc_dm", () -> loopback.context.allocateDeviceMemory(PAGE, 8, loopback.arena));
        memory.write(64, MemorySegment.ofArray(new byte[] {1, 2, 3}));
        byte[] back = new byte[3];
        memory.read(64, MemorySegment.ofArray(back));
        assertThat(back).containsExactly(1, 2, 3);
        MemoryRegion region =
                domain.register(RegionOptions.of(memory, 0, PAGE).access(LOCAL_WRITE, REMOTE_READ), loopback.arena);
        left.pair.postRead(1, left.buffer.slice(0, 3), region.slice(64, 3).remote());
        left.done();
        assertThat(left.buffer.segment().asSlice(0, 3).toArray(JAVA_BYTE)).containsExactly(1, 2, 3);
    }

    @Test
    void regionOfAnAddressSpaceIsSent() throws Exception {
        MemoryRegion part = addressSpace().region(page());
        fill(part.segment(), 3);
        right.pair.postReceive(1, right.buffer);
        left.pair.postSend(2, part.slice(0, 16));
        left.done();
        right.done();
        assertThat(right.buffer.segment().get(JAVA_BYTE, 15)).isEqualTo((byte) 3);
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(part::remote);
    }

    /** A device may page memory on demand, but not the whole address space: EINVAL says no more. */
    private AddressSpace addressSpace() {
        try {
            return domain.registerAddressSpace(LOCAL_WRITE);
        } catch (VerbsException e) {
            assertThat(e.getMessage()).contains("the whole address space", "on-demand paging");
            return abort("the device lacks it: " + e.getMessage());
        }
    }

    @ParameterizedTest
    @EnumSource
    void adviseSucceeds(ProtectionDomain.Advice advice) {
        MemoryRegion region = Unsupported.orAborts(
                "ibv_reg_mr", () -> domain.register(page(), LOCAL_WRITE, REMOTE_WRITE, ON_DEMAND), "on-demand paging");
        Unsupported.orAborts(
                "ibv_advise_mr", () -> domain.advise(advice, true, region.slice(0, 64)), advice.toString());
    }

    @Test
    void reregisterFailureLeavesRegionUnchanged() throws Exception {
        MemoryRegion region = domain.register(page(), LOCAL_WRITE, REMOTE_WRITE);
        fill(left.buffer.segment(), 4);
        assumeTrue(
                Unsupported.isRefused(
                        "ibv_rereg_mr",
                        () -> region.reregister(RegionChange.of(LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ))),
                "the device changes the rights of a region");

        assertThat(region.isOpen()).isTrue();
        isWrittenTo(region);
    }

    private void isWrittenTo(MemoryRegion region) throws Exception {
        left.pair.postWrite(1, left.buffer.slice(0, 8), region.slice(0, 8).remote());
        left.done();
        assertThat(region.segment().get(JAVA_BYTE, 7)).isEqualTo((byte) 4);
        region.close();
    }

    @Test
    void reregisterChangesTheRights() throws Exception {
        MemoryRegion region = domain.register(page(), LOCAL_WRITE, REMOTE_READ);
        fill(left.buffer.segment(), 4);
        MemoryRegion changed = Unsupported.orAborts(
                "ibv_rereg_mr", () -> region.reregister(RegionChange.of(LOCAL_WRITE, REMOTE_WRITE)));

        assertThat(region.isOpen()).isFalse();
        isWrittenTo(changed);
    }

    @Test
    void reregisterChangesTheMemory() throws Exception {
        MemoryRegion region = domain.register(page(), LOCAL_WRITE, REMOTE_READ);
        MemorySegment other = page();
        fill(other, 6);
        MemoryRegion changed = Unsupported.orAborts("ibv_rereg_mr", () -> region.reregister(RegionChange.of(other)));
        left.pair.postRead(1, left.buffer.slice(0, 8), changed.remote().slice(0, 8));
        left.done();
        assertThat(left.buffer.segment().get(JAVA_BYTE, 7)).isEqualTo((byte) 6);
    }

    @Test
    void reregisterChangesTheDomain() {
        MemoryRegion region = domain.register(page(), LOCAL_WRITE, REMOTE_READ);
        ProtectionDomain second = loopback.context.allocateProtectionDomain();
        MemoryRegion moved = Unsupported.orAborts("ibv_rereg_mr", () -> region.reregister(RegionChange.of(second)));
        assertThat(moved.domain()).isSameAs(second);
    }

    /** A function that came with a release of rdma-core. */
    private record Newer(RdmaCoreVersion release, String function, Consumer<ProtectionDomain> call) {
        @Override
        public String toString() {
            return function;
        }
    }

    static List<Newer> newer() {
        ParentDomainOptions unprotected = ParentDomainOptions.defaults().allowUnprotectedBuffers(true);
        return List.of(
                new Newer(RdmaCoreVersion.V64, "ibv_alloc_buf", domain -> domain.allocateBuffer(PAGE)),
                new Newer(
                        RdmaCoreVersion.V64,
                        "ibv_alloc_parent_domain",
                        domain -> domain.allocateParentDomain(unprotected)),
                new Newer(
                        RdmaCoreVersion.V65,
                        "ibv_query_comp_cntr_caps",
                        domain -> domain.context().completionCounterLimits()),
                new Newer(
                        RdmaCoreVersion.V65,
                        "ibv_create_comp_cntr",
                        domain -> domain.context().createCompletionCounter(CompletionCounter.Unit.BYTES)));
    }

    /** An older rdma-core is named as the reason, with the release that is needed. */
    @ParameterizedTest
    @MethodSource("newer")
    void functionOfANewerReleaseNamesIt(Newer newer) {
        assumeFalse(newer.release.isInstalled(), "rdma-core has " + newer);
        assertThatExceptionOfType(UnsupportedVerbException.class)
                .isThrownBy(() -> newer.call.accept(domain))
                .withMessageStartingWith(newer + "(")
                .withMessageContaining("too old: " + newer.release.number() + " or newer is needed");
    }
}

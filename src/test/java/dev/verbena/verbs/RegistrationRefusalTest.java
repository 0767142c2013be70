package dev.verbena.verbs;

import static dev.verbena.verbs.GivenToC.words;
import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertOutOfBounds;
import static dev.verbena.verbs.Refusals.assertRefusedByC;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.internal.raw.ibv_odp_caps;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.device.DeviceCapability;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Registrations and changes of them that C refuses: the message says why, and the region is as it says. */
@FencedTest
class RegistrationRefusalTest {
    private static final RegionChange READABLE = RegionChange.of(AccessFlag.REMOTE_READ);

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Context context = TestDevice.get().open(arena);
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final MemorySegment memory = arena.allocate(4096, 4096);

    @AfterEach
    void close() {
        arena.close();
    }

    private void answerCapabilities(boolean onDemand, DeviceCapability... capabilities) {
        MemorySegment device = arena.allocate(ibv_device_attr_ex.layout());
        long bits = 0;
        for (DeviceCapability capability : capabilities) {
            bits |= capability.bit();
        }
        ibv_device_attr_ex.device_cap_flags_ex(device, bits);
        ibv_odp_caps.general_caps(ibv_device_attr_ex.odp_caps(device), onDemand ? rdma_h.IBV_ODP_SUPPORT : 0);
        Fenced.answer("ibv_query_device_ex", device);
    }

    private VerbsException refusal(int errno, AccessFlag... access) {
        Fenced.fail("ibv_reg_mr_iova2", 1, errno);
        VerbsException refused = catchThrowableOfType(VerbsException.class, () -> domain.register(memory, access));
        assertThat(refused)
                .hasMessageStartingWith(
                        "ibv_reg_mr(4 KiB at 0x" + Long.toHexString(memory.address()) + ", " + List.of(access) + "): ");
        assertThat(refused.errno()).isEqualTo(errno);
        return refused;
    }

    @ParameterizedTest
    @EnumSource(names = {"ON_DEMAND", "FLUSH_GLOBAL", "FLUSH_PERSISTENT"})
    void registrationNamesTheRightThatTheDeviceLacks(AccessFlag flag) {
        answerCapabilities(
                flag != AccessFlag.ON_DEMAND,
                flag == AccessFlag.FLUSH_GLOBAL ? DeviceCapability.XRC : DeviceCapability.FLUSH_GLOBAL,
                flag == AccessFlag.FLUSH_PERSISTENT ? DeviceCapability.XRC : DeviceCapability.FLUSH_PERSISTENT);
        String name = flag == AccessFlag.ON_DEMAND ? "on-demand paging (ON_DEMAND)" : flag.toString();
        for (int errno : new int[] {Errno.EINVAL, Errno.EOPNOTSUPP}) {
            assertThat(refusal(errno, flag))
                    .isInstanceOf(UnsupportedVerbException.class)
                    .hasMessageContaining("does not support " + name + ": register memory without it");
        }
        assertThat(refusal(Errno.EFAULT, flag)).hasMessageContaining("not mapped");
    }

    @Test
    void registrationThatTheDeviceHasAllRightsForSaysWhatElseMayBe() {
        answerCapabilities(true, DeviceCapability.FLUSH_PERSISTENT, DeviceCapability.FLUSH_GLOBAL);
        assertThat(refusal(Errno.EINVAL, AccessFlag.ON_DEMAND)).hasMessageContaining("of the whole address space");
        assertThat(refusal(Errno.EOPNOTSUPP, AccessFlag.ON_DEMAND)).hasMessageContaining("of the whole address space");
        assertThat(refusal(Errno.EINVAL, AccessFlag.FLUSH_PERSISTENT)).hasMessageContaining("DAX file system");
        assertThat(refusal(Errno.EPERM, AccessFlag.FLUSH_PERSISTENT)).hasMessageNotContaining("DAX");
        assertThat(refusal(Errno.EINVAL, AccessFlag.FLUSH_GLOBAL))
                .hasMessageContaining("does not support one of these access flags");
        assertThat(refusal(Errno.ENOMEM, AccessFlag.ON_DEMAND)).hasMessageContaining("Locked memory");
        assertThat(refusal(Errno.EAGAIN)).hasMessageContaining("Locked memory");
        assertThat(refusal(Errno.EPERM).getMessage()).doesNotContain("Locked", "flags", "mapped");
        Fenced.fail("ibv_query_device_ex", 1, Errno.EIO); // the device is gone
        assertThat(refusal(Errno.EINVAL, AccessFlag.FLUSH_GLOBAL)).hasMessageContaining("one of these access flags");
    }

    @Test
    void registrationAtAnotherAddressSaysThatOffsetsMustAgree() {
        Fenced.fail("ibv_reg_mr_iova2", 1, Errno.EINVAL);
        assertThrows(
                        VerbsException.class,
                        " as 0x1000, [LOCAL_WRITE]): EINVAL",
                        () -> domain.register(RegionOptions.of(memory.asSlice(8, 64))
                                .address(0x1000)
                                .access(AccessFlag.LOCAL_WRITE)))
                .hasMessageContaining("the same offset within their pages");
    }

    @Test
    void writesOfPeersNeedLocalWrites() {
        for (AccessFlag flag : List.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)) {
            assertIllegalArgument("need LOCAL_WRITE as well, got [" + flag + "]", () -> domain.register(memory, flag));
            assertThat(domain.register(memory, flag, AccessFlag.LOCAL_WRITE).access())
                    .containsExactlyInAnyOrder(flag, AccessFlag.LOCAL_WRITE);
        }
        assertThat(domain.register(memory, AccessFlag.REMOTE_READ).access()).containsExactly(AccessFlag.REMOTE_READ);
        assertIllegalArgument("address(0)", () -> domain.register(memory, AccessFlag.ZERO_BASED));
        MemorySegment readOnly = memory.asReadOnly();
        assertIllegalArgument(() -> domain.register(readOnly, AccessFlag.LOCAL_WRITE));
        assertThat(domain.register(readOnly, AccessFlag.REMOTE_READ).length()).isEqualTo(4096);
    }

    @Test
    void nullRegionHasLocalWritesAndNoPeers() {
        MemoryRegion nothing = domain.allocateNullRegion();
        assertThat(nothing.access()).containsExactly(AccessFlag.LOCAL_WRITE);
        assertThat(nothing.length()).isEqualTo(Long.MAX_VALUE);
        assertThatThrownBy(nothing::remote).isInstanceOf(UnsupportedOperationException.class);
        assertThrows(UnsupportedOperationException.class, "no segment covers", nothing::segment);
        assertThatThrownBy(() -> nothing.fill((byte) 0)).isInstanceOf(UnsupportedOperationException.class);
        assertRefusedByC("ibv_alloc_null_mr(" + domain + "): EINVAL", domain::allocateNullRegion);
    }

    @Test
    void deviceMemoryIsRegisteredWithinItsLength() {
        DeviceMemory device = context.allocateDeviceMemory(100, 1);
        MemoryRegion region = domain.register(RegionOptions.of(device, 40, 60).access(AccessFlag.LOCAL_WRITE));
        assertThat(region.address()).isZero();
        assertThat(region.length()).isEqualTo(60);
        assertThat(region.toString()).contains("60 bytes of device memory at 0x0");
        for (long[] range : new long[][] {{-1, 1}, {41, 60}, {100, 1}, {0, 101}}) {
            assertOutOfBounds(() ->
                    domain.register(RegionOptions.of(device, range[0], range[1]).access(AccessFlag.LOCAL_WRITE)));
        }
        assertIllegalArgument(
                "length of a memory region",
                () -> domain.register(RegionOptions.of(device, 5, 0).access(AccessFlag.LOCAL_WRITE)));
        assertRefusedByC(
                "ibv_reg_dm_mr(" + device + ", offset 4, 5 bytes, [LOCAL_WRITE]): EINVAL",
                () -> domain.register(RegionOptions.of(device, 4, 5).access(AccessFlag.LOCAL_WRITE)));
        RegionOptions whole = RegionOptions.of(device, 0, 100);
        try (DmaHandle hints = context.allocateDmaHandle(DmaHints.none())) {
            for (RegionOptions impossible : List.of(whole.address(8), whole.hints(hints))) {
                assertIllegalArgument("begins at the address 0", () -> domain.register(impossible));
            }
        }
    }

    @Test
    void regionOfAnotherProcessHasItsLengthAndNoSegment() {
        MemoryRegion own = domain.register(memory, AccessFlag.LOCAL_WRITE);
        MemoryRegion imported = domain.importRegion(own.handle(), 0x7000);
        assertThat(imported.length()).isEqualTo(4096);
        assertThat(imported.address()).isEqualTo(0x7000);
        assertThat(imported.access()).isEmpty();
        assertThat(imported.localKey()).isEqualTo(own.localKey());
        assertThat(imported.remote()).isEqualTo(new RemoteMemory(0x7000, own.remoteKey(), 4096));
        assertThat(imported.toString()).startsWith("memory region of 4 KiB of another process at 0x7000, lkey ");
        assertThatThrownBy(imported::segment).isInstanceOf(UnsupportedOperationException.class);
        assertIllegalState(
                "only a registration of memory of this process",
                () -> imported.reregister(RegionChange.of(AccessFlag.LOCAL_WRITE)));
        imported.close();
        assertThat(Fenced.calls("ibv_unimport_mr")).isEqualTo(1);
        assertThat(Fenced.calls("ibv_dereg_mr")).isZero();
    }

    @Test
    void sliceIsWithinItsRegionAndNamesItsBytes() {
        MemoryRegion region = domain.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
        LocalMemory slice = region.slice(100, 50);
        assertThat(slice).hasToString("bytes 100 to 150 of " + region);
        assertThat(slice.slice(10, 40)).hasToString("bytes 110 to 150 of " + region);
        assertThat(slice.slice(10, 40).address()).isEqualTo(memory.address() + 110);
        assertThat(slice.address()).isEqualTo(memory.address() + 100);
        assertThat(slice.length()).isEqualTo(50);
        assertThat(slice.region()).isSameAs(region);
        assertThat(slice.segment()).isEqualTo(memory.asSlice(100, 50));
        assertThat(slice.remote()).isEqualTo(new RemoteMemory(memory.address() + 100, region.remoteKey(), 50));
        LocalMemory all = region.slice(0, 4096);
        for (long[] range : new long[][] {
            {-1, 1}, {0, 4097}, {4096, 1}, {0, -1}, {1, Long.MAX_VALUE}, {Long.MAX_VALUE, Long.MAX_VALUE}
        }) {
            for (ThrowingCallable sliced : List.<ThrowingCallable>of(
                    () -> region.slice(range[0], range[1]), () -> all.slice(range[0], range[1]))) {
                assertOutOfBounds(sliced);
            }
        }
        assertThat(region.slice(4096, 0).length()).isZero();
        region.close(); // no call has kept it open
        region.close();
        assertThat(region.toString()).contains("4 KiB");
        assertIllegalState("closed", () -> region.slice(0, 1_000_000)); // not: out of bounds
    }

    // Changes

    private static void assertChange(long mask, long domain, long address, long length, int access) {
        assertThat(words("ibv_rereg_mr")).containsExactly(mask, domain, address, length, (long) access);
    }

    @Test
    void changeNamesOnlyWhatChanges() {
        ProtectionDomain other = context.allocateProtectionDomain();
        MemorySegment longer = arena.allocate(8192, 4096);
        MemoryRegion region = domain.register(memory, AccessFlag.LOCAL_WRITE);
        MemoryRegion moved = region.reregister(RegionChange.of(longer));
        assertChange(rdma_h.IBV_REREG_MR_CHANGE_TRANSLATION(), 0, longer.address(), 8192, 0);
        assertThat(moved.length()).isEqualTo(8192);
        assertThat(moved.access()).containsExactly(AccessFlag.LOCAL_WRITE);
        MemoryRegion lent = moved.reregister(RegionChange.of(other));
        assertChange(rdma_h.IBV_REREG_MR_CHANGE_PD(), other.address(), 0, 0, 0);
        assertThat(lent.domain()).isSameAs(other);
        MemoryRegion readable = lent.reregister(READABLE);
        assertChange(rdma_h.IBV_REREG_MR_CHANGE_ACCESS(), 0, 0, 0, AccessFlag.REMOTE_READ.bit);
        assertThat(readable.access()).containsExactly(AccessFlag.REMOTE_READ);
        assertThat(readable.length()).isEqualTo(8192);
        readable.reregister(RegionChange.of(memory).domain(domain).access(List.of(AccessFlag.LOCAL_WRITE)));
        assertChange(7, domain.address(), memory.address(), 4096, AccessFlag.LOCAL_WRITE.bit);
    }

    @Test
    void changeChecksItsValuesBeforeC() {
        MemoryRegion region = domain.register(memory, AccessFlag.LOCAL_WRITE);
        assertIllegalArgument(() -> region.reregister(RegionChange.of(memory.asReadOnly())));
        assertIllegalArgument("heap", () -> region.reregister(RegionChange.of(MemorySegment.ofArray(new byte[8]))));
        assertIllegalArgument(() -> region.reregister(RegionChange.of(AccessFlag.REMOTE_WRITE)));
        assertThat(Fenced.calls("ibv_rereg_mr")).isZero();
        assertThat(region.isOpen()).isTrue();
        MemoryRegion readOnly = domain.register(memory.asReadOnly(), AccessFlag.REMOTE_READ);
        assertIllegalArgument(() -> readOnly.reregister(RegionChange.of(AccessFlag.LOCAL_WRITE)));
    }

    /** C says by a code how far it came: the region is as it was, or lost. */
    @ParameterizedTest
    @CsvSource({
        "-1, EINVAL, IBV_REREG_MR_ERR_INPUT. The region is unchanged",
        "-2, EINVAL, IBV_REREG_MR_ERR_DONT_FORK_NEW. The region is unchanged",
        "-4, EOPNOTSUPP, IBV_REREG_MR_ERR_CMD. The region is unchanged",
        "-4, ENOMEM, IBV_REREG_MR_ERR_CMD. The region was lost and is closed: register the memory again",
        "-5, ENOMEM, IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW. The region was lost and is closed: register the memory again",
        "77, ENOMEM, C returned 77. The region was lost and is closed: register the memory again"
    })
    void changeThatFailsSaysWhatBecameOfTheRegion(int code, String errno, String words) throws Throwable {
        MemoryRegion region = domain.register(memory, AccessFlag.LOCAL_WRITE);
        Fenced.answer("ibv_rereg_mr", arena.allocateFrom(ValueLayout.JAVA_INT, code));
        assertRefusedByC("ibv_rereg_mr(" + region + "): " + errno, words, () -> region.reregister(READABLE))
                .isInstanceOf(errno.equals("EOPNOTSUPP") ? UnsupportedVerbException.class : VerbsException.class);
        boolean isLost = words.contains("lost");
        assertThat(region.isOpen()).isEqualTo(!isLost);
        assertThat(Fenced.calls("ibv_dereg_mr")).isEqualTo(isLost ? 1 : 0);
        OtherThread.run(region::close);
        domain.close();
    }

    /** The old memory stays protected against fork, which does no harm. */
    @Test
    void changeThatOnlyFailsForForkSucceeds() {
        MemoryRegion region = domain.register(memory, AccessFlag.LOCAL_WRITE);
        Fenced.answer("ibv_rereg_mr", arena.allocateFrom(ValueLayout.JAVA_INT, -3));
        Fenced.fail("ibv_rereg_mr", 1, Errno.EINVAL);
        MemoryRegion changed = region.reregister(READABLE);
        assertThat(region.isOpen()).isFalse();
        assertThat(changed.isOpen()).isTrue();
        assertThat(changed.access()).containsExactly(AccessFlag.REMOTE_READ);
    }

    /** Then the region is still registered, and the arena keeps the memory. */
    @Test
    void regionThatIsLostAndCanNotBeDeregisteredStaysOpen() {
        MemoryRegion region = domain.register(memory, AccessFlag.LOCAL_WRITE);
        Fenced.answer("ibv_rereg_mr", arena.allocateFrom(ValueLayout.JAVA_INT, -4));
        Fenced.fail("ibv_rereg_mr", 1, Errno.ENOMEM);
        assertRefusedByC("ibv_dereg_mr(" + region + "): EBUSY", () -> region.reregister(READABLE));
        assertThat(region.isOpen()).isTrue();
        region.close();
    }
}

package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.support.Unsupported;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Protection domains: plain ones, parent domains, and those of others. */
@DeviceTest
class ProtectionDomainTest {
    private VerbsArena arena;
    private Context context;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        context = TestDevice.get().open(arena);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    @Twin({"test_pd.PDTest.test_alloc_pd", "test_pd.PDTest.test_dealloc_pd"})
    void allocateAndCloseSucceed() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        assertThat(domain.context()).isSameAs(context);
        domain.close();
        assertThat(domain.isOpen()).isFalse();
    }

    @Test
    @Twin("test_pd.PDTest.test_destroy_pd_twice")
    void secondCloseDoesNothing() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        domain.close();
        domain.close();
        assertThat(domain.isOpen()).isFalse();
    }

    @Test
    @Twin("test_pd.PDTest.test_multiple_pd_creation")
    void allocateSucceedsManyTimes() {
        List<ProtectionDomain> domains = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            domains.add(context.allocateProtectionDomain());
        }
        assertThat(domains).extracting(ProtectionDomain::handle).doesNotHaveDuplicates();
    }

    @Test
    @Fault("in-use")
    void closeFailsWhileTheDomainIsInUse() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        MemoryRegion region = domain.register(arena.allocate(64), LOCAL_WRITE);
        assertThatExceptionOfType(ResourceBusyException.class)
                .isThrownBy(domain::close)
                .satisfies(e -> assertThat(e.dependents()).containsExactly(region));
        region.close();
        domain.close();
    }

    @Test
    void parentDomainWorksWithItsBase() throws Exception {
        ProtectionDomain domain = context.allocateProtectionDomain();
        ProtectionDomain parent = Unsupported.orAborts(
                "ibv_alloc_parent_domain", () -> domain.allocateParentDomain(ParentDomainOptions.defaults()));
        assertThat(parent.base()).containsSame(domain);
        assertThat(domain.base()).isEmpty();
        CompletionQueue queue = context.createCompletionQueue(
                CompletionQueueOptions.of(16).fields(CompletionField.standard()).parentDomain(parent));
        QueuePair left = parent.createQueuePair(QueuePair.rc(queue));
        QueuePair right = domain.createQueuePair(QueuePair.rc(queue));
        left.connect(right.endpoint());
        right.connect(left.endpoint());
        right.postReceive(1, domain.register(arena.allocate(64), LOCAL_WRITE));
        left.postSend(2, domain.register(arena.allocate(64)));
        queue.await(Loopback.DEADLINE).orThrow();
        queue.await(Loopback.DEADLINE).orThrow();
    }

    @Test
    void threadDomainNeedsConfinedArena() {
        ThreadDomain thread = Unsupported.orAborts("ibv_alloc_td", () -> context.allocateThreadDomain(arena));
        ProtectionDomain domain = context.allocateProtectionDomain();
        ProtectionDomain parent =
                domain.allocateParentDomain(ParentDomainOptions.defaults().threadDomain(thread), arena);
        assertThat(parent.threadDomain()).contains(thread);
        QueuePairOptions options = QueuePair.rc(context.createCompletionQueue(16));
        parent.createQueuePair(options, arena);
        try (VerbsArena shared = VerbsArena.ofShared()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> parent.createQueuePair(options, shared))
                    .withMessageContaining("ofConfined");
        }
    }

    @Test
    void importedContextSharesDeviceAndObjects() throws IOException {
        ProtectionDomain domain = context.allocateProtectionDomain();
        MemoryRegion region = domain.register(arena.allocate(64), LOCAL_WRITE);
        int before = descriptors();
        Context shared = Unsupported.orAborts(
                "ibv_import_device", () -> Context.importDevice(context.commandDescriptor(), arena));
        ProtectionDomain same = shared.importProtectionDomain(domain.handle(), arena);
        MemoryRegion there = same.importRegion(region.handle(), region.address(), arena);
        assertThat(there.remoteKey()).isEqualTo(region.remoteKey());
        there.close();
        same.close();
        shared.close();
        assertThat(descriptors()).as("open file descriptors").isEqualTo(before);
        domain.register(arena.allocate(64), LOCAL_WRITE); // the descriptor that was lent is still open
    }

    @Test
    void refusedImportOfADeviceLeavesNoDescriptor() throws IOException {
        int before = descriptors();
        assumeTrue(
                Unsupported.isRefused(
                        "ibv_import_device", () -> Context.importDevice(context.commandDescriptor(), arena)),
                "the device can be imported");
        assertThat(descriptors()).as("open file descriptors").isEqualTo(before);
        context.allocateProtectionDomain(); // the descriptor that was lent is still open
    }

    private static int descriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return (int) open.count();
        }
    }

    @Test
    void importedDomainHasTheHandleOfItsOrigin() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        ProtectionDomain same =
                Unsupported.orAborts("ibv_import_pd", () -> context.importProtectionDomain(domain.handle(), arena));
        assertThat(same.handle()).isEqualTo(domain.handle());
        same.close();
    }

    @Test
    void importedRegionHasTheKeyOfItsOrigin() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        MemoryRegion region = domain.register(arena.allocate(64), LOCAL_WRITE);
        MemoryRegion same = Unsupported.orAborts(
                "ibv_import_mr", () -> domain.importRegion(region.handle(), region.address(), arena));
        assertThat(same.remoteKey()).isEqualTo(region.remoteKey());
        same.close();
    }

    @Test
    void importNamesTheVerbThatRefusesAHandle() {
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> context.importDeviceMemory(Integer.MAX_VALUE, 64, arena))
                .matches(e -> e.verb().equals("ibv_import_dm"));
    }

    @Test
    void importDeviceRefusesOtherDescriptors() {
        assertThatIllegalArgumentException().isThrownBy(() -> Context.importDevice(-1, arena));
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> Context.importDevice(0, arena))
                .withMessageContaining("ibv_import_device")
                .withMessageContaining("not an RDMA device");
    }
}

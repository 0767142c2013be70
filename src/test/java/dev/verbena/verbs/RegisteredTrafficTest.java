package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.ON_DEMAND;
import static dev.verbena.verbs.AccessFlag.RELAXED_ORDERING;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DatagramPair;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Twin;
import dev.verbena.verbs.address.Grh;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What moves through memory that is paged on demand, or written to in any order, as through any other. */
@DeviceTest
class RegisteredTrafficTest {
    private static final int ROUNDS = 20;
    private static final int SIZE = 1024;
    private static final int PAGE = 4096;

    /** Fresh memory with a flag; where the device has no such memory the test is left out, and says why. */
    private static MemoryRegion region(ProtectionDomain domain, AccessFlag flag) {
        List<AccessFlag> access = new ArrayList<>(List.of(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC, flag));
        try {
            return domain.register(domain.arena().allocate(PAGE, PAGE), access, domain.arena());
        } catch (VerbsException e) {
            assertThat(e.getMessage()).contains(flag.toString());
            return abort("this device has no " + flag + ": " + e.getMessage());
        }
    }

    private static void sends(AccessFlag flag) throws InterruptedException {
        try (Loopback loopback = Loopback.connected()) {
            MemoryRegion from = region(loopback.domain, flag);
            MemoryRegion to = region(loopback.domain, flag);
            for (int round = 1; round <= ROUNDS; round++) {
                from.segment().fill((byte) round);
                loopback.right.pair.postReceive(1, to.slice(0, SIZE));
                loopback.left.pair.postSend(2, from.slice(0, SIZE));
                loopback.left.done();
                assertThat(loopback.right.done().byteLength()).isEqualTo(SIZE);
                assertThat(to.segment().asSlice(0, SIZE).toArray(JAVA_BYTE)).containsOnly(round);
            }
        }
    }

    private static void datagrams(AccessFlag flag) throws InterruptedException {
        try (DatagramPair pair = DatagramPair.ready(VerbsArena.ofConfined())) {
            MemoryRegion from = region(pair.domain, flag);
            // No device claims that datagrams can be received into memory that is paged on demand.
            MemoryRegion to = flag == ON_DEMAND ? pair.right.buffer : region(pair.domain, flag);
            AddressHandle path = DatagramPair.path(pair.right);
            for (int round = 1; round <= ROUNDS; round++) {
                from.segment().fill((byte) round);
                pair.right.pair.postReceive(1, to.slice(0, Grh.BYTES + 512));
                pair.left.pair.postSend(2, from.slice(0, 512), path, pair.right.pair.number(), DatagramPair.RIGHT_KEY);
                pair.left.done();
                pair.right.done();
                assertThat(to.segment().asSlice(Grh.BYTES, 512).toArray(JAVA_BYTE))
                        .containsOnly(round);
            }
        }
    }

    @Test
    @Twin("test_relaxed_ordering.RoTestCase.test_ro_rc_traffic")
    void sendsUseRelaxedOrderingMemory() throws Exception {
        sends(RELAXED_ORDERING);
    }

    @Test
    @Twin("test_relaxed_ordering.RoTestCase.test_ro_ud_traffic")
    void datagramsUseRelaxedOrderingMemory() throws Exception {
        datagrams(RELAXED_ORDERING);
    }

    @Test
    @Twin("test_odp.OdpTestCase.test_odp_rc_traffic")
    void sendsUseOnDemandMemory() throws Exception {
        sends(ON_DEMAND);
    }

    @Test
    @Twin("test_odp.OdpTestCase.test_odp_ud_traffic")
    void datagramsUseOnDemandMemory() throws Exception {
        datagrams(ON_DEMAND);
    }

    @Test
    @Twin("test_odp.OdpTestCase.test_odp_rc_srq_traffic")
    void sharedReceivesUseOnDemandMemory() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            MemoryRegion from = region(loopback.domain, ON_DEMAND);
            MemoryRegion to = region(loopback.domain, ON_DEMAND);
            SharedReceiveQueue shared = loopback.domain.createSharedReceiveQueue(
                    SharedReceiveQueue.basic().depth(4));
            CompletionQueue queue = loopback.context.createCompletionQueue(16);
            QueuePair receiver =
                    loopback.domain.createQueuePair(QueuePair.rc(queue).sharedReceiveQueue(shared));
            QueuePair sender = loopback.domain.createQueuePair(QueuePair.rc(loopback.left.queue));
            sender.connect(receiver.endpoint());
            receiver.connect(sender.endpoint());
            for (int round = 1; round <= ROUNDS; round++) {
                from.segment().fill((byte) round);
                shared.postReceive(1, to.slice(0, SIZE));
                sender.postSend(2, from.slice(0, SIZE));
                loopback.left.done();
                queue.await(Loopback.DEADLINE).orThrow();
                assertThat(to.segment().asSlice(0, SIZE).toArray(JAVA_BYTE)).containsOnly(round);
            }
        }
    }

    @Test
    @Twin("test_odp.OdpTestCase.test_odp_rc_rdma_write")
    void writesUseOnDemandMemory() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            MemoryRegion from = region(loopback.domain, ON_DEMAND);
            MemoryRegion to = region(loopback.domain, ON_DEMAND);
            for (int round = 1; round <= ROUNDS; round++) {
                from.segment().fill((byte) round);
                loopback.left.pair.postWrite(1, from.slice(0, SIZE), to.remote().slice(0, SIZE));
                loopback.left.done();
                assertThat(to.segment().asSlice(0, SIZE).toArray(JAVA_BYTE)).containsOnly(round);
            }
        }
    }

    @Test
    @Twin("test_odp.OdpTestCase.test_odp_rc_rdma_read")
    void readsUseOnDemandMemory() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            MemoryRegion from = region(loopback.domain, ON_DEMAND);
            MemoryRegion to = region(loopback.domain, ON_DEMAND);
            for (int round = 1; round <= ROUNDS; round++) {
                from.segment().fill((byte) round);
                loopback.left.pair.postRead(1, to.slice(0, SIZE), from.remote().slice(0, SIZE));
                loopback.left.done();
                assertThat(to.segment().asSlice(0, SIZE).toArray(JAVA_BYTE)).containsOnly(round);
            }
        }
    }

    @Test
    @Twin("test_odp.OdpTestCase.test_odp_rc_atomic_fetch_and_add")
    void fetchAndAddUsesOnDemandMemory() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            MemoryRegion old = region(loopback.domain, ON_DEMAND);
            MemoryRegion counter = region(loopback.domain, ON_DEMAND);
            for (int round = 0; round < ROUNDS; round++) {
                loopback.left.pair.postFetchAndAdd(1, old, counter.remote(), 3);
                loopback.left.done();
                assertThat(old.segment().get(JAVA_LONG, 0)).isEqualTo(3L * round);
            }
            assertThat(counter.segment().get(JAVA_LONG, 0)).isEqualTo(3L * ROUNDS);
        }
    }

    @Test
    @Twin("test_odp.OdpTestCase.test_odp_rc_atomic_cmp_and_swp")
    void compareAndSwapUsesOnDemandMemory() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            MemoryRegion old = region(loopback.domain, ON_DEMAND);
            MemoryRegion cell = region(loopback.domain, ON_DEMAND);
            for (int round = 0; round < ROUNDS; round++) {
                loopback.left.pair.postCompareAndSwap(1, old, cell.remote(), round, round + 1);
                loopback.left.done();
                assertThat(old.segment().get(JAVA_LONG, 0)).isEqualTo(round);
            }
            assertThat(cell.segment().get(JAVA_LONG, 0)).isEqualTo(ROUNDS);
        }
    }
}

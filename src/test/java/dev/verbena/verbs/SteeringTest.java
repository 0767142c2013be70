package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.VerbsArena;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Unsupported;
import dev.verbena.verbs.device.ReceiveSideScaling;
import dev.verbena.verbs.flow.FlowMatch;
import dev.verbena.verbs.flow.FlowRule;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Flow rules, counters, work queues and their tables, where the device has them; where not, the tests are left out. */
@DeviceTest
class SteeringTest {
    private VerbsArena arena;
    private Context context;
    private ProtectionDomain domain;
    private CompletionQueue queue;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        context = TestDevice.get().open(arena);
        domain = context.allocateProtectionDomain();
        queue = context.createCompletionQueue(16);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    void createFlowKeepsItsRule() {
        QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
        FlowRule rule = FlowRule.of(FlowMatch.ethernet().etherType(0x0800), FlowMatch.ipv4(), FlowMatch.udp());
        Flow flow = Unsupported.orAborts("ibv_create_flow", () -> pair.createFlow(rule, arena));
        assertThat(flow.rule()).isEqualTo(rule);
        flow.close();
        pair.close();
    }

    @Test
    void countersAreRead() {
        Counters counters = Unsupported.orAborts("ibv_create_counters", () -> context.createCounters(arena));
        counters.attach(Counters.Kind.PACKETS, 0);
        assertThat(counters.read(1, false)).hasSize(1);
    }

    @Test
    void workQueueReceives() {
        WorkQueue work = Unsupported.orAborts(
                "ibv_create_wq", () -> domain.createWorkQueue(WorkQueueOptions.of(queue, 8), arena));
        work.modify(WorkQueue.State.READY);
        work.postReceive(1, domain.register(arena.allocate(2048), AccessFlag.LOCAL_WRITE));
        IndirectionTable table = context.createIndirectionTable(List.of(work), arena);
        ReceiveHash hash = ReceiveHash.of(table, new byte[40], Set.of(ReceiveSideScaling.HashField.SOURCE_IPV4));
        domain.createQueuePair(QueuePair.hashed(hash)).close();
        table.close();
        work.close();
        queue.close(); // nothing was left behind that would keep it
    }

    @Test
    void workQueueOptionsRefuseSizesBelowOne() {
        assertThatIllegalArgumentException().isThrownBy(() -> WorkQueueOptions.of(queue, 0));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WorkQueueOptions.of(queue, 1).sge(0));
    }

    @Test
    void createIndirectionTableNeedsPowerOfTwoEntries() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> context.createIndirectionTable(List.of(), arena))
                .withMessageContaining("power of two");
    }
}

package dev.verbena.tools.report;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.MW_BIND;
import static dev.verbena.verbs.AccessFlag.ON_DEMAND;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.device.LoopbackPair;
import dev.verbena.verbs.CompletionCounter;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.DmaHandle;
import dev.verbena.verbs.DmaHints;
import dev.verbena.verbs.ExtendedCompletions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.Operation;
import dev.verbena.verbs.ParentDomainOptions;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.RegionChange;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Calls functions of C through the API, each on objects of its own. The calls change nothing that another program could
 * notice: no multicast group is joined, no packets of others are steered here, and nothing is shared between processes.
 */
final class ReportCalls {
    /** The functions that are left out, with the reasons. */
    static final Map<String, String> LEFT_OUT = Map.of(
            "ibv_attach_mcast, ibv_detach_mcast", "would join a group on the network",
            "ibv_create_flow and counters of flows", "could take packets of other programs",
            "ibv_fork_init", "changes the whole process",
            "ibv_open_xrcd with a file", "would be shared with other processes",
            "ibv_modify_qp_rate_limit", "could use up one of the adapter's few rates");

    private static final Duration STEP = Duration.ofSeconds(10);
    private static final long VALUE = 0x1122_3344_5566_7788L;

    /**
     * The outcome of a call.
     *
     * @param function the C name, or an operation of the data path
     * @param outcome "works", "not supported" or "FAILED"
     * @param detail the reason if it does not work
     */
    record Call(String function, String outcome, String detail) {
        Map<String, Object> json() {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("function", function);
            json.put("outcome", outcome);
            if (!detail.isEmpty()) {
                json.put("detail", detail);
            }
            return json;
        }
    }

    /** A call, which throws if it does not work. */
    private interface Body {
        void run(VerbsArena arena) throws Exception;
    }

    private final Device device;
    private final int port;
    private final Redaction redaction;
    private final List<Call> calls = new ArrayList<>();

    ReportCalls(Device device, int port, Redaction redaction) {
        this.device = device;
        this.port = port;
        this.redaction = redaction;
    }

    /** Makes all calls, as far as the thread is not interrupted. */
    void run() throws InterruptedException {
        queries();
        memory();
        queues();
        rare();
        dataPath();
    }

    /** Returns the calls so far. */
    List<Call> calls() {
        return List.copyOf(calls);
    }

    private void call(String function, Body body) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            body.run(arena);
            calls.add(new Call(function, "works", ""));
        } catch (UnsupportedVerbException no) {
            calls.add(new Call(function, "not supported", detail(no)));
        } catch (InterruptedException over) {
            throw over;
        } catch (Exception failure) {
            calls.add(new Call(function, isLimit(failure) ? "not supported" : "FAILED", detail(failure)));
        }
    }

    /** Returns true for a refusal that is a limit of the driver, as far as those are known. */
    private boolean isLimit(Exception failure) {
        String message = String.valueOf(failure.getMessage());
        return device.limits().stream().anyMatch(message::contains);
    }

    private String detail(Throwable failure) {
        return redaction.of(Tool.inOneLine(failure));
    }

    private Context open(VerbsArena arena) {
        return device.open(arena);
    }

    private ProtectionDomain domain(VerbsArena arena) {
        return open(arena).allocateProtectionDomain();
    }

    private void queries() throws InterruptedException {
        call("ibv_open_device", this::open);
        call("ibv_query_device_ex", arena -> open(arena).attributes());
        call("ibv_query_port", arena -> open(arena).port(port));
        call("ibv_query_gid", arena -> open(arena).gid(port, 0));
        call("ibv_query_gid_ex", arena -> open(arena).gidEntry(port, 0));
        call("ibv_query_gid_table", arena -> open(arena).gids());
        call("ibv_query_pkey", arena -> open(arena).pkey(port, 0));
        call("ibv_get_pkey_index", arena -> open(arena).pkeyIndex(port, 0xffff));
        call("ibv_query_port_speed", arena -> open(arena).portSpeed(port));
        call("ibv_query_rt_values_ex", arena -> open(arena).rawClock());
        call("ibv_query_comp_cntr_caps", arena -> open(arena).completionCounterLimits());
    }

    private void memory() throws InterruptedException {
        call("ibv_alloc_pd", this::domain);
        call("ibv_reg_mr", arena -> domain(arena).register(page(arena), LOCAL_WRITE));
        call(
                "ibv_reg_mr_iova",
                arena -> domain(arena)
                        .register(RegionOptions.of(page(arena)).address(0).access(LOCAL_WRITE)));
        call("ibv_reg_mr_ex", arena -> {
            ProtectionDomain domain = domain(arena);
            DmaHandle hints = domain.context().allocateDmaHandle(DmaHints.none());
            domain.register(RegionOptions.of(page(arena)).access(LOCAL_WRITE).hints(hints));
        });
        call(
                "ibv_reg_mr with IBV_ACCESS_ON_DEMAND",
                arena -> domain(arena).register(page(arena), LOCAL_WRITE, ON_DEMAND));
        call(
                "ibv_rereg_mr",
                arena -> domain(arena)
                        .register(page(arena), LOCAL_WRITE)
                        .reregister(RegionChange.of(LOCAL_WRITE, REMOTE_READ)));
        call("ibv_alloc_null_mr", arena -> domain(arena).allocateNullRegion());
        call("ibv_alloc_mw of type 1", arena -> domain(arena).allocateMemoryWindow(MemoryWindow.Type.TYPE_1));
        call("ibv_alloc_mw of type 2", arena -> domain(arena).allocateMemoryWindow(MemoryWindow.Type.TYPE_2));
        call("ibv_alloc_dm", arena -> open(arena).allocateDeviceMemory(64));
        call("ibv_alloc_dmah", arena -> open(arena).allocateDmaHandle(DmaHints.none()));
        call("ibv_alloc_buf, ibv_reg_buf_mr", arena -> {
            ProtectionDomain domain = domain(arena);
            domain.register(
                    RegionOptions.of(domain.allocateBuffer(4096), 0, 4096).access(LOCAL_WRITE));
        });
        call("ibv_import_device", arena -> Context.importDevice(open(arena).commandDescriptor(), arena));
    }

    private static MemorySegment page(VerbsArena arena) {
        return arena.allocate(4096, 4096);
    }

    private CompletionQueue queue(VerbsArena arena) {
        return open(arena).createCompletionQueue(16);
    }

    private void queues() throws InterruptedException {
        call("ibv_create_cq", this::queue);
        call("ibv_create_cq_ex", this::extended);
        call(
                "ibv_create_cq_ex with time stamps",
                arena -> open(arena)
                        .createCompletionQueue(
                                CompletionQueueOptions.of(16).fields(List.of(CompletionField.TIMESTAMP))));
        call("ibv_create_comp_channel", arena -> open(arena).createCompletionChannel());
        call("ibv_resize_cq", arena -> queue(arena).resize(64));
        call("ibv_modify_cq", arena -> queue(arena).moderate(4, Duration.ofNanos(4_000)));
        call("ibv_req_notify_cq", arena -> {
            Context context = open(arena);
            CompletionQueueOptions options = CompletionQueueOptions.of(16).channel(context.createCompletionChannel());
            context.createCompletionQueue(options).requestNotification(false);
        });
        call("ibv_create_qp (RC)", arena -> pair(arena).query());
        call("ibv_query_ece", arena -> pair(arena).queryEce());
        call("ibv_create_qp (UC)", arena -> {
            CompletionQueue queue = queue(arena);
            queue.context().allocateProtectionDomain().createQueuePair(QueuePair.uc(queue));
        });
        call("ibv_create_qp (UD)", arena -> {
            CompletionQueue queue = queue(arena);
            QueuePair pair = queue.context()
                    .allocateProtectionDomain()
                    .createQueuePair(QueuePair.ud(queue).port(port));
            pair.toReady(0x1111_1111);
            pair.domain().createAddressHandle(pair.pathTo(pair.endpoint()));
        });
        call("ibv_create_qp_ex with ibv_wr_*", arena -> {
            CompletionQueue queue = queue(arena);
            queue.context()
                    .allocateProtectionDomain()
                    .createQueuePair(QueuePair.rc(queue).operations(QueuePairOptions.OfferedOperation.RDMA_WRITE));
        });
        call("ibv_query_qp_data_in_order", arena -> pair(arena).dataInOrder(Operation.RDMA_WRITE));
        call("ibv_create_srq", arena -> {
            SharedReceiveQueue shared = domain(arena).createSharedReceiveQueue(SharedReceiveQueue.basic());
            shared.limit(1);
            shared.query();
        });
    }

    private CompletionQueue extended(VerbsArena arena) {
        return open(arena).createCompletionQueue(CompletionQueueOptions.of(16).fields(CompletionField.standard()));
    }

    private QueuePair pair(VerbsArena arena) {
        CompletionQueue queue = queue(arena);
        return queue.context()
                .allocateProtectionDomain()
                .createQueuePair(QueuePair.rc(queue).port(port));
    }

    private void rare() throws InterruptedException {
        call("ibv_alloc_td", arena -> open(arena).allocateThreadDomain());
        call("ibv_alloc_parent_domain", arena -> domain(arena).allocateParentDomain(ParentDomainOptions.defaults()));
        call("ibv_open_xrcd", arena -> open(arena).openXrcDomain());
        call(
                "ibv_create_comp_cntr",
                arena -> open(arena).createCompletionCounter(CompletionCounter.Unit.WORK_REQUESTS));
    }

    /** One end of a connection of this device with itself. */
    private record Loop(LoopbackPair.End left, LoopbackPair.End right) {
        void done() throws InterruptedException {
            left.queue().await(STEP).orThrow();
        }

        void received() throws InterruptedException {
            right.queue().await(STEP).orThrow();
        }

        void check(LoopbackPair.End end, long wanted) {
            if (end.buffer().segment().get(ValueLayout.JAVA_LONG, 0) != wanted) {
                throw new IllegalStateException("the operation completed, but the data is wrong");
            }
        }
    }

    private void path(String name, LoopBody body) throws InterruptedException {
        call(name, arena -> {
            LoopbackPair both = LoopbackPair.connect(open(arena), port);
            Loop loop = new Loop(both.left(), both.right());
            loop.left().buffer().segment().set(ValueLayout.JAVA_LONG, 0, VALUE);
            body.run(loop, loop.left().pair(), loop.left().buffer().slice(0, 8).region());
        });
    }

    /** An operation of the data path. */
    private interface LoopBody {
        void run(Loop loop, QueuePair pair, MemoryRegion memory) throws Exception;
    }

    private void dataPath() throws InterruptedException {
        path("send and receive", (loop, pair, memory) -> {
            loop.right().pair().postReceive(1, loop.right().buffer());
            pair.postSend(2, memory.slice(0, 8));
            loop.done();
            loop.received();
            loop.check(loop.right(), VALUE);
        });
        path("send with immediate data", (loop, pair, memory) -> {
            loop.right().pair().postReceive(1, loop.right().buffer());
            pair.postSendImmediate(2, memory.slice(0, 8), 7);
            loop.done();
            loop.received();
        });
        path("inline send", (loop, pair, memory) -> {
            loop.right().pair().postReceive(1, loop.right().buffer());
            pair.postSendInline(2, memory.segment().asSlice(0, 8));
            loop.done();
            loop.received();
            loop.check(loop.right(), VALUE);
        });
        path("RDMA write", (loop, pair, memory) -> {
            pair.postWrite(1, memory.slice(0, 8), loop.right().buffer().remote());
            loop.done();
            loop.check(loop.right(), VALUE);
        });
        path("RDMA write with immediate data", (loop, pair, memory) -> {
            loop.right().pair().postReceive(1, loop.right().buffer());
            pair.postWriteImmediate(2, memory.slice(0, 8), loop.right().buffer().remote(), 7);
            loop.done();
            loop.received();
            loop.check(loop.right(), VALUE);
        });
        path("RDMA read", (loop, pair, memory) -> {
            loop.right().buffer().segment().set(ValueLayout.JAVA_LONG, 0, ~VALUE);
            pair.postRead(
                    1, memory.slice(0, 8), loop.right().buffer().slice(0, 8).remote());
            loop.done();
            loop.check(loop.left(), ~VALUE);
        });
        path("atomic fetch and add", (loop, pair, memory) -> {
            pair.postFetchAndAdd(1, memory.slice(0, 8), loop.right().buffer().remote(), 5);
            loop.done();
            loop.check(loop.right(), 5);
        });
        path("atomic compare and swap", (loop, pair, memory) -> {
            pair.postCompareAndSwap(1, memory.slice(0, 8), loop.right().buffer().remote(), 0, 9);
            loop.done();
            loop.check(loop.right(), 9);
        });
        path("binding of a window, invalidation", (loop, pair, memory) -> {
            MemoryRegion region = pair.domain().register(page(pair.arena()), LOCAL_WRITE, MW_BIND);
            MemoryWindow window = pair.domain().allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
            pair.postBind(1, window, region, List.of(REMOTE_WRITE));
            loop.done();
            pair.postLocalInvalidate(2, window.remoteKey());
            loop.done();
        });
        call("completions by ibv_start_poll", arena -> {
            CompletionQueue queue = extended(arena);
            QueuePair pair = queue.context()
                    .allocateProtectionDomain()
                    .createQueuePair(QueuePair.rc(queue).port(port));
            pair.connect(pair.endpoint());
            MemoryRegion memory = pair.domain().register(page(arena), LOCAL_WRITE, REMOTE_WRITE);
            ExtendedCompletions done = queue.extendedCompletions(4);
            pair.postWrite(1, memory.slice(0, 8), memory.slice(8, 8).remote());
            done.await(STEP);
            done.next();
            done.orThrow();
        });
    }
}

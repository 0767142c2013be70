package dev.verbena.docs;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AddressSpace;
import dev.verbena.verbs.CompletionCounter;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Counters;
import dev.verbena.verbs.DeviceMemory;
import dev.verbena.verbs.DmaHandle;
import dev.verbena.verbs.DmaHints;
import dev.verbena.verbs.DriverBuffer;
import dev.verbena.verbs.Flow;
import dev.verbena.verbs.IndirectionTable;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ParentDomainOptions;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.RateLimit;
import dev.verbena.verbs.ReceiveHash;
import dev.verbena.verbs.RegionChange;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.ThreadDomain;
import dev.verbena.verbs.WorkQueue;
import dev.verbena.verbs.WorkQueueOptions;
import dev.verbena.verbs.XrcDomain;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.address.Rate;
import dev.verbena.verbs.device.ReceiveSideScaling.HashField;
import dev.verbena.verbs.flow.FlowMatch;
import dev.verbena.verbs.flow.FlowRule;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** Examples of the options of objects, and of objects that not every device has. */
final class ObjectSnippets {
    private ObjectSnippets() {}

    static QueuePair queuePair(ProtectionDomain domain, CompletionQueue queue) {
        // @start region="queue-pair"
        QueuePair qp = domain.createQueuePair(QueuePair.rc(queue).sendDepth(128).inlineSize(64));
        // @end
        return qp;
    }

    static void connect(QueuePair qp, Endpoint peer) {
        // @start region="connect"
        qp.connect(
                peer, QueuePairAttributes.none().timeout(Duration.ofMillis(10)).retryCount(3));
        // @end
    }

    static SharedReceiveQueue sharedReceiveQueue(ProtectionDomain domain) {
        // @start region="shared-receive-queue"
        SharedReceiveQueue queue =
                domain.createSharedReceiveQueue(SharedReceiveQueue.basic().depth(256));
        // @end
        return queue;
    }

    static QueueCapabilities capabilities() {
        // @start region="capabilities"
        QueueCapabilities sizes = QueueCapabilities.of(128, 128).inlineSize(64);
        // @end
        return sizes;
    }

    static MemoryRegion reregister(MemoryRegion old, MemorySegment otherMemory) {
        // @start region="reregister"
        MemoryRegion region = old.reregister(RegionChange.of(otherMemory).access(Set.of(AccessFlag.LOCAL_WRITE)));
        // @end
        return region;
    }

    static LocalMemory slice(QueuePair qp, MemoryRegion region) {
        // @start region="slice"
        LocalMemory header = region.slice(0, 64);
        qp.postReceive(1, header);
        // @end
        return header;
    }

    static MemoryWindow window(ProtectionDomain domain) {
        // @start region="window"
        MemoryWindow window = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
        // @end
        return window;
    }

    static AddressVector path(Endpoint peer, int gidIndex) {
        // @start region="path"
        AddressVector path = AddressVector.of(1)
                .globalRoute(GlobalRoute.to(peer.gid(), gidIndex))
                .staticRate(Rate.GBPS_10);
        // @end
        return path;
    }

    static Flow flow(QueuePair pair) {
        // @start region="flow"
        Flow flow = pair.createFlow(
                FlowRule.of(FlowMatch.ethernet(), FlowMatch.ipv4()).priority(1));
        // @end
        return flow;
    }

    static MemoryRegion deviceMemory(Context context, ProtectionDomain domain) {
        // @start region="device-memory"
        DeviceMemory memory = context.allocateDeviceMemory(4096, 64);
        MemoryRegion region = domain.register(RegionOptions.of(memory, 0, 4096).access(AccessFlag.LOCAL_WRITE));
        // @end
        return region;
    }

    static WorkQueue workQueue(ProtectionDomain domain, CompletionQueue completions) {
        // @start region="work-queue"
        WorkQueue queue =
                domain.createWorkQueue(WorkQueueOptions.of(completions, 64).sge(2));
        // @end
        return queue;
    }

    static QueuePair receiveHash(Context context, ProtectionDomain domain, List<WorkQueue> queues, byte[] key) {
        // @start region="receive-hash"
        IndirectionTable table = context.createIndirectionTable(queues); // 1, 2, 4, 8 ... queues
        ReceiveHash hash = ReceiveHash.of(table, key, Set.of(HashField.SOURCE_IPV4, HashField.DESTINATION_IPV4));
        QueuePair qp = domain.createQueuePair(QueuePair.hashed(hash));
        // @end
        return qp;
    }

    static SharedReceiveQueue xrc(Context context, ProtectionDomain pd, CompletionQueue completions, Path file) {
        // @start region="xrc"
        XrcDomain domain = context.openXrcDomain(file);
        SharedReceiveQueue queue = pd.createSharedReceiveQueue(SharedReceiveQueue.xrc(domain, completions));
        // @end
        return queue;
    }

    static void limitRate(QueuePair qp) {
        // @start region="rate-limit"
        qp.limitRate(RateLimit.of(1_000_000).maxBurst(16 << 10)); // 1 Gbit/s
        // @end
    }

    static QueuePair domain(Context context, CompletionQueue queue) {
        // @start region="domain"
        ProtectionDomain domain = context.allocateProtectionDomain();
        MemoryRegion buffer = domain.register(domain.arena().allocate(4096, 64), AccessFlag.LOCAL_WRITE);
        QueuePair qp = domain.createQueuePair(QueuePair.rc(queue)); // can use the buffer
        // @end
        assert buffer.isOpen();
        return qp;
    }

    static MemoryRegion addressSpace(ProtectionDomain domain, MemorySegment memory) {
        // @start region="address-space"
        AddressSpace space = domain.registerAddressSpace(AccessFlag.LOCAL_WRITE); // once
        MemoryRegion region = space.region(memory); // no call into C
        // @end
        return region;
    }

    static long[] count(Context context, QueuePair pair) {
        // @start region="counters"
        Counters counters = context.createCounters();
        counters.attach(Counters.Kind.PACKETS, 0);
        Flow flow = pair.createFlow(FlowRule.of(FlowMatch.ethernet(), counters.action()));
        long[] values = counters.read(1, false);
        System.out.println(flow + " has had " + values[0] + " packets");
        // @end
        return values;
    }

    static ProtectionDomain threadDomain(ProtectionDomain domain) {
        // @start region="thread-domain"
        ThreadDomain thread = domain.context().allocateThreadDomain();
        ProtectionDomain unlocked =
                domain.allocateParentDomain(ParentDomainOptions.defaults().threadDomain(thread));
        // @end
        return unlocked;
    }

    static int tags(ProtectionDomain domain, CompletionQueue completions, LocalMemory memory) {
        // @start region="tags"
        SharedReceiveQueue queue = domain.createSharedReceiveQueue(SharedReceiveQueue.tagMatching(completions, 8, 8));
        int handle = queue.tags().add(1, 2, memory, 0xcafe, -1L, 0);
        // @end
        return handle;
    }

    static MemoryRegion dmaHandle(ProtectionDomain domain, MemorySegment memory) {
        // @start region="dma-handle"
        DmaHandle handle = domain.context().allocateDmaHandle(DmaHints.none().cpu(0));
        MemoryRegion region = domain.register(
                RegionOptions.of(memory).access(AccessFlag.LOCAL_WRITE).hints(handle));
        // @end
        return region;
    }

    static MemoryRegion regionOptions(ProtectionDomain domain, MemorySegment memory) {
        // @start region="region-options"
        DmaHandle handle = domain.context().allocateDmaHandle(DmaHints.none().cpu(0));
        RegionOptions options = RegionOptions.of(memory)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
                .address(0)
                .hints(handle);
        MemoryRegion region = domain.register(options);
        // @end
        return region;
    }

    static MemoryRegion driverBuffer(ProtectionDomain domain) {
        // @start region="driver-buffer"
        ProtectionDomain open =
                domain.allocateParentDomain(ParentDomainOptions.defaults().allowUnprotectedBuffers(true));
        DriverBuffer buffer = open.allocateBuffer(1 << 20);
        MemoryRegion region =
                open.register(RegionOptions.of(buffer, 0, buffer.length()).access(AccessFlag.LOCAL_WRITE));
        region.segment().setString(0, "memory that the adapter reaches");
        // @end
        return region;
    }

    static long completionCounter(QueuePair pair, Endpoint peer, LocalMemory memory, RemoteMemory target) {
        // @start region="completion-counter"
        CompletionCounter written =
                pair.domain().context().createCompletionCounter(CompletionCounter.Unit.WORK_REQUESTS);
        written.attach(pair, CompletionCounter.CountedOperation.RDMA_WRITE); // before it connects
        pair.connect(peer);
        for (int i = 0; i < 8; i++) {
            pair.postWrite(i, memory, target);
        }
        while (written.value() + written.errors() < 8) {
            Thread.onSpinWait();
        }
        // @end
        return written.errors();
    }
}

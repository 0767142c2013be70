package dev.verbena.tools.twins;

import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.DatagramTarget;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.address.Grh;
import dev.verbena.verbs.device.QueuePairType;
import org.jspecify.annotations.Nullable;

/** One connection or datagram endpoint of a tool: a queue pair with its completion queues and buffers. */
final class CmNode {
    /** The queue key of datagram queue pairs made by the connection manager ({@code RDMA_UDP_QKEY}). */
    private static final int UDP_KEY = 0x01234567;

    final ConnectionId id;

    private final CmTool tool;
    private final ProtectionDomain domain;
    private final CompletionQueue sends;
    private final CompletionQueue receives;
    private final QueuePair pair;
    private final MemoryRegion outgoing;
    private final MemoryRegion incoming;
    private @Nullable AddressHandle path;
    private int peer;
    private int key;

    CmNode(CmTool tool, ConnectionId id) {
        this.tool = tool;
        this.id = id;
        Context context = id.context();
        int depth = Math.max(1, tool.messages);
        domain = context.allocateProtectionDomain();
        sends = queue(context, depth);
        receives = queue(context, depth);
        pair = id.createQueuePair(
                domain, tool.queuePair(sends, receives).sendDepth(depth).receiveDepth(depth));
        // The device writes the global routing header in front of a datagram's bytes.
        int header = pair.type() == QueuePairType.UD ? Grh.BYTES : 0;
        outgoing = domain.register(domain.arena().allocate(tool.size), AccessFlag.LOCAL_WRITE);
        incoming = domain.register(domain.arena().allocate(tool.size + header), AccessFlag.LOCAL_WRITE);
    }

    private static CompletionQueue queue(Context context, int depth) {
        return context.createCompletionQueue(
                CompletionQueueOptions.of(depth).channel(context.createCompletionChannel()));
    }

    /** Posts all receives into one buffer: the tool does not read the messages. */
    void postReceives() {
        for (int i = 0; i < tool.messages; i++) {
            pair.postReceive(i, incoming);
        }
    }

    /** Posts all sends of a connection. */
    void postSends() {
        for (int i = 0; i < tool.messages; i++) {
            pair.postSend(i, outgoing);
        }
    }

    /** Posts all sends as datagrams, whose immediate data is the number of this queue pair, for the answer. */
    void postDatagrams() {
        AddressHandle way = path;
        if (way == null) {
            throw new IllegalStateException("no destination: no datagram has arrived yet");
        }
        for (int i = 0; i < tool.messages; i++) {
            pair.postSendImmediate(i, outgoing, pair.number(), way, peer, key);
        }
    }

    /** Directs datagrams to the target that the connection manager found. */
    void sendTo(DatagramTarget target) {
        path = domain.createAddressHandle(target.path());
        peer = target.queuePairNumber();
        key = target.qkey();
    }

    /** Directs datagrams to the sender of a received datagram. */
    private void answer(WorkCompletion received) {
        path = domain.createAddressHandle(received, incoming.segment());
        peer = received.immediate();
        key = UDP_KEY;
    }

    void awaitSends() throws InterruptedException {
        for (int i = 0; i < tool.messages; i++) {
            sends.await(Tool.PATIENCE).orThrow();
        }
    }

    void awaitReceives() throws InterruptedException {
        for (int i = 0; i < tool.messages; i++) {
            WorkCompletion received = receives.await(Tool.PATIENCE).orThrow();
            if (pair.type() == QueuePairType.UD && path == null) {
                answer(received);
            }
        }
    }
}

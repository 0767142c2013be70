package dev.verbena.docs;

import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.DatagramTarget;
import dev.verbena.cm.MulticastMembership;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.Grh;
import java.net.SocketAddress;
import java.time.Duration;

/** Examples of datagrams. */
final class DatagramSnippets {
    private static final int KEY = 0x11111111;

    private DatagramSnippets() {}

    static QueuePair open(ProtectionDomain domain, CompletionQueue cq) {
        // @start region="open"
        QueuePair qp = domain.createQueuePair(QueuePair.ud(cq));
        qp.toReady(KEY); // senders must name the same key
        // @end
        return qp;
    }

    static void send(QueuePair qp, CompletionQueue cq, MemoryRegion buffer, Endpoint peer, Duration timeout)
            throws InterruptedException {
        // @start region="send"
        AddressHandle path = qp.domain().createAddressHandle(qp.pathTo(peer)); // made once for each peer
        buffer.segment().setString(0, "datagram");
        qp.postSend(1, buffer.slice(0, 9), path, peer.queuePairNumber(), KEY);
        cq.await(timeout).orThrow(); // sent, not received: datagrams can be lost
        // @end
    }

    static AddressHandle receive(
            QueuePair qp, CompletionQueue cq, MemoryRegion buffer, Runnable tellPeer, Duration timeout)
            throws InterruptedException {
        qp.postReceive(2, buffer);
        tellPeer.run();
        // @start region="receive"
        WorkCompletion received = cq.await(timeout).orThrow();
        String text = buffer.segment().getString(Grh.BYTES); // a routing header comes first
        AddressHandle back = qp.domain().createAddressHandle(received, buffer.segment());
        // @end
        System.out.println(text);
        return back;
    }

    static void multicast(ConnectionId id, SocketAddress group, MemoryRegion buffer, Duration timeout)
            throws InterruptedException {
        // @start region="multicast"
        try (MulticastMembership member =
                id.join(group, timeout)) { // datagrams to the group arrive at the id's queue pair
            DatagramTarget to = member.target();
            QueuePair qp = id.queuePair().orElseThrow();
            AddressHandle path = qp.domain().createAddressHandle(to.path());
            qp.postSend(1, buffer, path, to.queuePairNumber(), to.qkey());
            qp.sendQueue().await(timeout).orThrow();
        }
        // @end
    }

    static Gid sender(MemoryRegion buffer) {
        // @start region="header"
        Grh header = Grh.from(buffer.segment());
        System.out.println("from " + header.source());
        // @end
        return header.source();
    }
}

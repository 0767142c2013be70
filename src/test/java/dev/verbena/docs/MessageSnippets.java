package dev.verbena.docs;

import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.address.Endpoint;
import java.time.Duration;
import java.util.Set;
import java.util.function.UnaryOperator;

/** Examples of queue pairs and the messages they send and receive. */
final class MessageSnippets {
    private MessageSnippets() {}

    static void connect(QueuePair qp, UnaryOperator<byte[]> exchange) {
        // @start region="connect"
        byte[] own = qp.endpoint().toBytes();
        byte[] peer = exchange.apply(own); // over any channel, for example a socket
        qp.connect(Endpoint.from(peer)); // INIT, RTR, RTS
        // @end
    }

    static String receive(QueuePair qp, CompletionQueue cq, MemoryRegion buffer, Runnable tellPeer, Duration timeout)
            throws InterruptedException {
        // @start region="receive"
        qp.postReceive(7, buffer); // before the peer sends
        // @end
        tellPeer.run();
        // @start region="received"
        WorkCompletion received = cq.await(timeout).orThrow();
        String text = buffer.segment().getString(0); // received.byteLength() bytes have arrived
        // @end
        return received.id() + " " + text;
    }

    static void send(QueuePair qp, CompletionQueue cq, MemoryRegion buffer, Duration timeout)
            throws InterruptedException {
        // @start region="send"
        buffer.segment().setString(0, "hello");
        qp.postSend(1, buffer.slice(0, 6));
        cq.await(timeout).orThrow(); // the buffer may be changed now
        // @end
    }

    static void modify(QueuePair qp) {
        // @start region="modify"
        qp.modify(
                QueuePairAttributes.to(QueuePairState.INIT).pkeyIndex(0).port(1).access(Set.of()));
        // @end
    }
}

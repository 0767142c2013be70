package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.ValueLayout;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

/** Numbers both ways and calls of the client, over a channel that may lose connections: each arrives once, in order. */
final class NumberedTraffic {
    private static final long LAST = -1;

    private final AtomicBoolean callsEnd = new AtomicBoolean();
    private final AtomicBoolean over = new AtomicBoolean();
    private final Future<Integer> atServer;
    private final Future<Integer> atClient;
    private final Future<Void> toServer;
    private final Future<Void> toClient;
    private final Future<Integer> called;

    NumberedTraffic(NodePair.Ends ends, ExecutorService threads) {
        atServer = threads.submit(() -> receive(ends.server()));
        atClient = threads.submit(() -> receive(ends.client()));
        toServer = threads.submit(() -> sendUntil(over, ends.client()));
        toClient = threads.submit(() -> sendUntil(over, ends.server()));
        called = threads.submit(() -> callUntil(callsEnd, ends.client()));
    }

    /** Ends the traffic, and checks all of it. Returns the number of calls. */
    int end() throws Exception {
        callsEnd.set(true);
        int calls = NodePair.end(called); // before the last number, which ends who answers
        over.set(true);
        NodePair.end(toServer);
        NodePair.end(toClient);
        NodePair.end(atClient);
        assertThat(NodePair.end(atServer)).isEqualTo(calls);
        return calls;
    }

    /** Sends 0, 1, 2... until a word to end, and then the last number. */
    static Void sendUntil(AtomicBoolean over, Channel channel) throws InterruptedException {
        for (long i = 0; !over.get(); i++) {
            NodePair.send(channel, i);
        }
        NodePair.send(channel, LAST);
        return null;
    }

    /** Receives numbers up to the last one, and answers requests. Returns how many requests there were. */
    static int receive(Channel channel) throws InterruptedException {
        int requests = 0;
        long expected = 0;
        while (true) {
            try (Message message = channel.receive(DEADLINE)) {
                long number = message.segment().get(ValueLayout.JAVA_LONG, 0);
                if (message.isRequest()) {
                    requests++;
                    Message reply = message.reply().length(Long.BYTES);
                    reply.segment().set(ValueLayout.JAVA_LONG, 0, number);
                    reply.send();
                } else if (number == LAST) {
                    return requests;
                } else {
                    assertThat(number).isEqualTo(expected++);
                }
            }
        }
    }

    private static int callUntil(AtomicBoolean over, Channel channel) throws InterruptedException {
        int calls = 0;
        for (; !over.get(); calls++) {
            Message request = channel.message(DEADLINE).length(Long.BYTES);
            request.segment().set(ValueLayout.JAVA_LONG, 0, calls);
            try (Message reply = channel.call(request, DEADLINE)) {
                assertThat(reply.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(calls);
            }
        }
        return calls;
    }
}

package dev.verbena.docs;

import dev.verbena.VerbsArena;
import dev.verbena.net.CallException;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Examples of calls, in the three styles. */
final class CallSnippets {
    private CallSnippets() {}

    static long client(Channel channel, long number, Duration timeout) throws InterruptedException {
        // @start region="client"
        Message request = channel.message(timeout).length(8);
        request.segment().set(ValueLayout.JAVA_LONG, 0, number);
        try (Message reply = channel.call(request, timeout)) {
            return reply.segment().get(ValueLayout.JAVA_LONG, 0);
        } catch (CallException refused) {
            return -1; // the peer does not know the number
        }
        // @end
    }

    static void server(Channel channel, Duration timeout) throws InterruptedException {
        // @start region="server"
        try (Message request = channel.receive(timeout)) {
            long number = request.segment().get(ValueLayout.JAVA_LONG, 0);
            if (number < 0) {
                request.refuse("number must not be negative, got " + number);
            } else {
                Message reply = request.reply().length(8);
                reply.segment().set(ValueLayout.JAVA_LONG, 0, number * number);
                reply.send();
            }
        }
        // @end
    }

    static void handlers(InetSocketAddress address, Consumer<InetSocketAddress> ready, CountDownLatch end)
            throws InterruptedException {
        // @start region="handler"
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(address, arena);
            node.listen((channel, request) -> {
                Message reply = request.reply().length(request.length());
                reply.segment().copyFrom(request.segment());
                reply.send();
            });
            ready.accept(node.address());
            end.await();
        }
        // @end
    }

    static CompletableFuture<Long> future(Channel channel, long number, Duration timeout) throws InterruptedException {
        // @start region="future"
        Message request = channel.message(timeout).length(8);
        request.segment().set(ValueLayout.JAVA_LONG, 0, number);
        return channel.callAsync(request).orTimeout(10, TimeUnit.SECONDS).thenApply(answer -> {
            try (Message reply = answer) {
                return reply.segment().get(ValueLayout.JAVA_LONG, 0);
            }
        });
        // @end
    }

    static long polling(Node node, Channel channel, long number, Duration timeout) throws InterruptedException {
        // @start region="polling"
        Message request = channel.message(timeout).length(8);
        request.segment().set(ValueLayout.JAVA_LONG, 0, number);
        long ticket = channel.tryCall(request);
        while (ticket == 0) {
            node.progress(); // the peer has to make room first
            ticket = channel.tryCall(request);
        }
        Message reply = channel.pollReply(ticket);
        while (reply == null) {
            node.progress();
            reply = channel.pollReply(ticket);
        }
        long answer = reply.segment().get(ValueLayout.JAVA_LONG, 0);
        reply.close();
        // @end
        return answer;
    }
}

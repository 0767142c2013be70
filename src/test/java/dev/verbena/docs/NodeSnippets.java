package dev.verbena.docs;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.EndReason;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Consumer;

/** Examples of nodes and channels. */
final class NodeSnippets {
    private NodeSnippets() {}

    static void server(InetSocketAddress address, Consumer<InetSocketAddress> ready, Duration timeout)
            throws InterruptedException {
        // @start region="server"
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(address, arena);
            ready.accept(node.address());
            Channel peer = node.accept(timeout);
            try (Message question = peer.receive(timeout)) {
                Message answer = peer.message(timeout).length(question.length());
                answer.segment().copyFrom(question.segment());
                peer.send(answer, timeout);
            }
        } // says goodbye to the peer, which gets the answer first
        // @end
    }

    static NodeOptions secret() throws IOException {
        // @start region="secret"
        // 32 random bytes: head -c 32 /dev/urandom > secret
        NodeOptions options = NodeOptions.defaults().secret(Files.readAllBytes(Path.of("secret")));
        // @end
        return options;
    }

    static NodeOptions heals() {
        // @start region="heal"
        NodeOptions options =
                NodeOptions.defaults().heal(Duration.ofSeconds(30)).alive(Duration.ofMillis(500));
        // @end
        return options;
    }

    static NodeOptions paths() {
        NodeOptions options =
                NodeOptions.defaults().heal(Duration.ofSeconds(30)).paths(new InetSocketAddress("10.2.0.1", 7174));
        return options;
    }

    static String client(InetSocketAddress own, InetSocketAddress server, Duration timeout)
            throws InterruptedException {
        // @start region="client"
        try (VerbsArena arena = VerbsArena.ofShared();
                Channel channel = Node.open(own, arena).connect(server, timeout)) {
            Message question = channel.message(timeout);
            question.segment().setString(0, "hello");
            channel.send(question, timeout);
            try (Message answer = channel.receive(timeout)) {
                return answer.segment().getString(0);
            }
        }
        // @end
    }

    static long polling(InetSocketAddress own, InetSocketAddress server, int rounds, Duration timeout)
            throws InterruptedException {
        long sum = 0;
        // @start region="polling"
        NodeOptions options = NodeOptions.defaults().progress(NodeOptions.Progress.CALLER);
        try (VerbsArena arena = VerbsArena.ofShared();
                Channel channel = Node.open(own, options, arena).connect(server, timeout)) {
            for (int i = 0; i < rounds; i++) {
                Message question = channel.message(timeout).length(8);
                channel.send(question, timeout);
                Message answer = channel.pollReceive();
                while (answer == null) {
                    channel.node().progress();
                    answer = channel.pollReceive();
                }
                sum += answer.length();
                answer.close(); // lets the peer send another one
            }
        }
        // @end
        return sum;
    }

    static int untilTheEnd(Channel channel, Duration timeout) throws InterruptedException {
        int received = 0;
        // @start region="end"
        try {
            for (; ; ) {
                channel.receive(timeout).close();
                received++;
            }
        } catch (ChannelException end) {
            if (end.reason() != EndReason.CLOSED_BY_PEER) {
                throw end;
            }
        }
        // @end
        return received;
    }

    static void each(Channel channel) throws InterruptedException {
        // @start region="each"
        channel.receiveEach(request -> {
            Message reply = request.reply().length(request.length());
            reply.segment().copyFrom(request.segment());
            reply.send();
        });
        // @end
    }
}

package dev.verbena.bench;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;

/** Opens two nodes over TCP, connects them, and sends a message there and back. */
final class FirstMessage {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private FirstMessage() {}

    /** Takes no arguments. */
    public static void main(String[] args) throws InterruptedException {
        NodeOptions options = NodeOptions.defaults().transport(Transport.TCP);
        InetSocketAddress own = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node server = Node.open(own, options, arena);
            server.listen((channel, request) -> request.reply().length(1).send());
            Node client = Node.open(own, options, arena);
            Channel channel = client.connect(server.address(), PATIENCE);
            try (Message reply = channel.call(channel.message(PATIENCE).length(1), PATIENCE)) {
                if (reply.length() != 1) {
                    throw new AssertionError("the first reply is not what was sent");
                }
            }
        }
    }
}

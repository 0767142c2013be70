package dev.verbena.tools.shell;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import dev.verbena.verbs.Device;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * Two nodes of one program, connected by a channel, for experiments.
 *
 * @param left the node that has connected, with its end of the channel
 * @param right the other
 */
public record NodePair(End left, End right) {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    /**
     * A node with its end of the channel.
     *
     * @param node the node
     * @param channel the channel to the other node
     */
    public record End(Node node, Channel channel) {}

    /** Opens a node over RDMA, or over TCP without a device. */
    private static Node open(InetSocketAddress address, VerbsArena arena) {
        Transport transport = Device.list().isEmpty() ? Transport.TCP : Transport.RDMA;
        return Node.open(address, NodeOptions.defaults().transport(transport), arena);
    }

    /** Opens and connects two nodes at an address. */
    static NodePair connect(InetSocketAddress address, VerbsArena arena) throws InterruptedException {
        Node right = open(address, arena);
        Node left = open(address, arena);
        Channel channel = left.connect(right.address(), TIMEOUT);
        return new NodePair(new End(left, channel), new End(right, right.accept(TIMEOUT)));
    }

    /** Opens a channel to a node of this program that answers each request, and returns each other message, with its bytes. */
    static Channel toEcho(InetSocketAddress address, VerbsArena arena) throws InterruptedException {
        Node echo = open(address, arena);
        echo.listen((channel, message) -> {
            Message answer = message.isRequest() ? message.reply() : channel.message(TIMEOUT);
            answer.length(message.length());
            answer.segment().copyFrom(message.segment());
            answer.send();
        });
        return open(address, arena).connect(echo.address(), TIMEOUT);
    }
}

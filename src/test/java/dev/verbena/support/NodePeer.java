package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import java.io.IOException;
import java.net.InetSocketAddress;

/** A node in a process of its own, to be killed: it connects, sends one message and waits. */
public final class NodePeer implements AutoCloseable {
    private final Process process;

    private NodePeer(Process process) {
        this.process = process;
    }

    public static NodePeer start(InetSocketAddress server) throws IOException {
        return new NodePeer(ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                .startOnClassPath(
                        NodePeer.class, server.getAddress().getHostAddress(), Integer.toString(server.getPort())));
    }

    /** Kills the process as {@code kill -9} does. */
    @Override
    public void close() {
        process.destroyForcibly();
    }

    public static void main(String[] arguments) throws Exception {
        InetSocketAddress server = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        Node node = Node.open(new InetSocketAddress(server.getAddress(), 0), VerbsArena.ofShared());
        Channel channel = node.connect(server, Loopback.DEADLINE);
        Message hello = channel.message(Loopback.DEADLINE).length(1);
        channel.send(hello, Loopback.DEADLINE);
        System.in.read(); // until it is killed
    }
}

package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.EndReason;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** A node in a process of its own, to be killed: it connects, sends one message and waits. */
public final class NodePeer implements AutoCloseable {
    private static final Duration LOOK = Duration.ofSeconds(1);

    private final Process process;

    private NodePeer(Process process) {
        this.process = process;
    }

    public static NodePeer start(InetSocketAddress server) throws IOException {
        return new NodePeer(ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                .startOnClassPath(
                        NodePeer.class, server.getAddress().getHostAddress(), Integer.toString(server.getPort())));
    }

    /** Accepts the channel of this peer, with time for a slow start. Fails early if the process ends. */
    public Channel accept(Node server) throws Exception {
        for (Duration waited = Duration.ZERO; ; waited = waited.plus(LOOK)) {
            try {
                return server.accept(LOOK);
            } catch (VerbsTimeoutException early) {
                if (!process.isAlive() || waited.compareTo(Loopback.DEADLINE) > 0) {
                    close();
                    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                    throw new AssertionError("the peer does not connect: " + output, early);
                }
            }
        }
    }

    /** Kills the process as {@code kill -9} does. */
    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** Connects, also if a cold JVM on a busy machine answers too late for siw, which waits for ten seconds. */
    private static Channel connect(Node node, InetSocketAddress server) throws InterruptedException {
        while (true) {
            try {
                return node.connect(server, Loopback.DEADLINE);
            } catch (ChannelException late) {
                if (late.reason() != EndReason.UNREACHABLE) {
                    throw late;
                }
                System.out.println(late.getMessage());
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        InetSocketAddress server = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        Node node = Node.open(new InetSocketAddress(server.getAddress(), 0), VerbsArena.ofShared());
        Channel channel = connect(node, server);
        Message hello = channel.message(Loopback.DEADLINE).length(1);
        channel.send(hello, Loopback.DEADLINE);
        System.in.read(); // until it is killed
    }
}

package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Loopback;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

/** A node in a process of its own, to be killed. It says on its output how far it is. */
final class NodePeer implements AutoCloseable {
    /** The number of bytes of a transfer, so many that it takes a while. */
    public static final long TRANSFER_BYTES = 96L << 20;

    private static final Duration LOOK = Duration.ofSeconds(1);

    /** JVMs start slowly in an emulated guest on a busy machine. */
    private static final Duration LONGEST_START = Loopback.DEADLINE.multipliedBy(2);

    /** The work of a peer. */
    public enum Work {
        /** Connects, sends one message and waits. */
        SEND,
        /** Connects, and offers a transfer. */
        OFFER,
        /** Connects, accepts a transfer, and stops after its first piece. */
        FETCH,
        /** Connects and closes again and again. */
        CONNECT,
        /** Accepts peers, whose messages it takes. */
        SERVE
    }

    private final Process process;
    private final BufferedReader output;

    private NodePeer(Process process) {
        this.process = process;
        this.output = process.inputReader();
    }

    /** Starts a peer that sends one message to a node. */
    public static NodePeer start(InetSocketAddress server) throws IOException {
        return start(server, Transport.RDMA, Work.SEND);
    }

    /**
     * Starts a peer.
     *
     * @param server the address of the node to connect to, or of the node that the peer opens
     */
    public static NodePeer start(InetSocketAddress server, Transport transport, Work work) throws IOException {
        return new NodePeer(ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                .startOnClassPath(
                        NodePeer.class,
                        server.getAddress().getHostAddress(),
                        Integer.toString(server.getPort()),
                        transport.name(),
                        work.name()));
    }

    /** Waits until the peer says something. Fails if the process ends before. */
    public void awaitWord(String word) throws IOException {
        StringBuilder all = new StringBuilder();
        for (String line = output.readLine(); !word.equals(line); line = output.readLine()) {
            if (line == null) {
                throw new AssertionError("the peer has ended, and has not said " + word + ": " + all);
            }
            all.append(line).append('\n');
        }
    }

    /** Accepts the channel of this peer, with time for a slow start. Fails early if the process ends. */
    public Channel accept(Node server) throws Exception {
        for (Duration waited = Duration.ZERO; ; waited = waited.plus(LOOK)) {
            try {
                return server.accept(LOOK);
            } catch (VerbsTimeoutException early) {
                if (!process.isAlive() || waited.compareTo(LONGEST_START) > 0) {
                    StringBuilder said = new StringBuilder();
                    while (output.ready()) { // before it is killed, which closes the stream
                        said.append(output.readLine()).append('\n');
                    }
                    close();
                    throw new AssertionError("the peer does not connect: " + said, early);
                }
            }
        }
    }

    /** Kills the process as {@code kill -9} does. */
    public void kill() {
        process.destroyForcibly();
    }

    @Override
    public void close() {
        kill();
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

    private static void send(Channel channel) throws Exception {
        Message hello = channel.message(Loopback.DEADLINE).length(1);
        channel.send(hello, Loopback.DEADLINE);
    }

    private static void offer(Channel channel) throws Exception {
        say("begins");
        MemorySegment data = Arena.global().allocate(TRANSFER_BYTES, 4096);
        channel.offer(data, new byte[0], Loopback.DEADLINE);
        say("done");
    }

    private static void fetch(Channel channel) throws Exception {
        MemorySegment target = Arena.global().allocate(TRANSFER_BYTES, 4096);
        try (Message message = channel.receive(Loopback.DEADLINE)) {
            LongConsumer progress = done -> {
                say("begins");
                LockSupport.park(); // until it is killed
            };
            message.transfer().accept(target, progress, Loopback.DEADLINE);
        }
        say("done");
    }

    private static void connectAgainAndAgain(Node node, InetSocketAddress server) throws Exception {
        while (true) {
            say("connects");
            try (Channel channel = connect(node, server)) {
                send(channel);
            }
        }
    }

    /** Says a word, without bytes of it that stay behind when the process is killed. */
    private static void say(String word) {
        System.out.println(word);
        System.out.flush();
    }

    public static void main(String[] arguments) throws Exception {
        InetSocketAddress server = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        NodeOptions options = NodeOptions.defaults().transport(Transport.valueOf(arguments[2]));
        Work work = Work.valueOf(arguments[3]);
        InetSocketAddress own = new InetSocketAddress(server.getAddress(), work == Work.SERVE ? server.getPort() : 0);
        Node node = Node.open(own, options, VerbsArena.ofShared());
        switch (work) {
            case SEND -> send(connect(node, server));
            case OFFER -> offer(connect(node, server));
            case FETCH -> fetch(connect(node, server));
            case CONNECT -> connectAgainAndAgain(node, server);
            case SERVE -> {
                node.listen((channel, message) -> {});
                say("listens");
            }
        }
        System.in.read(); // until it is killed
    }
}

package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** Two nodes over TCP, and peers that are no nodes. */
@Timeout(120)
abstract class TcpTest {
    static final int WINDOW = NodePair.SMALL.window();
    static final Duration SHORT = Duration.ofMillis(50);
    static final long SIZE = 4096;

    NodePair nodes;
    MemorySegment table;

    /** The channel of the peer that {@link #opened} has connected last. */
    Channel channel;

    @BeforeEach
    void open() {
        NodePair.over(Transport.TCP);
        use(NodePair.SMALL);
    }

    void use(NodeOptions options) {
        if (nodes != null) {
            nodes.close();
        }
        nodes = new NodePair(options);
        table = nodes.arena.allocate(SIZE, 8);
    }

    @AfterEach
    void close() {
        nodes.close();
        NodePair.over(Transport.RDMA);
    }

    /** The node serves others, and no channel is left of the bad peer. */
    void assertGoesOn() throws Exception {
        Await.until(
                "the node has forgotten the peer", () -> nodes.server.toString().matches(".*\\(0 of .*, 0 waiting\\)"));
        NodePair.Ends ends = nodes.connect();
        NodePair.send(ends.client(), 5);
        assertThat(NodePair.receive(ends.server())).isEqualTo(5);
    }

    static ChannelException awaitEnd(Channel channel) {
        Await.until("the channel has ended", () -> channel.cause().isPresent());
        return (ChannelException) channel.cause().orElseThrow();
    }

    /** Connects a peer. The node has no request under way: its greeting is acknowledged. The channel is {@link #channel}. */
    TcpPeer opened() throws Exception {
        TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW);
        channel = nodes.server.accept(DEADLINE);
        peer.await(TcpFrame.SEND);
        peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1);
        return peer;
    }

    /** Makes a frame name all of a memory. */
    static void name(TcpFrame frame, RemoteMemory memory) {
        frame.address = memory.address();
        frame.key = memory.key();
        frame.length = (int) memory.length();
    }

    /** Asks for an export as a node does, and returns its memory. */
    RemoteMemory lookUp(TcpPeer peer) throws IOException {
        peer.message(Wire.immediate(Wire.LOOKUP, 0, 1), "table".getBytes(StandardCharsets.UTF_8));
        TcpFrame reply = peer.await(TcpFrame.SEND);
        while (Wire.kind(reply.number) != Wire.REPLY) {
            reply = peer.await(TcpFrame.SEND);
        }
        return RemoteMemory.fromWide(MemorySegment.ofArray(peer.data()));
    }
}

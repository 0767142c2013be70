package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Two nodes over TCP, and peers that are no nodes. */
abstract class TcpTest extends PeersTest {
    static final long SIZE = 4096;

    MemorySegment table;

    @Override
    @BeforeEach
    void open() {
        NodePair.over(Transport.TCP);
        super.open();
    }

    @Override
    final void use(NodeOptions options) {
        super.use(options);
        table = nodes.arena.allocate(SIZE, 8);
    }

    @Override
    @AfterEach
    void close() {
        super.close();
        NodePair.over(Transport.RDMA);
    }

    static ChannelException awaitEnd(Channel channel) {
        Await.until("the channel has ended", () -> channel.cause().isPresent());
        return (ChannelException) channel.cause().orElseThrow();
    }

    /** Connects a peer that greets, and that the server has accepted. */
    TcpPeer greeted() throws Exception {
        TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW);
        channel = nodes.server.accept(DEADLINE);
        return peer;
    }

    /** Connects a peer. The node has no request under way: its greeting is acknowledged. The channel is {@link #channel}. */
    TcpPeer opened() throws Exception {
        TcpPeer peer = greeted();
        peer.await(TcpFrame.SEND);
        peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1);
        return peer;
    }

    /** Makes a frame name a memory. */
    static void name(TcpFrame frame, RemoteMemory memory, int length) {
        frame.address = memory.address();
        frame.key = memory.key();
        frame.length = length;
    }

    /** Asks for an export as a node does, and returns its memory. */
    RemoteMemory lookUp(TcpPeer peer) throws IOException {
        peer.message(Wire.LOOKUP, 0, 1, "table".getBytes(StandardCharsets.UTF_8));
        Peer.Got reply = peer.nextMessage();
        while (reply.kind() != Wire.REPLY) {
            reply = peer.nextMessage();
        }
        return RemoteMemory.fromWide(peer.received());
    }
}

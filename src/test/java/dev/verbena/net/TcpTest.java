package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Two nodes over TCP, and peers that are no nodes. */
abstract class TcpTest extends PeersTest {
    static final long SIZE = 4096;

    MemorySegment table;

    /** The export of {@link #table}, and its memory as a peer knows it: see {@link #finds}. */
    Export export;

    RemoteMemory memory;

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
    void close() throws IOException {
        super.close();
        NodePair.over(Transport.RDMA);
    }

    static ChannelException awaitEnd(Channel channel) {
        Await.until("the channel has ended", () -> channel.cause().isPresent());
        return (ChannelException) channel.cause().orElseThrow();
    }

    /** Connects a peer that greets, and that the server has accepted. */
    TcpPeer greeted() throws Exception {
        TcpPeer peer = greets();
        channel = nodes.server.accept(DEADLINE);
        return peer;
    }

    /** Connects a peer that greets. */
    final TcpPeer greets() throws IOException {
        TcpPeer peer = stranger();
        peer.greet(WINDOW);
        return peer;
    }

    /** Connects a peer that says nothing. */
    final TcpPeer stranger() throws IOException {
        return leavesLater(new TcpPeer(nodes.server.address()));
    }

    /** Connects a peer. The node has no request under way: its greeting is acknowledged. The channel is {@link #channel}. */
    TcpPeer opened() throws Exception {
        TcpPeer peer = greeted();
        peer.await(TcpFrame.SEND);
        peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1);
        return peer;
    }

    /** Connects peers that say nothing, one after the other. */
    final List<TcpPeer> strangers(int count) throws IOException {
        List<TcpPeer> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(stranger());
        }
        return all;
    }

    static void assertIsPresent(TcpPeer peer) throws IOException {
        peer.socket.setSoTimeout(1);
        assertThatExceptionOfType(SocketTimeoutException.class)
                .as("it may still greet")
                .isThrownBy(() -> peer.read(1));
        peer.socket.setSoTimeout((int) DEADLINE.toMillis());
    }

    /** Returns whether the node has reset the connection of a peer, which sends a byte to see it. */
    static boolean isReset(TcpPeer peer) {
        try {
            peer.write((byte) 0);
            return false;
        } catch (IOException reset) {
            return true;
        }
    }

    /** Exports the table, and connects a peer that greets and has looked it up. The channel is {@link #channel}. */
    final TcpPeer finds(AccessFlag... access) throws Exception {
        export = nodes.server.export("table", table, access);
        TcpPeer peer = greeted();
        memory = lookUp(peer);
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

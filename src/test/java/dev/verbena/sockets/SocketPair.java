package dev.verbena.sockets;

import dev.verbena.support.CmAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;

/** A server, and a connection to it with small queues and buffers. Both ends are in blocking mode. */
final class SocketPair implements AutoCloseable {
    static final int BUFFER = 16 * 1024;
    private static final int QUEUE = 32;

    final ServerSocketChannel server;
    final RdmaSocketChannel client;
    final SocketChannel accepted;

    private SocketPair(int mappings) throws IOException {
        server = listening(mappings);
        client = small(open()).setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, mappings);
        client.connect(server.getLocalAddress());
        accepted = server.accept();
    }

    static SocketPair connected() throws IOException {
        return new SocketPair(0);
    }

    /** Makes a pair of which each end can map segments for the other. */
    static SocketPair connected(int mappings) throws IOException {
        return new SocketPair(mappings);
    }

    /** Returns the end that was accepted, which can map memory. */
    RdmaSocketChannel mapping() {
        return (RdmaSocketChannel) accepted;
    }

    static RdmaSocketChannel open() throws IOException {
        return RdmaSockets.openSocketChannel(StandardProtocolFamily.INET);
    }

    /** Opens a server at the test device's address, whose connections are small. */
    static ServerSocketChannel listening() throws IOException {
        return listening(0);
    }

    /** Opens a server whose connections take segments that their peers map. */
    static ServerSocketChannel listening(int mappings) throws IOException {
        ServerSocketChannel server = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET);
        server.setOption(StandardSocketOptions.SO_RCVBUF, BUFFER);
        server.setOption(RdmaSocketOptions.RDMA_SQSIZE, QUEUE);
        server.setOption(RdmaSocketOptions.RDMA_RQSIZE, QUEUE);
        server.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, mappings);
        return server.bind(address());
    }

    /** Returns an address at which nobody listens any more. */
    static SocketAddress nobody() throws IOException {
        try (ServerSocketChannel server = listening()) {
            return server.getLocalAddress();
        }
    }

    static InetSocketAddress address() {
        return CmAddress.four(0);
    }

    static RdmaSocketChannel small(RdmaSocketChannel channel) throws IOException {
        for (SocketOption<Integer> buffer : List.of(StandardSocketOptions.SO_RCVBUF, StandardSocketOptions.SO_SNDBUF)) {
            channel.setOption(buffer, BUFFER);
        }
        channel.setOption(RdmaSocketOptions.RDMA_SQSIZE, QUEUE);
        return channel.setOption(RdmaSocketOptions.RDMA_RQSIZE, QUEUE);
    }

    /** Reads until the buffer is full. */
    static ByteBuffer readFully(SocketChannel from, ByteBuffer into) throws IOException {
        while (into.hasRemaining()) {
            if (from.read(into) < 0) {
                throw new IOException("the stream ended after " + into.position() + " of " + into.limit() + " bytes");
            }
        }
        return into.flip();
    }

    /** Returns bytes with a pattern that shows a shift. */
    static byte[] pattern(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i ^ i >> 8 ^ i >> 16);
        }
        return bytes;
    }

    @Override
    public void close() throws IOException {
        client.close();
        accepted.close();
        server.close();
    }
}

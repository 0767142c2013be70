package dev.verbena.sockets;

import com.sun.management.ThreadMXBean;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Locale;

/**
 * One end of {@code rstream -T b} in Java, for {@code scripts/bench --sockets}: the client sends a number of transfers, and
 * the server sends as many back. Both are in blocking mode, with direct buffers and the same options as in C.
 */
final class SocketStream {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int NETWORK_BUFFER = 1 << 19;

    private final SocketChannel channel;
    private final boolean client;
    private final int count;
    private final ByteBuffer buffer;

    private SocketStream(SocketChannel channel, boolean client, int size, int count) {
        this.channel = channel;
        this.client = client;
        this.count = count;
        this.buffer = ByteBuffer.allocateDirect(size);
    }

    /** Arguments: rdma or tcp, server or client, address, port, size, count, iterations to warm up, iterations. */
    public static void main(String[] args) throws IOException {
        SelectorProvider provider = provider(args[0]);
        boolean client = args[1].equals("client");
        InetSocketAddress address = new InetSocketAddress(args[2], Integer.parseInt(args[3]));
        int count = Integer.parseInt(args[5]);
        try (SocketChannel channel = client ? connect(provider, address) : accept(provider, address)) {
            setOptions(channel).setOption(StandardSocketOptions.TCP_NODELAY, true);
            SocketStream end = new SocketStream(channel, client, Integer.parseInt(args[4]), count);
            end.run(Integer.parseInt(args[6]));
            end.measure(Integer.parseInt(args[7]));
        }
    }

    /** Returns the provider for {@code rdma}, or the JDK's. */
    static SelectorProvider provider(String name) {
        return name.equals("rdma") ? new RdmaSelectorProvider() : SelectorProvider.provider();
    }

    private static SocketChannel connect(SelectorProvider provider, InetSocketAddress address) throws IOException {
        SocketChannel channel = setOptions(provider.openSocketChannel());
        channel.connect(address);
        return channel;
    }

    private static SocketChannel accept(SelectorProvider provider, InetSocketAddress address) throws IOException {
        try (ServerSocketChannel server = provider.openServerSocketChannel()) {
            server.setOption(StandardSocketOptions.SO_RCVBUF, NETWORK_BUFFER);
            return server.bind(address).accept();
        }
    }

    private static SocketChannel setOptions(SocketChannel channel) throws IOException {
        channel.setOption(StandardSocketOptions.SO_RCVBUF, NETWORK_BUFFER);
        return channel.setOption(StandardSocketOptions.SO_SNDBUF, NETWORK_BUFFER);
    }

    private void measure(int iterations) throws IOException {
        long bytes = THREADS.getCurrentThreadAllocatedBytes();
        long start = System.nanoTime();
        run(iterations);
        long time = System.nanoTime() - start;
        bytes = THREADS.getCurrentThreadAllocatedBytes() - bytes;
        System.out.println(String.format( // in one piece: both ends write to the same pipe
                Locale.ROOT,
                "usec %.2f bytes %.2f",
                time / 1e3 / iterations / count / 2,
                (double) bytes / iterations / count / 2));
    }

    private void run(int iterations) throws IOException {
        for (int i = 0; i < iterations; i++) {
            transfer(client);
            transfer(!client);
        }
    }

    private void transfer(boolean send) throws IOException {
        for (int i = 0; i < count; i++) {
            buffer.clear();
            while (buffer.hasRemaining()) {
                if ((send ? channel.write(buffer) : channel.read(buffer)) < 0) {
                    throw new EOFException("the peer has ended the stream");
                }
            }
        }
    }
}

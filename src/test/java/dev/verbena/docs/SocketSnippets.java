package dev.verbena.docs;

import com.sun.net.httpserver.HttpServer;
import dev.verbena.VerbsArena;
import dev.verbena.sockets.MappedSegment;
import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.sockets.RdmaSocketChannel;
import dev.verbena.sockets.RdmaSockets;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;

/** The examples of sockets in the Javadoc and in the chapter. */
public final class SocketSnippets {
    private SocketSnippets() {}

    // @start region="map"
    /** Lets the peer write a picture into memory, and returns the picture when the peer says that it is there. */
    static MemorySegment receive(RdmaSocketChannel channel, long size, VerbsArena arena) throws IOException {
        try (MappedSegment picture = channel.map(arena.allocate(size), 0, arena)) {
            channel.write(ByteBuffer.allocate(1)); // the memory is mapped
            channel.read(ByteBuffer.allocate(1)); // the picture is there
            return picture.segment();
        }
    }

    /** Writes a picture into the peer's memory. */
    static void send(RdmaSocketChannel channel, MemorySegment picture) throws IOException {
        channel.read(ByteBuffer.allocate(1));
        channel.write(picture, 0);
        channel.write(ByteBuffer.allocate(1));
    }
    // @end

    /** Fetches a page from a server of the JDK. */
    public static String fetch(InetAddress address, HttpClient client) throws IOException, InterruptedException {
        HttpServer server = HttpServer.create(new InetSocketAddress(address, 0), 0);
        server.start();
        URI page = URI.create(
                "http://" + address.getHostAddress() + ":" + server.getAddress().getPort() + "/");
        HttpResponse<String> response = client.send(HttpRequest.newBuilder(page).build(), BodyHandlers.ofString());
        server.stop(0);
        return response.body();
    }

    /** Accepts a connection. */
    public static void accept() throws IOException {
        // @start region="accept"
        try (ServerSocketChannel server = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET)) {
            server.bind(new InetSocketAddress("10.9.9.1", 7471));
            SocketChannel client = server.accept();
        }
        // @end
    }

    /** Connects, and sends. */
    public static void connect(InetSocketAddress server, ByteBuffer data) throws IOException {
        // @start region="connect"
        try (RdmaSocketChannel channel = RdmaSockets.openSocketChannel(StandardProtocolFamily.INET)) {
            channel.connect(server);
            while (data.hasRemaining()) {
                channel.write(data);
            }
        }
        // @end
    }

    /** Makes a server of Netty. */
    public static void bootstrap() {
        SelectorProvider rdma = new RdmaSelectorProvider();
        new ServerBootstrap()
                .group(new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory(rdma)))
                .channelFactory(() -> new NioServerSocketChannel(rdma));
    }

    /** Does the first half of the example. */
    public static MemorySegment receivePicture(RdmaSocketChannel channel, long size, VerbsArena arena)
            throws IOException {
        return receive(channel, size, arena);
    }

    /** Does the second half of the example. */
    public static void sendPicture(RdmaSocketChannel channel, MemorySegment picture) throws IOException {
        send(channel, picture);
    }
}

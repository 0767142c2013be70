package dev.verbena.sockets;

import dev.verbena.CName;
import java.io.IOException;
import java.net.ProtocolFamily;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;

/**
 * Factories of sockets, channels and selectors over RDMA. They are those of JEP 337, RDMA Network Sockets.
 *
 * <p>All but the way to make them is as with TCP. Both ends must be RDMA sockets: of this package, of C's
 * {@code rsocket}, or of a C program that runs with {@code LD_PRELOAD=librspreload.so}.
 *
 * {@snippet file="SocketSnippets.java" region="accept"}
 *
 * <p>All threads may use this class.
 */
public final class RdmaSockets {
    private RdmaSockets() {}

    /**
     * Opens an unconnected socket.
     *
     * @param family {@link StandardProtocolFamily#INET} or {@link StandardProtocolFamily#INET6}
     * @return a socket in blocking mode
     * @throws UnsupportedOperationException if this machine has no RDMA sockets, or the family is another
     * @throws IOException if C can't make a socket
     */
    public static Socket openSocket(ProtocolFamily family) throws IOException {
        return openSocketChannel(family).socket();
    }

    /**
     * Opens an unbound server socket.
     *
     * @param family {@link StandardProtocolFamily#INET} or {@link StandardProtocolFamily#INET6}
     * @return a server socket
     * @throws UnsupportedOperationException if this machine has no RDMA sockets, or the family is another
     * @throws IOException if C can't make a socket
     */
    public static ServerSocket openServerSocket(ProtocolFamily family) throws IOException {
        return openServerSocketChannel(family).socket();
    }

    /**
     * Opens an unconnected channel ({@code rsocket}).
     *
     * @param family {@link StandardProtocolFamily#INET} or {@link StandardProtocolFamily#INET6}
     * @return a channel in blocking mode
     * @throws UnsupportedOperationException if this machine has no RDMA sockets, or the family is another
     * @throws IOException if C can't make a socket
     */
    @CName({"rsocket", "rfcntl"})
    public static RdmaSocketChannel openSocketChannel(ProtocolFamily family) throws IOException {
        return RdmaSelectorProvider.shared().openRdmaSocketChannel(family);
    }

    /**
     * Opens an unbound server channel ({@code rsocket}). Its {@code bind} listens ({@code rlisten}), and its {@code accept}
     * accepts connections ({@code raccept}).
     *
     * @param family {@link StandardProtocolFamily#INET} or {@link StandardProtocolFamily#INET6}
     * @return a server channel in blocking mode
     * @throws UnsupportedOperationException if this machine has no RDMA sockets, or the family is another
     * @throws IOException if C can't make a socket
     */
    @CName({"rsocket", "rlisten", "raccept"})
    public static ServerSocketChannel openServerSocketChannel(ProtocolFamily family) throws IOException {
        if (family == StandardProtocolFamily.UNIX) {
            throw new UnsupportedOperationException("Protocol family not supported: " + family);
        }
        return RdmaSelectorProvider.shared().openServerSocketChannel(family);
    }

    /**
     * Opens a selector ({@code rpoll}), which takes these channels and the JDK's.
     *
     * @return a selector
     * @throws UnsupportedOperationException if this machine has no RDMA sockets
     * @throws IOException if the process has too many open files
     */
    @CName("rpoll")
    public static Selector openSelector() throws IOException {
        return RdmaSelectorProvider.shared().openSelector();
    }
}

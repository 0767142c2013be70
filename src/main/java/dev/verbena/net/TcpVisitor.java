package dev.verbena.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * A TCP connection that a peer has made, until its first bytes have come. Only then does it become a channel: a peer with a
 * device asks by TCP, and connects by RDMA. All methods are for the thread of the {@link TcpCarrier}.
 */
final class TcpVisitor {
    /** The longest time to wait for the peer's end of a connection that does not become a channel. */
    private static final long LEAVING_NANOS = 1_000_000_000L;

    final SocketChannel socket;
    final ByteBuffer hello = ByteBuffer.allocate(TcpFrame.HELLO_BYTES);
    private long leaveBy;
    private boolean leaving;

    /**
     * Makes a visitor.
     *
     * @param leaveBy the time at which the first bytes must have come
     */
    TcpVisitor(SocketChannel socket, long leaveBy) {
        this.socket = socket;
        this.leaveBy = leaveBy;
    }

    InetSocketAddress peer() throws IOException {
        return (InetSocketAddress) socket.getRemoteAddress();
    }

    /** Returns true if this side has answered, and waits for the peer's end. */
    boolean isLeaving() {
        return leaving;
    }

    /**
     * Reads what has come. Once this side has answered, the bytes are dropped.
     *
     * @param dropped memory for these bytes
     * @return true if the first bytes have just become complete
     * @throws IOException if the peer has left
     */
    boolean read(ByteBuffer dropped) throws IOException {
        if (leaving) {
            checkPresent(socket.read(dropped.clear()));
            return false;
        }
        checkPresent(socket.read(hello));
        return !hello.hasRemaining();
    }

    private static void checkPresent(int found) throws IOException {
        if (found < 0) {
            throw new IOException("The peer has closed the connection");
        }
    }

    /** Sends this side's first bytes. */
    void answer(boolean rdma, int reason) throws IOException {
        TcpFrame.sendHello(socket, rdma, reason);
    }

    /** Ends this side, and waits for the peer's end: else what the peer has not read would be lost. */
    void leave() throws IOException {
        leaving = true;
        leaveBy = System.nanoTime() + LEAVING_NANOS;
        socket.shutdownOutput();
    }

    /** Returns true if the time of this visitor is over. */
    boolean isLate(long now) {
        return now - leaveBy > 0;
    }
}

package dev.verbena.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * A TCP connection that a peer has made, until its greeting has come. Only then does it become a channel: a stranger costs a
 * descriptor and some 100 bytes, and a peer with a device asks by TCP, and connects by RDMA. All methods are for the thread
 * of the {@link TcpCarrier}.
 */
final class TcpVisitor {
    /** The longest time to wait for the peer's end of a connection that does not become a channel. */
    private static final long LEAVING_NANOS = 1_000_000_000L;

    /** The steps of a visitor. */
    enum Step {
        /** The peer's first bytes are awaited. */
        HELLO,
        /** The peer is welcome, and the frame of its greeting is awaited. */
        GREETING,
        /** This side has said goodbye, and awaits the end of the peer's side. */
        LEAVING
    }

    final SocketChannel socket;
    final InetSocketAddress peer;
    private ByteBuffer input = ByteBuffer.allocate(TcpFrame.HELLO_BYTES);
    private Step step = Step.HELLO;
    private long leaveBy;

    /**
     * Makes a visitor.
     *
     * @param leaveBy the time at which the greeting must have come
     */
    TcpVisitor(SocketChannel socket, long leaveBy) throws IOException {
        this.socket = socket;
        this.peer = (InetSocketAddress) socket.getRemoteAddress();
        this.leaveBy = leaveBy;
    }

    Step step() {
        return step;
    }

    /** Returns what the peer has said in this step. */
    ByteBuffer input() {
        return input;
    }

    /**
     * Reads what has come. Once this side has said goodbye, the bytes are dropped.
     *
     * @param dropped memory for these bytes
     * @return true if the first bytes, the greeting, or a header that is not that of a greeting, have just become complete
     * @throws IOException if the peer has left
     */
    boolean read(ByteBuffer dropped) throws IOException {
        if (step == Step.LEAVING) {
            checkPresent(socket.read(dropped.clear()));
            return false;
        }
        checkPresent(socket.read(input));
        if (step == Step.GREETING && !input.hasRemaining() && input.capacity() == TcpFrame.BYTES) {
            int more = TcpFrame.greetingBytes(input);
            if (more > 0) {
                input = ByteBuffer.allocate(TcpFrame.BYTES + more).put(input.flip());
                checkPresent(socket.read(input));
            }
        }
        return !input.hasRemaining();
    }

    /** Returns true if what has become complete is a greeting. */
    boolean hasGreeted() {
        return input.capacity() > TcpFrame.BYTES;
    }

    private static void checkPresent(int found) throws IOException {
        if (found < 0) {
            throw new IOException("The peer has closed the connection");
        }
    }

    /** Sends this side's first bytes to a peer that may become a channel. */
    void welcome(boolean rdma) throws IOException {
        TcpFrame.sendHello(socket, rdma, 0);
        step = Step.GREETING;
        input = ByteBuffer.allocate(TcpFrame.BYTES);
    }

    /** Says goodbye, ends this side, and waits for the peer's end: else what the peer has not read would be lost. */
    void leave(boolean rdma, int reason) throws IOException {
        if (step == Step.HELLO) {
            TcpFrame.sendHello(socket, rdma, reason);
        } else {
            TcpFrame.sendGoodbye(socket, reason);
        }
        step = Step.LEAVING;
        leaveBy = System.nanoTime() + LEAVING_NANOS;
        socket.shutdownOutput();
    }

    /** Returns true if the time of this visitor is over. */
    boolean isLate(long now) {
        return now - leaveBy > 0;
    }
}

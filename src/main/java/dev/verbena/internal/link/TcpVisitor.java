package dev.verbena.internal.link;

import dev.verbena.internal.wire.FirstVersion;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * A TCP connection that a peer has made, until its greeting has come, and is right where there is a secret. Only then does it
 * become a channel: a stranger costs a descriptor and some 100 bytes, and a peer with a device asks by TCP, and connects by
 * RDMA. All methods are for the thread of the {@link TcpCarrier}.
 */
public final class TcpVisitor {
    /** The longest time to wait for the peer's end of a connection that does not become a channel. */
    private static final long LEAVING_NANOS = 1_000_000_000L;

    final SocketChannel socket;
    final InetSocketAddress peer;
    private ByteBuffer input = ByteBuffer.allocate(TcpFrame.BYTES);

    /** True once this side has said goodbye, and awaits the end of the peer's side. */
    private boolean leaving;

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

    boolean isLeaving() {
        return leaving;
    }

    /** Returns what the peer has said. */
    ByteBuffer input() {
        return input;
    }

    /**
     * Reads what has come. Once this side has said goodbye, the bytes are dropped.
     *
     * @param dropped memory for these bytes
     * @return true if the greeting, or bytes that are none, have just become complete
     * @throws IOException if the peer has left
     */
    boolean read(ByteBuffer dropped) throws IOException {
        if (leaving) {
            checkPresent(socket.read(dropped.clear()));
            return false;
        }
        checkPresent(socket.read(input));
        if (!input.hasRemaining() && input.capacity() == TcpFrame.BYTES) {
            int more = TcpFrame.greetingBytes(input);
            if (more > 0) {
                input = ByteBuffer.allocate(TcpFrame.BYTES + more).put(input.flip());
                checkPresent(socket.read(input));
            }
        }
        return !input.hasRemaining() || !TcpFrame.mayBegin(input);
    }

    /** Returns true if what has become complete is a greeting. */
    boolean hasGreeted() {
        return input.capacity() > TcpFrame.BYTES && Wire.kind(message()) == Wire.GREETING;
    }

    /** Returns true if the peer, which has greeted, connects only if this side has no RDMA. */
    boolean asks() {
        return Wire.asks(greeting());
    }

    /** Returns the greeting of a peer that has greeted. */
    MemorySegment greeting() {
        return message().asSlice(Wire.HEADER_BYTES);
    }

    private MemorySegment message() {
        return MemorySegment.ofArray(input.array()).asSlice(TcpFrame.BYTES);
    }

    private static void checkPresent(int found) throws IOException {
        if (found < 0) {
            throw new IOException("The peer has closed the connection");
        }
    }

    /** Says goodbye, ends this side, and waits for the peer's end: else what the peer has not read would be lost. */
    void leave(int reason) throws IOException {
        // The bytes fit into the socket's memory.
        socket.write(FirstVersion.began(input) ? FirstVersion.answer() : TcpFrame.goodbye(reason));
        leaving = true;
        leaveBy = System.nanoTime() + LEAVING_NANOS;
        socket.shutdownOutput();
    }

    /** Returns true if the time of this visitor is over. */
    boolean isLate(long now) {
        return now - leaveBy > 0;
    }
}

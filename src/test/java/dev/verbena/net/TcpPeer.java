package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.Consumer;

/** A peer over TCP that is no node. */
final class TcpPeer extends Peer {
    final Socket socket;
    private final MemorySegment whole = MemorySegment.ofArray(new byte[SIZE]);
    private final TcpFrame frame = new TcpFrame();
    private byte[] data = {};
    private OutputStream out = OutputStream.nullOutputStream();

    /** True to send each byte alone. */
    boolean singly;

    /** Something that a peer says. */
    interface Step {
        void with(TcpPeer peer) throws IOException;
    }

    /** Connects to a node, and says nothing. */
    TcpPeer(InetSocketAddress node) throws IOException {
        this(node, null);
    }

    /** Connects to a node from an address, and says nothing. */
    TcpPeer(InetSocketAddress node, InetSocketAddress own) throws IOException {
        this(node, own, 1 << 16);
    }

    /** Connects to a node from an address, with memory for some bytes that come, and says nothing. */
    TcpPeer(InetSocketAddress node, InetSocketAddress own, int buffer) throws IOException {
        this();
        socket.setReceiveBufferSize(buffer);
        socket.bind(own);
        socket.connect(node, (int) DEADLINE.toMillis());
        begin();
    }

    /** Makes a peer whose socket the test connects. */
    TcpPeer() {
        socket = new Socket();
    }

    /** Makes a peer that a node has connected to. */
    TcpPeer(Socket accepted) throws IOException {
        socket = accepted;
        begin();
    }

    /** Begins to use the socket, which is connected. */
    void begin() throws IOException {
        socket.setSoTimeout((int) DEADLINE.toMillis());
        socket.setTcpNoDelay(true);
        out = socket.getOutputStream();
    }

    void write(byte... bytes) throws IOException {
        int step = singly ? 1 : Math.max(1, bytes.length);
        for (int from = 0; from < bytes.length; from += step) {
            out.write(bytes, from, step);
        }
    }

    /** Sends what a step writes in one piece. */
    void atOnce(Step step) throws IOException {
        atMost(Integer.MAX_VALUE, step);
    }

    /** Sends the first bytes of what a step writes. */
    void atMost(int bytes, Step step) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        out = all;
        step.with(this);
        out = socket.getOutputStream();
        write(Arrays.copyOf(all.toByteArray(), Math.min(bytes, all.size())));
    }

    /** Reads bytes; fewer if the node closes the connection. */
    byte[] read(int count) throws IOException {
        return socket.getInputStream().readNBytes(count);
    }

    /** Sends a header with changed fields. */
    void frame(int type, Consumer<TcpFrame> fields) throws IOException {
        fields.accept(frame.begin(type));
        ByteBuffer header = ByteBuffer.allocate(TcpFrame.BYTES);
        frame.writeTo(header);
        write(header.array());
    }

    /** Sends a message with bytes of any number. */
    void message(int kind, int credits, int code, byte... bytes) throws IOException {
        writeHeader(kind, credits, code);
        byte[] head = whole.asSlice(0, Wire.HEADER_BYTES).toArray(ValueLayout.JAVA_BYTE);
        frame(TcpFrame.SEND, fields -> fields.length = head.length + bytes.length);
        write(head);
        write(bytes);
    }

    /** Greets, and connects only if the node has no RDMA. */
    void ask(int window) throws IOException {
        new Wire.Greeting(window, 256, 4, new byte[0], null).writeTo(memory());
        Wire.ask(memory());
        send(Wire.GREETING, 0, 0, Wire.GREETING_BYTES);
    }

    @Override
    MemorySegment whole() {
        return whole;
    }

    @Override
    void sendWhole(long bytes) throws IOException {
        frame(TcpFrame.SEND, fields -> fields.length = (int) bytes);
        write(whole.asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE));
    }

    /** Returns the data of the last frame. */
    byte[] data() {
        return data;
    }

    /** Reads frames until one has the type, and returns it. */
    TcpFrame await(int type) throws IOException {
        TcpFrame next = next();
        while (next.type != type) {
            next = next();
        }
        return next;
    }

    /** Reads frames until the next message, and acknowledges it. */
    @Override
    Got awaitMessage() throws IOException {
        Got got = nextMessage();
        frame(TcpFrame.ACKNOWLEDGEMENT, fields -> fields.number = 1);
        return got;
    }

    /** Reads frames until the next message. */
    Got nextMessage() throws IOException {
        TcpFrame next = await(TcpFrame.SEND);
        MemorySegment.copy(MemorySegment.ofArray(data), 0, whole, SIZE / 2, data.length);
        return got(next.length);
    }

    /** Reads frames until the node's goodbye, and returns its code. */
    @Override
    int awaitGoodbye() throws IOException {
        Got next = nextMessage();
        while (next.kind() != Wire.GOODBYE) {
            next = nextMessage();
        }
        return next.code();
    }

    /** Reads the next frame. */
    TcpFrame next() throws IOException {
        byte[] header = read(TcpFrame.BYTES);
        if (header.length == 0) {
            throw new EOFException("The node has closed the connection");
        }
        TcpFrame next = new TcpFrame();
        if (header.length < TcpFrame.BYTES || !next.readFrom(ByteBuffer.wrap(header))) {
            throw new IOException("The node has sent a malformed frame");
        }
        if (next.type != TcpFrame.READ) {
            data = read(next.length);
        }
        return next;
    }

    /** Waits until the node has closed the connection. */
    void awaitEnd() throws IOException {
        try {
            while (true) {
                next();
            }
        } catch (EOFException | SocketException end) {
            // The connection is closed.
        }
    }

    /** Waits until the node has closed the connection, and returns the number of bytes that come. */
    long awaitEndOfBytes() throws IOException {
        byte[] block = new byte[1 << 16];
        long count = 0;
        try {
            int came = socket.getInputStream().read(block);
            while (came >= 0) {
                count += came;
                came = socket.getInputStream().read(block);
            }
        } catch (SocketException reset) {
            // The connection is closed too.
        }
        return count;
    }

    @Override
    void leave() throws IOException {
        socket.shutdownOutput();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}

package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/** A man in the middle: takes TCP connections for a node, and forwards its frames as a test wants them. */
final class TamperingProxy implements AutoCloseable {
    /** A frame on its way. */
    record Frame(int connection, boolean toServer, int number, byte[] bytes) {
        /** Returns true for a message of a kind. */
        boolean is(int kind) {
            TcpFrame header = new TcpFrame();
            return header.readFrom(ByteBuffer.wrap(bytes))
                    && header.type == TcpFrame.SEND
                    && Wire.kind(MemorySegment.ofArray(bytes).asSlice(TcpFrame.BYTES)) == kind;
        }

        int type() {
            return bytes[0];
        }

        /** Returns a copy with one byte changed. */
        byte[] changed(int at) {
            byte[] copy = bytes.clone();
            copy[at] ^= (byte) 0x80;
            return copy;
        }
    }

    /** The deed of the man in the middle. */
    interface Tampering {
        /** Returns the bytes to forward in place of a frame. */
        List<byte[]> of(Frame frame);
    }

    static final Tampering NONE = frame -> List.of(frame.bytes);

    private final ServerSocket listener;
    private final InetSocketAddress node;
    private final ConcurrentHashMap<Integer, ByteArrayOutputStream> toServer = new ConcurrentHashMap<>();
    private final ByteArrayOutputStream seen = new ByteArrayOutputStream();
    private final List<Socket> sockets = new ArrayList<>();
    private volatile Tampering tampering;

    TamperingProxy(InetSocketAddress node, Tampering tampering) throws IOException {
        this.node = node;
        this.tampering = tampering;
        listener = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
        start(this::accept);
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void start(Work work) {
        Thread.ofPlatform().daemon().start(() -> {
            try {
                work.run();
            } catch (IOException closed) {
                // One side has closed the connection.
            }
        });
    }

    private void accept() throws IOException {
        for (int i = 0; ; i++) {
            int connection = i;
            Socket client = listener.accept();
            Socket server = new Socket(node.getAddress(), node.getPort());
            server.setTcpNoDelay(true);
            client.setTcpNoDelay(true);
            synchronized (sockets) {
                sockets.add(client);
                sockets.add(server);
            }
            toServer.put(connection, new ByteArrayOutputStream());
            start(() -> pump(connection, true, client, server));
            start(() -> pump(connection, false, server, client));
        }
    }

    private void pump(int connection, boolean up, Socket from, Socket to) throws IOException {
        try (from;
                to) {
            DataInputStream in = new DataInputStream(from.getInputStream());
            for (int number = 0; ; number++) {
                byte[] header = new byte[TcpFrame.BYTES];
                in.readFully(header);
                TcpFrame frame = new TcpFrame();
                if (!frame.readFrom(ByteBuffer.wrap(header))) {
                    throw new IOException("malformed frame");
                }
                int length = frame.type == TcpFrame.READ ? 0 : frame.length;
                byte[] whole = ByteBuffer.allocate(TcpFrame.BYTES + length)
                        .put(header)
                        .put(in.readNBytes(length))
                        .array();
                for (byte[] each : tampering.of(new Frame(connection, up, number, whole))) {
                    forward(connection, up, each, to);
                }
            }
        }
    }

    private void forward(int connection, boolean up, byte[] bytes, Socket to) throws IOException {
        synchronized (seen) {
            seen.writeBytes(bytes);
            if (up) {
                toServer.get(connection).writeBytes(bytes);
            }
        }
        to.getOutputStream().write(bytes);
    }

    /** Returns all bytes that were forwarded. */
    byte[] seen() {
        synchronized (seen) {
            return seen.toByteArray();
        }
    }

    /** Returns the bytes of a connection to the node. */
    byte[] recorded(int connection) {
        synchronized (seen) {
            return toServer.get(connection).toByteArray();
        }
    }

    void tamper(Tampering changed) {
        tampering = changed;
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    /** Says the bytes to a node, and returns once it has closed the connection. */
    static void replay(InetSocketAddress node, byte[] bytes) throws IOException {
        try (Socket socket = new Socket(node.getAddress(), node.getPort())) {
            socket.setSoTimeout((int) DEADLINE.toMillis());
            socket.getOutputStream().write(bytes);
            socket.getInputStream().readAllBytes();
        } catch (java.net.SocketException reset) {
            // It is closed too.
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        synchronized (sockets) {
            for (Socket each : sockets) {
                each.close();
            }
        }
    }
}

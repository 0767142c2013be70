package dev.verbena.sockets;

import dev.verbena.support.Await;
import dev.verbena.support.Resources;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;

/**
 * A program for {@link dev.verbena.support.ChildJvm}: many clients connect at once to a server of the same process. One
 * selector has all channels, of which the accepted ones echo. Argument: the number of clients.
 */
public final class ManyConnects {
    private final Selector selector = RdmaSockets.openSelector();
    private final List<SocketChannel> clients = new ArrayList<>();
    private final List<SocketChannel> accepted = new ArrayList<>();
    private final ServerSocketChannel server = SocketPair.listening();
    private int echoed;

    private ManyConnects() throws IOException {}

    public static void main(String[] arguments) throws IOException {
        new ManyConnects().exchange(Integer.parseInt(arguments[0]));
        awaitNothingLeft();
        System.out.println("nothing left");
        System.exit(0);
    }

    private void connect(int count) throws IOException {
        for (int i = 0; i < count; i++) {
            RdmaSocketChannel client = SocketPair.small(SocketPair.open());
            client.configureBlocking(false);
            boolean done = client.connect(server.getLocalAddress());
            client.register(selector, done ? SelectionKey.OP_WRITE : SelectionKey.OP_CONNECT, i);
            clients.add(client);
        }
    }

    private void close() throws IOException {
        for (SocketChannel end : clients) {
            end.close();
        }
        for (SocketChannel end : accepted) {
            end.close();
        }
        server.close();
        selector.close();
    }

    /** Waits for the threads that close sockets. */
    private static void awaitNothingLeft() {
        Await.until("no objects of sockets", () -> Resources.ofThisProcess().isEmpty());
    }

    private void exchange(int count) throws IOException {
        server.configureBlocking(false);
        server.register(selector, SelectionKey.OP_ACCEPT);
        connect(count);
        while (echoed < count) {
            selector.select(this::serve);
        }
        System.out.println(
                echoed + " echoes by a selector of " + selector.keys().size() + " channels");
        close();
    }

    private void serve(SelectionKey key) {
        try {
            if (key.isAcceptable()) {
                accept();
                return;
            }
            SocketChannel channel = (SocketChannel) key.channel();
            if (key.isConnectable() && channel.finishConnect()) {
                key.interestOps(SelectionKey.OP_WRITE);
            } else if (key.isWritable()) {
                channel.write(ByteBuffer.allocate(Integer.BYTES).putInt(0, (int) key.attachment()));
                key.interestOps(SelectionKey.OP_READ);
            } else if (key.isReadable()) {
                read(key, channel);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(key + " of " + key.attachment(), e);
        }
    }

    private void accept() throws IOException {
        for (SocketChannel channel = server.accept(); channel != null; channel = server.accept()) {
            channel.configureBlocking(false);
            channel.register(selector, SelectionKey.OP_READ);
            accepted.add(channel);
        }
    }

    /** Echoes a number at an accepted channel, and checks it at a client. A message this small arrives as a whole. */
    private void read(SelectionKey key, SocketChannel channel) throws IOException {
        ByteBuffer number = ByteBuffer.allocate(Integer.BYTES);
        if (channel.read(number) != Integer.BYTES) {
            throw new IOException("the stream ended after " + number.position() + " bytes");
        }
        if (key.attachment() == null) {
            channel.write(number.flip());
        } else if (number.getInt(0) == (int) key.attachment()) {
            echoed++;
            key.interestOps(0);
        } else {
            throw new IOException("the echo of another client: " + number.getInt(0));
        }
    }
}

package dev.verbena.pair;

import dev.verbena.sockets.RdmaSockets;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** A role that accepts a socket over RDMA and echoes its stream. */
final class SocketEnd implements Role {
    private static final int PART = 10_000;

    @Override
    public void play(Conversation test) throws Exception {
        try (ServerSocketChannel server = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET)) {
            server.bind(Laboratory.own(0));
            test.say("" + server.socket().getLocalPort());
            try (SocketChannel channel = server.accept()) {
                ByteBuffer part = ByteBuffer.allocateDirect(PART);
                while (channel.read(part.clear()) >= 0) {
                    channel.write(part.flip());
                }
            }
            test.say("the end");
            test.next();
        }
    }
}

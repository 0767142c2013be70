package dev.verbena.pair;

import dev.verbena.sockets.RdmaSockets;
import java.net.StandardProtocolFamily;
import java.nio.channels.ServerSocketChannel;

/** A role that accepts sockets over RDMA until the test ends it, and leaves them alone. */
final class AcceptingEnd implements Role {
    @Override
    public void play(Conversation test) throws Exception {
        try (ServerSocketChannel server = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET)) {
            server.bind(Laboratory.own(0));
            test.say("" + server.socket().getLocalPort());
            while (true) {
                server.accept();
            }
        }
    }
}

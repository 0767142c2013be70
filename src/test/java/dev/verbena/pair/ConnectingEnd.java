package dev.verbena.pair;

import dev.verbena.sockets.RdmaSocketChannel;
import dev.verbena.sockets.RdmaSockets;
import java.net.StandardProtocolFamily;
import java.util.ArrayList;
import java.util.List;

/** A role that connects sockets over RDMA to the test's port, and leaves them alone. */
final class ConnectingEnd implements Role {
    @Override
    public void play(Conversation test) throws Exception {
        int port = Integer.parseInt(test.next());
        int count = Integer.parseInt(test.next());
        List<RdmaSocketChannel> channels = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            RdmaSocketChannel channel = RdmaSockets.openSocketChannel(StandardProtocolFamily.INET);
            channels.add(channel);
            channel.connect(Laboratory.peer(port));
        }
        test.say("connected");
        test.next();
    }
}

package dev.verbena.net;

import java.net.InetSocketAddress;

/** Peers that are killed, over TCP. */
class KilledPeersTest extends KilledPeers {
    KilledPeersTest() {
        super(new InetSocketAddress("127.0.0.1", 0), Transport.TCP);
    }

    @Override
    int rounds() {
        return 5;
    }
}

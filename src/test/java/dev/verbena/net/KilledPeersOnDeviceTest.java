package dev.verbena.net;

import dev.verbena.support.CmAddress;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.Slow;

/** Peers that are killed, on the real device, where the kernel ends the connections of a process. */
@Slow
@IwarpToo
class KilledPeersOnDeviceTest extends KilledPeers {
    KilledPeersOnDeviceTest() {
        super(CmAddress.four(0), Transport.RDMA);
    }

    @Override
    int rounds() {
        return 2; // JVMs start slowly in an emulated guest
    }
}

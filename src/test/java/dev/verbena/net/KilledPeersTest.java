package dev.verbena.net;

import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import java.net.InetSocketAddress;

/** Peers that are killed, by both transports. */
final class KilledPeersTest {
    private KilledPeersTest() {}

    static class OverTcpTest extends KilledPeers {
        OverTcpTest() {
            super(new InetSocketAddress("127.0.0.1", 0), Transport.TCP);
        }

        @Override
        int rounds() {
            return 5;
        }
    }

    @DeviceTest
    @IwarpToo
    static class OnDeviceTest extends KilledPeers {
        OnDeviceTest() {
            super(CmAddress.four(0), Transport.RDMA);
        }

        @Override
        int rounds() {
            return 2; // JVMs start slowly in an emulated guest
        }
    }
}

package dev.verbena.sockets;

import dev.verbena.support.CloseAtOnce;
import dev.verbena.support.DeviceTest;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Channels and selectors that are closed at once, while threads wait for them. */
@DeviceTest
@Timeout(120)
class SocketCloseTest {
    @Test
    void channelsAndSelectorsCloseAtOnceUnderThreadsThatWait() throws Exception {
        for (int round = 0; round < 30; round++) {
            SocketPair pair = SocketPair.connected();
            Selector selector = RdmaSockets.openSelector();
            pair.client.configureBlocking(false);
            pair.client.register(selector, SelectionKey.OP_READ);
            CloseAtOnce.close(
                    List.of(pair.server, pair.accepted, pair.accepted, pair.client, pair.client, selector, selector),
                    List.of(
                            () -> pair.accepted.read(ByteBuffer.allocate(8)),
                            () -> pair.accepted.read(ByteBuffer.allocateDirect(8)),
                            pair.server::accept,
                            selector::select));
        }
    }
}

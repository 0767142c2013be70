package dev.verbena.cm;

import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.TestDevice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Either side, or the listener, goes away while the kernel's messages of a handshake are on their way. {@code HandshakeTest}
 * has all steps.
 */
@DeviceTest
@IwarpToo
class HandshakeOnDeviceTest extends Handshakes {
    @ParameterizedTest
    @EnumSource(
            names = {"ROUTE_BEGUN", "CONNECT_BEGUN", "CLAIMED", "ACCEPT_BEGUN", "CLIENT_ESTABLISHED", "DISCONNECT_BEGUN"
            })
    void clientCloseDuringHandshakeKeepsTheListener(Phase phase) throws Exception {
        clientCloses(phase);
    }

    @ParameterizedTest
    @EnumSource(names = {"CLAIMED", "ACCEPT_BEGUN", "CLIENT_ESTABLISHED", "DISCONNECT_BEGUN"})
    void serverCloseDuringHandshakeEndsTheClientsHandshake(Phase phase) throws Exception {
        serverCloses(phase);
    }

    @ParameterizedTest
    @EnumSource(names = {"CONNECT_BEGUN", "REQUESTED", "CLAIMED"})
    void listenerCloseDuringHandshakeRejectsUnclaimedRequests(Phase phase) throws Exception {
        listenerCloses(phase);
    }

    /** Over iWARP, closing a side waits in the kernel for the peer's answer, up to ten seconds. */
    @Test
    @Fault("cm-side-goes")
    void closeIsSafeDuringAHandshakeStep() throws Exception {
        sidesClose(TestDevice.isIwarp() ? 10 : 30);
    }
}

package dev.verbena.cm;

import dev.verbena.support.FencedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Either side, or the listener, goes away after each step of the handshake, or during one. */
@FencedTest
class HandshakeTest extends Handshakes {
    @ParameterizedTest
    @EnumSource
    void clientCloseDuringHandshakeKeepsTheListener(Phase phase) throws Exception {
        clientCloses(phase);
    }

    @ParameterizedTest
    @EnumSource(
            mode = EnumSource.Mode.MATCH_NONE,
            names = {"CREATED", ".*ADDRESS.*", "ROUTE.*", "QUEUE_PAIR", "CONNECT_BEGUN", "REQUESTED"})
    void serverCloseDuringHandshakeEndsTheClientsHandshake(Phase phase) throws Exception {
        serverCloses(phase);
    }

    @ParameterizedTest
    @EnumSource
    void listenerCloseDuringHandshakeRejectsUnclaimedRequests(Phase phase) throws Exception {
        listenerCloses(phase);
    }

    @Test
    void closeIsSafeDuringAHandshakeStep() throws Exception {
        sidesClose(150);
    }
}

package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.wire.Wire;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The codes of goodbyes: nodes of other releases rely on them. */
class EndReasonTest {
    private static final List<EndReason> SENT = List.of(
            EndReason.CLOSED_BY_PEER,
            EndReason.OTHER_VERSION,
            EndReason.PROTOCOL_ERROR,
            EndReason.TOO_MANY_CHANNELS,
            EndReason.HANDSHAKE_TIMEOUT,
            EndReason.PEER_FAILED,
            EndReason.REFUSED,
            EndReason.STALLED,
            EndReason.WRONG_SECRET,
            EndReason.OTHER_PROTECTION,
            EndReason.TAMPERED);

    @Test
    void codesNeverChange() {
        for (int code = 0; code < SENT.size(); code++) {
            assertThat(SENT.get(code).code).as("%s", SENT.get(code)).isEqualTo(code);
            assertThat(EndReason.of(code)).isEqualTo(SENT.get(code));
        }
    }

    /** The peer that goes on with a channel which this side does not have is told so. Between is the code to use RDMA. */
    @Test
    void lostHasTheCodeBehindThatOfRdma() {
        assertThat(EndReason.LOST.code).isEqualTo(Wire.USE_RDMA + 1).isEqualTo(12);
        assertThat(EndReason.of(12)).isEqualTo(EndReason.LOST);
    }

    @Test
    void otherReasonsAreNeverSent() {
        assertThat(Stream.of(EndReason.values()).filter(reason -> !SENT.contains(reason) && reason != EndReason.LOST))
                .allSatisfy(reason -> assertThat(reason.code).isNegative());
        assertThat(EndReason.of(SENT.size())).isEqualTo(EndReason.PEER_FAILED);
        assertThat(EndReason.of(4095)).isEqualTo(EndReason.PEER_FAILED);
    }

    /** The kernel may take the memory of a killed process away before it ends the connection: see {@link KilledPeers}. */
    @Test
    void reasonsThatAKilledPeerMayEndWithSaySo() {
        assertThat(Stream.of(EndReason.LOST, EndReason.ACCESS_DENIED).map(reason -> reason.words))
                .allSatisfy(words -> assertThat(words).contains("the peer's process has ended"));
    }

    @Test
    void reasonsHaveDifferentWords() {
        assertThat(Stream.of(EndReason.values()).map(reason -> reason.words))
                .allSatisfy(words -> assertThat(words).isNotBlank())
                .doesNotHaveDuplicates();
    }
}

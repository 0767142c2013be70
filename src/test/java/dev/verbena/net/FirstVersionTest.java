package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Listener;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Nodes of version 1, as recorded, against a node of today over RDMA: no message travels, and the reason is clear. */
@FencedTest
class FirstVersionTest extends PeersTest {
    private static final int GREETING = 1 << 28;
    private static final int GOODBYE = 4 << 28;

    private static final String ZEROS = "00000000000000000000000000000000";

    /** Greetings of version 1: its limits, without a secret and with one. The kind of the message was immediate data. */
    private static final String GREETED =
            "56424e4101000000" + "0000002000001000" + "0000002000000000" + ZEROS + ZEROS + "0000000000000000";

    private static final String GREETED_UNDER_SECRET = "56424e4102020000" + "0000002000001000" + "0000002000000000"
            + ZEROS + ZEROS + ZEROS + ZEROS + ZEROS + ZEROS + ZEROS + ZEROS + ZEROS + ZEROS;

    @ParameterizedTest
    @ValueSource(strings = {GREETED, GREETED_UNDER_SECRET})
    void clientOfVersionOneIsToldOfTheOtherVersion(String recorded) throws Exception {
        byte[] greeting = HexFormat.of().parseHex(recorded);
        try (RawPeer peer = new RawPeer(nodes.server.address())) {
            peer.whole().copyFrom(MemorySegment.ofArray(greeting));
            peer.sendWithImmediate(greeting.length, GREETING);
            assertThat(EndReason.of(peer.awaitGoodbye())).isEqualTo(EndReason.OTHER_VERSION);
        }
        assertGoesOn();
    }

    /** The server did not know the greeting of this version, and said so. */
    @Test
    void serverOfVersionOneIsKnownByItsGoodbye() throws Exception {
        Fenced.assumeNoLimit("no immediate data");
        try (VerbsArena others = VerbsArena.ofShared()) {
            Listener listener = Listener.open(NodePair.OWN, others);
            Future<RawPeer> accepted = nodes.start(() -> {
                RawPeer peer = new RawPeer(listener);
                peer.awaitMessage();
                peer.sendWithImmediate(0, GOODBYE | EndReason.PROTOCOL_ERROR.code);
                return peer;
            });
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> nodes.client.connect(listener.address(), DEADLINE))
                    .withMessageContaining("It speaks version 1, this side version " + Wire.VERSION)
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.OTHER_VERSION));
            NodePair.end(accepted).close();
        }
        assertGoesOn();
    }
}

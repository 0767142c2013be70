package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Strangers at the door of a node with a secret: they keep no honest peer out, and hold nobody up. */
class StrangersTest extends TcpTest {
    private static final byte[] SECRET = "a secret of some 32 random bytes".getBytes(US_ASCII);
    private static final NodeOptions SEALED =
            NodePair.SMALL.secret(SECRET).transport(Transport.TCP).handshakeTimeout(DEADLINE);
    private static final int GREETING = Wire.immediate(Wire.GREETING, 0, 0);

    private final List<TcpPeer> peers = new ArrayList<>();

    @AfterEach
    void leave() throws IOException {
        for (TcpPeer peer : peers) {
            peer.close();
        }
    }

    private static byte[] greeting() {
        return new Introduction(SEALED, SEALED.secrets(), Transport.TCP).first();
    }

    /** Connects, says a greeting, and stays. */
    private TcpPeer comes(byte[] greeting) throws IOException {
        return comes(greeting, "127.0.0.1");
    }

    private TcpPeer comes(byte[] greeting, String from) throws IOException {
        TcpPeer peer = new TcpPeer(nodes.server.address(), new InetSocketAddress(from, 0));
        peers.add(peer);
        peer.write(TcpFrame.hello(false, 0).array());
        peer.read(TcpFrame.HELLO_BYTES);
        peer.message(GREETING, greeting);
        return peer;
    }

    private static void assertAnswered(TcpPeer peer) throws IOException {
        assertThat(Wire.kind(peer.await(TcpFrame.SEND).number)).isEqualTo(Wire.GREETING);
    }

    // Keys

    @Test
    void keyThatSharesNothingIsRefusedAndCounted() throws Exception {
        use(SEALED);
        byte[] head = Arrays.copyOf(greeting(), Wire.GREETING_BYTES);
        byte[] key = SEALED.secrets().key(new byte[0]);
        for (byte order : new byte[] {0, 1}) {
            byte[] passing = new byte[32];
            passing[0] = order;
            TcpPeer insider = comes(ForgedGreeting.of(head, key, passing, new byte[1 + Wire.MAX_TOKEN]));
            assertThat(EndReason.of(insider.awaitGoodbye())).isEqualTo(EndReason.WRONG_SECRET);
        }
        assertThat(nodes.server.attacks().strangers()).isEqualTo(2);
        nodes.connect();
    }

    /** The other greetings of a forger are those of a node. */
    @Test
    void forgedGreetingWithAGoodKeyIsAnswered() throws IOException, GeneralSecurityException {
        use(SEALED);
        byte[] head = Arrays.copyOf(greeting(), Wire.GREETING_BYTES);
        byte[] passing = new byte[32];
        passing[0] = 9;
        assertAnswered(comes(
                ForgedGreeting.of(head, SEALED.secrets().key(new byte[0]), passing, new byte[1 + Wire.MAX_TOKEN])));
    }
}

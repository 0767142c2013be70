package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.wire.Wire;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Servers that lie to a node which comes back to them. */
class HealAtServerTest extends TcpTest {
    private static final NodeOptions HEALS = NodePair.SMALL.heal(DEADLINE).closeTimeout(Duration.ZERO);

    private TcpPeer peer;
    private ServerSocket server;
    private UUID id;

    @BeforeEach
    void listen() throws IOException {
        server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
        server.setSoTimeout((int) DEADLINE.toMillis());
    }

    @AfterEach
    void stopListening() throws IOException {
        server.close();
    }

    /** Lets the node connect, and reads its claim. */
    private Wire.Claim comes() throws IOException {
        peer = leavesLater(new TcpPeer(server.accept()));
        Peer.Got got = peer.awaitMessage();
        assertThat(got.kind()).isEqualTo(Wire.GREETING);
        return Objects.requireNonNull(
                Wire.readGreeting(peer.received().asSlice(0, got.bytes())).claim());
    }

    /** The node sends two messages, and gets one: the server says that it has both. Then the connection is lost. */
    private void loseAfterMessages() throws Exception {
        use(HEALS);
        Future<Channel> connecting =
                nodes.start(() -> nodes.client.connect((InetSocketAddress) server.getLocalSocketAddress(), DEADLINE));
        Wire.Claim claim = comes();
        assertThat(claim.resumes()).isFalse();
        id = claim.id();
        peer.greet(new Wire.Claim(false, id, Wire.Place.ONE), 0, 0, 0);
        channel = NodePair.end(connecting);
        for (long i = 1; i <= 2; i++) {
            NodePair.send(channel, i);
            assertThat(peer.awaitMessage().kind()).isEqualTo(Wire.DATA);
            assertThat(peer.received().get(ValueLayout.JAVA_LONG_UNALIGNED, 0)).isEqualTo(i);
        }
        peer.say(Wire.DATA, 0, 1, 2, Long.BYTES);
        NodePair.receive(channel);
        peer.close();
        Wire.Claim again = comes();
        assertThat(again.resumes()).isTrue();
        assertThat(again.id()).isEqualTo(id);
    }

    @ParameterizedTest(name = "granted {0}, sent {1}, received {2}")
    @CsvSource({"3, 1, 2", "-1, 1, 2", "0, 0, 2", "0, 1, 1", "0, 1, 3"})
    void wrongTotalsEndTheChannel(int granted, int sent, int received) throws Exception {
        loseAfterMessages();
        peer.greet(new Wire.Claim(true, id, Wire.Place.ONE), granted, sent, received);
        assertThat(awaitEnd(channel).reason()).isEqualTo(EndReason.PROTOCOL_ERROR);
        peer.awaitEnd();
    }

    @ParameterizedTest(name = "goes on: {0}, with the same channel: {1}, from device {2}")
    @CsvSource({"true, false, 0", "false, true, 0", "true, true, 1"})
    void anotherChannelThanTheNodeClaimsEndsIt(boolean resumes, boolean same, int device) throws Exception {
        loseAfterMessages();
        Wire.Place place = new Wire.Place(device, device + 1, Wire.Place.ONE.paths());
        peer.greet(new Wire.Claim(resumes, same ? id : UUID.randomUUID(), place), 0, 1, 2);
        assertThat(awaitEnd(channel)).hasMessageContaining("another channel");
        peer.awaitEnd();
    }

    @Test
    void messagesBeforeTheGreetingEndTheChannel() throws Exception {
        loseAfterMessages();
        peer.say(Wire.DATA, 0, 2, 2, Long.BYTES);
        assertThat(awaitEnd(channel).reason()).isEqualTo(EndReason.PROTOCOL_ERROR);
        peer.awaitEnd();
    }

    /** As a switch would that answers for a server which is away. */
    @Test
    void serverThatGreetsRightAfterManyLostConnectionsHasTheChannel() throws Exception {
        loseAfterMessages();
        for (int i = 0; i < 3; i++) {
            peer.close();
            assertThat(comes().id()).isEqualTo(id);
        }
        peer.greet(new Wire.Claim(true, id, Wire.Place.ONE), 1, 1, 2);
        NodePair.send(channel, 3);
        assertThat(peer.awaitMessage().kind()).isEqualTo(Wire.DATA);
        assertThat(peer.received().get(ValueLayout.JAVA_LONG_UNALIGNED, 0)).isEqualTo(3);
        peer.say(Wire.DATA, 1, 2, 3, Long.BYTES);
        NodePair.receive(channel);
        assertThat(channel.statistics().reconnects()).isEqualTo(1);
    }
}

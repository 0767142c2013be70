package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.noise.NoiseHandshake;
import dev.verbena.internal.wire.Seal;
import dev.verbena.internal.wire.Wire;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Arrays;
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
    /** One at a time connects: one that is never noted as ended keeps all others out. */
    private static final NodeOptions HEALS =
            NodePair.SMALL.heal(DEADLINE).connecting(1).closeTimeout(Duration.ZERO);

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

    private Future<Channel> connects(NodeOptions options) {
        use(options);
        return nodes.start(() -> nodes.client.connect((InetSocketAddress) server.getLocalSocketAddress(), DEADLINE));
    }

    private void assertOpensNothing(Future<Channel> connecting) throws Exception {
        assertThat(NodePair.failure(connecting))
                .isInstanceOfSatisfying(
                        ChannelException.class, end -> assertThat(end.reason()).isEqualTo(EndReason.PROTOCOL_ERROR));
        assertThat(nodes.client.statistics().opened()).isZero();
    }

    @ParameterizedTest(name = "window {0}, of the same channel: {1}")
    @CsvSource({"0, true", "4, false"})
    void wrongGreetingOpensNothing(int window, boolean same) throws Exception {
        Future<Channel> connecting = connects(HEALS);
        UUID claimed = comes().id();
        Wire.Claim answer = new Wire.Claim(false, same ? claimed : UUID.randomUUID(), Wire.Place.ONE);
        Wire.Greeting greeting = new Wire.Greeting(window, 256, 4, new byte[0], answer);
        greeting.writeWholeTo(peer.memory());
        peer.say(Wire.GREETING, 0, 0, 0, greeting.bytes());
        assertOpensNothing(connecting);
    }

    /** The server knows the secret. */
    @ParameterizedTest(name = "proof of {0} bytes, of the same channel: {1}")
    @CsvSource({"8, true", "0, false"})
    void wrongProofOpensNothing(int bytes, boolean same) throws Exception {
        NodeOptions sealed = HEALS.secret(new byte[32]);
        Future<Channel> connecting = connects(sealed);
        peer = leavesLater(new TcpPeer(server.accept()));
        int length = peer.awaitMessage().bytes();
        byte[] first = peer.received().asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
        NoiseHandshake noise = IntroductionTest.handshake(
                false,
                Arrays.copyOf(first, Wire.GREETING_BYTES),
                sealed.secrets().key(new byte[0]));
        byte[] payload = noise.read(Arrays.copyOfRange(first, Wire.GREETING_BYTES, length));
        byte[] claim = Arrays.copyOfRange(payload, IntroductionTest.TOKEN_BYTES, payload.length);
        claim[0] ^= (byte) (same ? 0 : 1);
        byte[] limits = IntroductionTest.joined(Arrays.copyOf(first, 24), claim);
        peer.message(Wire.GREETING, 0, 0, IntroductionTest.joined(Arrays.copyOf(first, 8), noise.write(limits)));
        peer.writeHeader(Wire.GREETING, 0, 0);
        new Seal(noise.split()).seal(peer.whole(), bytes, peer.whole());
        peer.sendWhole(Wire.HEADER_BYTES + bytes + Seal.BYTES);
        assertOpensNothing(connecting);
    }

    /** The node sends two messages, and gets one: the server says that it has both. Then the connection is lost. */
    private void loseAfterMessages() throws Exception {
        Future<Channel> connecting = connects(HEALS);
        Wire.Claim claim = comes();
        assertThat(claim.resumes()).isFalse();
        assertThat(claim.own()).as("of a node without paths").isEqualTo(Wire.Place.ONE);
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
        assertThat(channel.statistics().reconnects()).isZero();
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
        assertServerThatGreetsHasTheChannel();
    }

    @Test
    void serverThatDoesNotGreetIsTriedAgain() throws Exception {
        loseAfterMessages();
        assertThat(comes().id()).isEqualTo(id);
        assertServerThatGreetsHasTheChannel();
    }

    private void assertServerThatGreetsHasTheChannel() throws Exception {
        peer.greet(new Wire.Claim(true, id, Wire.Place.ONE), 1, 1, 2);
        NodePair.send(channel, 3);
        assertThat(peer.awaitMessage().kind()).isEqualTo(Wire.DATA);
        assertThat(peer.received().get(ValueLayout.JAVA_LONG_UNALIGNED, 0)).isEqualTo(3);
        peer.say(Wire.DATA, 1, 2, 3, Long.BYTES);
        NodePair.receive(channel);
        assertThat(channel.statistics().reconnects()).isEqualTo(1);
    }
}

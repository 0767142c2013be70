package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.internal.link.TcpCarrier;
import dev.verbena.internal.link.TcpMemory;
import dev.verbena.internal.link.TcpStream;
import dev.verbena.internal.link.Ways;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A connection over TCP step by step: the test is the thread that sends and receives. */
@Timeout(120)
class TcpStreamTest {
    private static final InetSocketAddress OWN = new InetSocketAddress("127.0.0.1", 0);
    private static final int LARGE = 16 << 20;

    private Engine engine = engine(NodeOptions.Progress.BACKGROUND);
    private TcpCarrier carrier = (TcpCarrier) engine.carrier;
    private ServerSocketChannel listener;
    private Session session;
    private TcpStream stream;

    /** The peer that {@link #accept} has connected. */
    private TcpPeer peer;

    @BeforeEach
    void listen() throws IOException {
        listener = ServerSocketChannel.open().bind(OWN);
        listener.configureBlocking(false);
    }

    @AfterEach
    void close() throws IOException {
        if (peer != null) {
            peer.close();
        }
        listener.close();
        engine.close();
    }

    private static Engine engine(NodeOptions.Progress progress) {
        return new Engine(
                OWN, NodePair.SMALL.transport(Transport.TCP).progress(progress).closeTimeout(TcpTest.SHORT));
    }

    /** Has threads of the program do the carrier's work, which puts acknowledgements off. */
    private void useCaller() {
        engine.close();
        engine = engine(NodeOptions.Progress.CALLER);
        carrier = (TcpCarrier) engine.carrier;
    }

    /** Handles what there is, and hands it to the channels. */
    private void turn() throws IOException {
        carrier.turn(TcpCarrier.NOW);
        carrier.poll();
    }

    private void turnUntil(String what, Await.Condition condition) throws Exception {
        long end = System.nanoTime() + DEADLINE.toNanos();
        turn();
        while (!condition.holds()) {
            assertThat(System.nanoTime() - end).as("waited in vain: %s", what).isNegative();
            turn();
        }
    }

    private InetSocketAddress listening() throws IOException {
        return (InetSocketAddress) listener.getLocalAddress();
    }

    /** Begins to connect a channel. */
    private void begin(InetSocketAddress peer, boolean asks) {
        begin(engine.enterToConnect(peer), asks);
    }

    private void begin(Session made, boolean asks) {
        session = made;
        carrier.connect(session.rail, new Ways.Way(0, session.peer), asks);
        stream = (TcpStream) session.rail.connection();
    }

    /** Connects a channel to the listener, which has got this side's first bytes. */
    private SocketChannel connect(boolean asks) throws Exception {
        begin(listening(), asks);
        turn();
        SocketChannel accepted = listener.accept();
        turnUntil(
                "the first bytes have come",
                () -> accepted.socket().getInputStream().available()
                        == TcpFrame.BYTES + Wire.HEADER_BYTES + Wire.GREETING_BYTES);
        return accepted;
    }

    /** Connects a peer, whose channel is open. The node has no request under way. */
    private void accept() throws Exception {
        peer = new TcpPeer(engine.address);
        peer.greet(TcpTest.WINDOW);
        turnUntil("the channel is open", () -> {
            Channel channel = engine.takeAccepted();
            session = channel == null ? null : channel.session();
            return session != null;
        });
        stream = (TcpStream) session.rail.connection();
        turn();
        peer.await(TcpFrame.SEND);
        peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1);
        turnUntil("the greeting is acknowledged", () -> session.toString().contains(" 0 under way"));
    }

    /** Writes to the peer as much as the socket takes. */
    private LocalMemory write(int size) throws IOException {
        LocalMemory local = memory(size);
        session.channel.tryWrite(local, new RemoteMemory(8, 1, size));
        turn();
        return local;
    }

    /** Reads from a peer, of whose answer the first byte has come. Returns the memory. */
    private LocalMemory beginLargeRead() throws Exception {
        LocalMemory local = memory(LARGE);
        session.channel.tryRead(local, new RemoteMemory(8, 1, LARGE));
        turn();
        peer.await(TcpFrame.READ);
        peer.frame(TcpFrame.DATA, frame -> frame.length = LARGE);
        peer.write((byte) 1);
        turnUntil("the first byte has come", () -> local.segment().get(ValueLayout.JAVA_BYTE, 0) == 1);
        return local;
    }

    private boolean isClosed() {
        return stream.hasLeft(-1); // a time before that at which it closes by itself
    }

    private LocalMemory memory(int size) {
        return carrier.register(session.arena.allocate(size), List.of(AccessFlag.LOCAL_WRITE), session.arena)
                .slice(0, size);
    }

    // The end

    @Test
    void channelThatWasGivenUpDoesNotConnect() throws Exception {
        session = engine.enterToConnect(listening());
        try (Selector selector = Selector.open()) {
            TcpStream late = new TcpStream(carrier, TcpMemory.create(session.arena), session.rail, false);
            late.disconnect();
            turn();
            late.connect(OWN, OWN, selector);
            assertThat(selector.keys()).isEmpty();
        }
        session.beginClose();
        session.release(false);
        begin(session, false);
        turn();
        assertThat(listener.accept()).isNull();
    }

    @Test
    void connectionThatThePeerHasClosedIsClosedAtOnce() throws Exception {
        connect(false).close();
        stream.disconnect();
        turn();
        assertThat(isClosed()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"127.0.0.1, true", "255.255.255.255, false"})
    void connectionThatIsRefusedIsClosed(String host, boolean later) throws Exception {
        int port = listening().getPort();
        listener.close();
        begin(new InetSocketAddress(host, port), false);
        turn();
        assertThat(isClosed()).isEqualTo(!later);
        turnUntil("it is refused", () -> session.cause() != null);
        assertThat(session.cause().reason()).isEqualTo(EndReason.UNREACHABLE);
        assertThat(!later || session.cause().getMessage().contains("refused")).isTrue();
        assertThat(isClosed()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void connectionThatThePeerClosesIsClosed(boolean withinLargeData) throws Exception {
        accept();
        if (withinLargeData) {
            beginLargeRead();
        }
        peer.close();
        turnUntil("the end has come", () -> session.cause() != null);
        assertThat(session.cause()).hasMessageContaining("The peer has closed the connection");
        assertThat(session.cause().reason()).isEqualTo(EndReason.LOST);
        assertThat(isClosed()).isTrue();
    }

    /** A connection that is closed loses what the peer has not read. */
    @Test
    void connectionThatIsLeftStaysForASecond() throws Exception {
        accept();
        long before = System.nanoTime();
        stream.disconnect();
        turn();
        long after = System.nanoTime();
        assertThat(stream.hasLeft(before + 1_000_000_000)).isFalse();
        peer.awaitEnd();
        stream.disconnect(); // changes nothing
        turn();
        assertThat(stream.hasLeft(after + 1_000_000_001)).isTrue();
    }

    @Test
    void requestThatHasBegunIsSentWholeAndNoOther() throws Exception {
        accept();
        write(LARGE);
        session.channel.tryWrite(memory(8), new RemoteMemory(8, 1, 8));
        stream.disconnect();
        turn();
        peer.socket.setSoTimeout(1);
        long[] came = {0};
        byte[] part = new byte[1 << 16];
        turnUntil("this side has ended", () -> {
            try {
                int found = peer.socket.getInputStream().read(part);
                came[0] += Math.max(found, 0);
                return found < 0;
            } catch (SocketTimeoutException later) {
                return false;
            }
        });
        assertThat(came[0]).isEqualTo(TcpFrame.BYTES + LARGE);
    }

    @Test
    void dataThatComesAfterTheEndChangesNoMemory() throws Exception {
        accept();
        LocalMemory local = beginLargeRead();
        stream.disconnect();
        turn();
        peer.write((byte) 2);
        turn();
        assertThat(local.segment().get(ValueLayout.JAVA_BYTE, 1)).isZero();
    }

    @Test
    void requestThatWasPostedBeforeTheNodeClosedIsSent() throws Exception {
        accept();
        session.channel.tryWrite(memory(8), new RemoteMemory(8, 1, 8));
        carrier.close();
        assertThat(peer.await(TcpFrame.WRITE).length).isEqualTo(8);
        peer.awaitEnd();
    }

    @Test
    void messageIntoMemoryThatIsGoneIsDropped() throws Exception {
        accept();
        peer.frame(TcpFrame.SEND, frame -> {
            frame.length = Wire.HEADER_BYTES + 8;
        });
        turn();
        peer.write(new byte[Wire.HEADER_BYTES + 8]);
        peer.message(Wire.DATA, 0, 0);
        assertIsDropped();
    }

    @Test
    void numberIntoMemoryThatIsGoneIsDropped() throws Exception {
        accept();
        session.channel.tryFetchAndAdd(new RemoteMemory(8, 1, 8), 1);
        turn();
        peer.await(TcpFrame.FETCH_AND_ADD);
        peer.frame(TcpFrame.VALUE, frame -> frame.first = 1);
        peer.message(Wire.DATA, 0, 0);
        assertIsDropped();
    }

    @Test
    void largeDataIntoMemoryThatIsGoneIsDropped() throws Exception {
        accept();
        beginLargeRead();
        peer.write(new byte[1 << 14]);
        assertIsDropped();
    }

    /** A request of which a part is sent can't be finished any more. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void requestOfMemoryThatIsGoneEndsTheChannel(boolean peerReads) throws Exception {
        accept();
        LocalMemory local = write(LARGE);
        local.region().close();
        if (!peerReads) { // only this side's program moves
            session.channel.tryWrite(memory(8), new RemoteMemory(8, 1, 8));
        }
        turnUntil("the end has come", () -> {
            if (peerReads) {
                peer.read(peer.socket.getInputStream().available());
            }
            return session.cause() != null;
        });
        assertThat(session.cause()).hasMessageContaining("deregistered while it was sent");
        assertThat(isClosed()).isTrue();
    }

    /** The answers fill the socket, and this side goes on with what else it has to do. */
    @Test
    void peerThatAsksAndReadsNoAnswerEndsItsChannel() throws Exception {
        accept();
        int[] asked = {0};
        turnUntil("the end has come", () -> {
            asked[0]++;
            peer.atOnce(all -> {
                for (int i = 0; i < TcpFrame.MAX_READS / 2; i++) {
                    all.frame(TcpFrame.READ, frame -> {});
                }
            });
            return session.cause() != null;
        });
        assertThat(session.cause()).hasMessageContaining("reads and atomics under way");
        assertThat(asked[0]).isGreaterThan(1000); // the first ones were answered
    }

    // What is put off

    @Test
    void acknowledgementWaitsForTheNextWork() throws Exception {
        useCaller();
        accept();
        peer.message(Wire.DATA, 0, 0, (byte) 1);
        carrier.turn(DEADLINE.toMillis()); // until the message is there
        assertThat(peer.socket.getInputStream().available()).isZero();
        carrier.turn(TcpCarrier.NOW);
        peer.await(TcpFrame.ACKNOWLEDGEMENT);
    }

    @Test
    void acknowledgementBeforeAnAnswerDoesNotWait() throws Exception {
        useCaller();
        accept();
        peer.atOnce(all -> {
            all.message(Wire.DATA, 0, 0, (byte) 1);
            all.frame(TcpFrame.READ, frame -> {});
        });
        carrier.turn(DEADLINE.toMillis()); // until both are there
        peer.await(TcpFrame.ACKNOWLEDGEMENT);
        peer.await(TcpFrame.DATA);
    }

    /** The memory of the channel is gone before this thread sees what has come, and that the program has closed the channel. */
    private void assertIsDropped() throws IOException {
        session.beginClose();
        session.release(false);
        engine.release(session);
        turn();
        assertThat(isClosed()).isFalse();
        assertThat(peer.nextMessage().kind()).isEqualTo(Wire.GOODBYE);
        assertThat(peer.awaitEndOfBytes()).isZero();
    }

    // Signs of progress

    @Test
    void largeRequestThatIsBeingSentIsProgress() throws Exception {
        accept();
        write(8);
        assertThat(stream.takeProgress()).as("small").isFalse();
        write(LARGE);
        assertThat(stream.takeProgress()).as("large").isTrue();
        int[] inVain = {0};
        turnUntil("the peer reads nothing", () -> {
            inVain[0] = stream.takeProgress() ? 0 : inVain[0] + 1;
            return inVain[0] == 100;
        });
        write(8);
        assertThat(stream.takeProgress()).as("and the program posts more").isFalse();
        peer.await(TcpFrame.WRITE);
    }

    @Test
    void dataThatComesIsProgressAndAMessageIsNot() throws Exception {
        accept();
        peer.message(Wire.DATA, 0, 0, (byte) 1);
        turnUntil("the message has come", () -> session.messages.arrivedCount() == 1);
        assertThat(stream.takeProgress()).as("message").isFalse();
        session.channel.tryRead(memory(8), new RemoteMemory(8, 1, 8));
        turn();
        peer.await(TcpFrame.READ);
        peer.frame(TcpFrame.DATA, frame -> frame.length = 8);
        peer.write(new byte[4]);
        turnUntil("data is progress", stream::takeProgress);
        assertThat(stream.takeProgress()).as("data that was told").isFalse();
    }

    // Asking

    @ParameterizedTest(name = "asks: {0}")
    @ValueSource(booleans = {true, false})
    void channelThatIsToldToUseRdmaEnds(boolean asks) throws Exception {
        try (SocketChannel accepted = connect(asks)) {
            accepted.write(TcpFrame.goodbye(Wire.USE_RDMA));
            turnUntil("the answer has come", () -> session.cause() != null);
            assertThat(stream.isRedirected()).isEqualTo(asks);
            assertThat(!asks || session.cause().reason() == EndReason.UNREACHABLE)
                    .isTrue();
        }
    }

    @Test
    void channelThatAsksAndIsGivenUpIsClosed() throws Exception {
        SocketChannel accepted = connect(true);
        session.beginClose();
        session.release(false);
        turn();
        accepted.close();
        turnUntil("the connection is closed", this::isClosed);
    }

    @Test
    void channelThatAsksAndLacksMemoryFails() {
        Session lacking = new Session(engine, 0, OWN, false);
        lacking.arena.close();
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> carrier.connect(lacking.rail, new Ways.Way(0, lacking.peer), true));
    }
}

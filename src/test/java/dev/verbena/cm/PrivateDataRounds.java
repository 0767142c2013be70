package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.CmAddress;
import dev.verbena.verbs.QueueCapabilities;
import java.util.Arrays;
import java.util.stream.IntStream;

/** Connections, each with private data of another size, which must arrive. */
final class PrivateDataRounds implements AutoCloseable {
    /** The sizes that InfiniBand has room for, less what the connection manager needs itself. */
    static final int MOST_OF_REQUEST = 56;

    static final int MOST_OF_REJECTION = 148;
    static final int MOST_OF_ACCEPTANCE = 196;
    static final int MOST_OF_DATAGRAM_REQUEST = 180;
    static final int MOST_OF_DATAGRAM_ANSWER = 136;

    private static final QueueCapabilities SIZES = QueueCapabilities.of(1, 1);

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final EventChannel channel = EventChannel.create(arena);
    private final boolean padded;

    /**
     * Makes an instance.
     *
     * @param padded whether the data arrives with zeros up to the largest size, in place of its own size
     */
    PrivateDataRounds(boolean padded) {
        this.padded = padded;
    }

    ConnectionId listening(PortSpace space) {
        ConnectionId id = channel.createId(space);
        id.bind(CmAddress.four(0));
        id.listen(4);
        return id;
    }

    /** Returns an id with a queue pair that is ready to connect. */
    ConnectionId client(PortSpace space, ConnectionId listener) throws InterruptedException {
        ConnectionId id = channel.createId(space);
        id.resolveAddress(listener.localAddress().orElseThrow(), DEADLINE);
        id.resolveRoute(DEADLINE);
        id.createQueuePair(SIZES);
        return id;
    }

    static ConnectionId claim(ConnectRequest request) {
        ConnectionId id = request.claim();
        id.createQueuePair(SIZES);
        return id;
    }

    static PrivateData data(int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            bytes[i] = (byte) (size + i);
        }
        return PrivateData.of(bytes);
    }

    static ConnectionParameters with(int size) {
        return ConnectionParameters.defaults().privateData(data(size));
    }

    private void assertArrived(PrivateData arrived, int sent, int most) {
        assertThat(arrived.toBytes()).isEqualTo(Arrays.copyOf(data(sent).toBytes(), padded ? most : sent));
    }

    private static void close(ConnectionId id) {
        id.queuePair().ifPresent(pair -> pair.close());
        id.close();
    }

    void requestsAndRejections(IntStream sizes) throws InterruptedException {
        ConnectionId listener = listening(PortSpace.TCP);
        for (int size : sizes.toArray()) {
            int asked = Math.min(size, MOST_OF_REQUEST);
            ConnectionId client = client(PortSpace.TCP, listener);
            client.beginConnect(with(asked));
            ConnectRequest request = listener.awaitRequest(DEADLINE);
            assertArrived(request.privateData(), asked, MOST_OF_REQUEST);
            request.reject(data(size));
            CmEvent.Rejected answer = (CmEvent.Rejected) client.awaitEvent(DEADLINE);
            assertArrived(answer.privateData(), size, MOST_OF_REJECTION);
            close(client);
        }
    }

    void acceptances(IntStream sizes) throws InterruptedException {
        ConnectionId listener = listening(PortSpace.TCP);
        for (int size : sizes.toArray()) {
            ConnectionId client = client(PortSpace.TCP, listener);
            client.beginConnect(ConnectionParameters.defaults());
            ConnectionId server = claim(listener.awaitRequest(DEADLINE));
            server.beginAccept(with(size));
            CmEvent.Connected answer = (CmEvent.Connected) client.awaitEvent(DEADLINE);
            assertArrived(answer.parameters().privateData(), size, MOST_OF_ACCEPTANCE);
            close(server);
            close(client);
        }
    }

    void datagramServices(IntStream sizes) throws InterruptedException {
        ConnectionId listener = listening(PortSpace.UDP);
        for (int size : sizes.toArray()) {
            int answered = Math.min(size, MOST_OF_DATAGRAM_ANSWER);
            ConnectionId client = client(PortSpace.UDP, listener);
            client.beginConnect(with(size));
            ConnectRequest request = listener.awaitRequest(DEADLINE);
            assertArrived(request.privateData(), size, MOST_OF_DATAGRAM_REQUEST);
            ConnectionId server = claim(request);
            server.beginAccept(with(answered));
            CmEvent.DatagramReady answer = (CmEvent.DatagramReady) client.awaitEvent(DEADLINE);
            assertArrived(answer.privateData(), answered, MOST_OF_DATAGRAM_ANSWER);
            close(server);
            close(client);
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}

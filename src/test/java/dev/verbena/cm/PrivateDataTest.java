package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.NotOnIwarp;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.QueueCapabilities;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Private data of every length that fits arrives, and none that does not fit is sent. */
@DeviceTest
@IwarpToo
class PrivateDataTest {
    private static final QueueCapabilities SIZES = QueueCapabilities.of(1, 1);

    private VerbsArena arena;
    private EventChannel channel;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        channel = EventChannel.create(arena);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private ConnectionId listening(PortSpace space) {
        ConnectionId id = channel.createId(space);
        id.bind(CmAddress.four(0));
        id.listen(4);
        return id;
    }

    private ConnectionId resolved(PortSpace space, ConnectionId listener) throws InterruptedException {
        ConnectionId id = channel.createId(space);
        id.resolveAddress(listener.localAddress().orElseThrow(), DEADLINE);
        id.resolveRoute(DEADLINE);
        return id;
    }

    private static PrivateData data(int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            bytes[i] = (byte) (size + i);
        }
        return PrivateData.of(bytes);
    }

    private static ConnectionParameters with(int size) {
        return ConnectionParameters.defaults().privateData(data(size));
    }

    /** Over iWARP it arrives as it was sent. */
    private static void assertArrived(PrivateData arrived, int sent, int most) {
        int padded = TestDevice.isIwarp() ? sent : most;
        assertThat(arrived.toArray()).isEqualTo(Arrays.copyOf(data(sent).toArray(), padded));
    }

    private static void close(ConnectionId id) {
        id.queuePair().ifPresent(pair -> pair.close());
        id.close();
    }

    @Test
    void privateDataOfRequestsAndRejectionsArrives() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        for (int size = 0; size <= 148; size++) {
            int asked = Math.min(size, 56);
            ConnectionId client = resolved(PortSpace.TCP, listener);
            client.createQueuePair(SIZES);
            client.beginConnect(with(asked));
            ConnectRequest request = listener.awaitRequest(DEADLINE);
            assertArrived(request.privateData(), asked, 56);
            request.reject(data(size));
            assertArrived(((CmEvent.Rejected) client.awaitEvent(DEADLINE)).privateData(), size, 148);
            close(client);
        }
    }

    @Test
    void privateDataOfAcceptancesArrives() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        for (int size = 0; size <= 196; size++) {
            ConnectionId client = resolved(PortSpace.TCP, listener);
            client.createQueuePair(SIZES);
            client.beginConnect(ConnectionParameters.defaults());
            ConnectionId server = listener.awaitRequest(DEADLINE).claim();
            server.createQueuePair(SIZES);
            server.beginAccept(with(size));
            assertArrived(
                    ((CmEvent.Connected) client.awaitEvent(DEADLINE))
                            .parameters()
                            .privateData(),
                    size,
                    196);
            close(server);
            close(client);
        }
    }

    @Test
    @NotOnIwarp("there are no datagrams")
    void privateDataOfDatagramServicesArrives() throws Exception {
        ConnectionId listener = listening(PortSpace.UDP);
        for (int size = 0; size <= 180; size++) {
            int answered = Math.min(size, 136);
            ConnectionId client = resolved(PortSpace.UDP, listener);
            client.createQueuePair(SIZES);
            client.beginConnect(with(size));
            ConnectRequest request = listener.awaitRequest(DEADLINE);
            assertArrived(request.privateData(), size, 180);
            ConnectionId server = request.claim();
            server.createQueuePair(SIZES);
            server.beginAccept(with(answered));
            assertArrived(((CmEvent.DatagramReady) client.awaitEvent(DEADLINE)).privateData(), answered, 136);
            close(server);
            close(client);
        }
    }

    @Test
    @NotOnIwarp("there is room for more private data")
    void privateDataBeyondTheLimitIsRefused() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        ConnectionId client = resolved(PortSpace.TCP, listener);
        client.createQueuePair(SIZES);
        assertThatThrownBy(() -> client.beginConnect(with(57)))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("57 bytes of private data");
        client.beginConnect(ConnectionParameters.defaults());
        ConnectionId server = listener.awaitRequest(DEADLINE).claim();
        server.createQueuePair(SIZES);
        assertThatThrownBy(() -> server.beginAccept(with(197)))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("197 bytes of private data");
        assertThatThrownBy(() -> server.reject(data(149)))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("149 bytes of private data");
    }
}

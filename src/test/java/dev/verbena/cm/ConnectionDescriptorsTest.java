package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.support.Resources;
import dev.verbena.verbs.QueueCapabilities;
import org.junit.jupiter.api.Test;

/** The number of descriptors that connections need on a device. */
@DeviceTest
@IwarpToo
class ConnectionDescriptorsTest {
    private static final int CONNECTIONS = 5;
    private static final ConnectionResources SMALL = ConnectionResources.of(QueueCapabilities.of(4, 4));

    @Test
    void connectionsNeedNoDescriptorOfTheirOwn() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Listener listener = Listener.open(CmAddress.four(0), arena);
            connect(listener, arena); // opens what all share
            long before = OpenFileLimit.count();
            for (int i = 0; i < CONNECTIONS; i++) {
                connect(listener, arena);
            }
            assertThat(OpenFileLimit.count()).isEqualTo(before);
        }
        assertThat(Resources.ofThisProcess()).isEmpty();
    }

    private static void connect(Listener listener, VerbsArena arena) throws InterruptedException {
        Connection client = Connection.to(listener.address(), DEADLINE, SMALL, arena);
        client.id().beginConnect(ConnectionParameters.defaults());
        Connection server = listener.awaitConnection(DEADLINE, SMALL, arena);
        server.id().beginAccept(ConnectionParameters.defaults());
        assertThat(client.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
        assertThat(server.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
    }
}

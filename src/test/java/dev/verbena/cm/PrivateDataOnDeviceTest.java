package dev.verbena.cm;

import static dev.verbena.cm.PrivateDataRounds.MOST_OF_ACCEPTANCE;
import static dev.verbena.cm.PrivateDataRounds.MOST_OF_DATAGRAM_ANSWER;
import static dev.verbena.cm.PrivateDataRounds.MOST_OF_DATAGRAM_REQUEST;
import static dev.verbena.cm.PrivateDataRounds.MOST_OF_REJECTION;
import static dev.verbena.cm.PrivateDataRounds.MOST_OF_REQUEST;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.IwarpToo.NotOnIwarp;
import dev.verbena.support.TestDevice;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/**
 * Private data arrives over a device, padded if that is InfiniBand's, and none that does not fit is sent. Each size is tested
 * on the provider.
 */
@DeviceTest
@IwarpToo
class PrivateDataOnDeviceTest {
    @AutoClose
    private final PrivateDataRounds rounds = new PrivateDataRounds(!TestDevice.isIwarp());

    @Test
    void privateDataOfRequestsAndRejectionsArrives() throws Exception {
        rounds.requestsAndRejections(
                IntStream.of(0, 1, MOST_OF_REQUEST / 2, MOST_OF_REQUEST, MOST_OF_REJECTION / 2, MOST_OF_REJECTION));
    }

    @Test
    void privateDataOfAcceptancesArrives() throws Exception {
        rounds.acceptances(IntStream.of(0, 1, MOST_OF_ACCEPTANCE / 2, MOST_OF_ACCEPTANCE));
    }

    @Test
    @NotOnIwarp("there are no datagrams")
    void privateDataOfDatagramServicesArrives() throws Exception {
        rounds.datagramServices(
                IntStream.of(0, 1, MOST_OF_DATAGRAM_ANSWER / 2, MOST_OF_DATAGRAM_ANSWER, MOST_OF_DATAGRAM_REQUEST));
    }

    @Test
    @NotOnIwarp("there is room for more private data")
    void privateDataBeyondTheLimitIsRefused() throws Exception {
        ConnectionId listener = rounds.listening(PortSpace.TCP);
        ConnectionId client = rounds.client(PortSpace.TCP, listener);
        assertThatThrownBy(() -> client.beginConnect(PrivateDataRounds.with(MOST_OF_REQUEST + 1)))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("57 bytes of private data");
        client.beginConnect(ConnectionParameters.defaults());
        ConnectionId server = PrivateDataRounds.claim(listener.awaitRequest(DEADLINE));
        assertThatThrownBy(() -> server.beginAccept(PrivateDataRounds.with(MOST_OF_ACCEPTANCE + 1)))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("197 bytes of private data");
        assertThatThrownBy(() -> server.reject(PrivateDataRounds.data(MOST_OF_REJECTION + 1)))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("149 bytes of private data");
    }
}

package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.IwarpToo.NotOnIwarp;
import dev.verbena.support.Resources;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests what becomes of connections on a device when their peer leaves. {@code KilledPeerTest} has peers that are killed. */
@DeviceTest
@IwarpToo
class ConnectionEndTest extends ConnectionEnds {
    private static final int EARLY_PEERS = 3;

    ConnectionEndTest() {
        super(CmAddress.four(0));
    }

    private static List<String> resources() throws IOException {
        return Resources.ofThisProcess().stream()
                .filter(entry -> !entry.startsWith("cm_id"))
                .toList();
    }

    @Test
    @NotOnIwarp("a peer that leaves is seen in other ways")
    void peersThatLeaveEarlyLeaveNothingBehind() throws Exception {
        List<String> before = resources();
        for (int i = 0; i < EARLY_PEERS; i++) {
            ends.requesting().close();
            assertThatExceptionOfType(ConnectionException.class)
                    .isThrownBy(() -> listener.accept(DEADLINE))
                    .withMessageContaining("peer");
        }
        assertThat(resources()).isEqualTo(before);
        connected(); // the listener goes on
    }
}

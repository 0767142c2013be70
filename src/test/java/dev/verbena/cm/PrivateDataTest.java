package dev.verbena.cm;

import dev.verbena.support.FencedTest;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Private data of every size that fits arrives. The provider for tests delivers it as it was sent. */
@FencedTest
class PrivateDataTest {
    @AutoClose
    private final PrivateDataRounds rounds = new PrivateDataRounds(false);

    private static IntStream upTo(int most) {
        return IntStream.rangeClosed(0, most);
    }

    @Test
    void privateDataOfRequestsAndRejectionsArrives() throws Exception {
        rounds.requestsAndRejections(upTo(PrivateDataRounds.MOST_OF_REJECTION));
    }

    @Test
    void privateDataOfAcceptancesArrives() throws Exception {
        rounds.acceptances(upTo(PrivateDataRounds.MOST_OF_ACCEPTANCE));
    }

    @Test
    void privateDataOfDatagramServicesArrives() throws Exception {
        rounds.datagramServices(upTo(PrivateDataRounds.MOST_OF_DATAGRAM_REQUEST));
    }
}

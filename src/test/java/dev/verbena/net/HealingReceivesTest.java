package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Messages that the program closes while the channel connects again. */
@FencedTest
@Timeout(120)
class HealingReceivesTest {
    private final NodePair nodes = new NodePair(NodePair.SMALL.heal(DEADLINE));

    @AfterEach
    void close() {
        nodes.close();
    }

    /** The connection has a queue pair already, to which all receives are posted when the peer has accepted. */
    @Test
    void messageThatIsClosedDuringAnAttemptIsPostedOnce() throws Exception {
        NodePair.Ends ends = nodes.connect();
        NodePair.send(ends.server(), 1);
        NodePair.send(ends.server(), 2);
        Message first = ends.client().receive(DEADLINE);
        Message second = ends.client().receive(DEADLINE);
        long before = Fenced.calls("rdma_connect");
        Fenced.stop("rdma_accept");
        try {
            HealTest.cut(ends.client());
            Await.until("an attempt", () -> Fenced.calls("rdma_connect") > before);
            first.close();
        } finally {
            Fenced.goOn("rdma_accept");
        }
        HealTest.awaitPath(ends);
        second.close();
        for (long i = 0; i < 100; i++) {
            NodePair.send(ends.server(), i);
            assertThat(NodePair.receive(ends.client())).isEqualTo(i);
        }
        ends.client().close();
        ends.server().close();
    }
}

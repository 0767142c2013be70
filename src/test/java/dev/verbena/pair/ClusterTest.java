package dev.verbena.pair;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A cluster of Hazelcast, which knows nothing of RDMA, whose two members are on two machines. */
@PairTest
class ClusterTest {
    private static final int LENGTH = 500_000;
    private static final int PACKET = 1024;

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    private static void awaitSize(ClusterProcess member, int size) {
        Await.until("a cluster of " + size, () -> member.ask("size").equals("" + size));
    }

    @Test
    void membersShareAMapOverRdmaAndNoticeAKilledOne() throws Exception {
        Conversation peer = laboratory.start(ClusterEnd.class);
        try (ClusterProcess member = new ClusterProcess().started()) {
            assertThat(peer.next()).isEqualTo("started");
            awaitSize(member, 2);
            assertThat(peer.ask("size")).isEqualTo("2");

            String large = "x".repeat(LENGTH);
            long before = Laboratory.counter("sent_pkts");
            assertThat(member.ask("put key " + large)).isEqualTo("null");
            assertThat(peer.ask("get key")).isEqualTo(large);
            assertThat(peer.ask("put key short")).isEqualTo(large);
            assertThat(member.ask("get key")).isEqualTo("short");
            assertThat(Laboratory.counter("sent_pkts") - before)
                    .as("packets of this guest's device, of at most %s bytes", PACKET)
                    .isGreaterThan(LENGTH / PACKET);
            assertThat(member.ask("tcp")).isEqualTo("0");

            assertThat(peer.ask(ClusterEnd.KILL)).isEqualTo("killed");
            awaitSize(member, 1);
            assertThat(member.ask("get key")).as("the backup").isEqualTo("short");
        }
        peer.end();
    }
}

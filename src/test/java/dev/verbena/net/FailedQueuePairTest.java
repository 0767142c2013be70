package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.PostException;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sends of a queue pair that has failed: some drivers refuse them, and others take and flush them. */
@FencedTest
class FailedQueuePairTest {
    @AfterEach
    void giveBackTheDriver() {
        Fenced.driverAsStarted();
    }

    /** Fails the queue pair, and sends before the node can handle the flushed receives, which needs the lock. */
    private static void sendAfterFailure(Channel channel, long number) throws InterruptedException {
        Message message = channel.message(DEADLINE).length(Long.BYTES);
        message.segment().set(ValueLayout.JAVA_LONG, 0, number);
        QueuePair pair = channel.queuePair();
        try (var _ = channel.session().lock.held()) {
            pair.fail();
            assertThat(channel.trySend(message)).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"mana", "erdma", "mlx5"})
    void sendIsLostWithTheChannel(String driver) throws Exception {
        Fenced.driver(driver);
        try (NodePair nodes = new NodePair(SMALL)) {
            NodePair.Ends ends = nodes.connect();
            sendAfterFailure(ends.client(), 7);
            assertThat(catchThrowable(() -> ends.client().receive(DEADLINE)))
                    .isInstanceOfSatisfying(
                            ChannelException.class,
                            end -> assertThat(end.reason()).isEqualTo(EndReason.LOST));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"mana", "erdma", "mlx5"})
    void sendArrivesOverTheNextConnectionOfAChannelThatHeals(String driver) throws Exception {
        Fenced.driver(driver);
        try (NodePair nodes = new NodePair(SMALL.heal(DEADLINE))) {
            NodePair.Ends ends = nodes.connect();
            Future<Long> received = nodes.start(() -> NodePair.receive(ends.server()));
            sendAfterFailure(ends.client(), 7);
            HealTest.awaitPath(ends);
            assertThat(NodePair.end(received)).isEqualTo(7);
        }
    }

    /** The driver does not tell whether the queue pair has failed. */
    @Test
    void refusalForLackOfRoomLeavesTheChannelOpenOverMana() throws Exception {
        Fenced.driver("mana");
        try (NodePair nodes = new NodePair(SMALL)) {
            NodePair.Ends ends = nodes.connect();
            Fenced.fail("ibv_post_send", 1, Errno.ENOMEM);
            assertThat(catchThrowable(() -> NodePair.send(ends.client(), 7))).isInstanceOf(PostException.class);
            NodePair.send(ends.client(), 8);
            assertThat(NodePair.receive(ends.server())).isEqualTo(8);
        }
    }
}

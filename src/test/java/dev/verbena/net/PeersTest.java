package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.Await;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** Two nodes that are not connected, and peers that are no nodes. */
@Timeout(120)
abstract class PeersTest {
    static final int WINDOW = NodePair.SMALL.window();
    static final Duration SHORT = Duration.ofMillis(50);

    NodePair nodes;

    /** The channel of the peer that the server has accepted last. */
    Channel channel;

    private final List<Peer> peers = new CopyOnWriteArrayList<>();

    /** Has a peer leave when the test ends, or before the node is asked whether it goes on. */
    final <P extends Peer> P leavesLater(P peer) {
        peers.add(peer);
        return peer;
    }

    final void leave() throws IOException {
        for (Peer each : peers) {
            each.close();
        }
        peers.clear();
    }

    @BeforeEach
    void open() {
        use(NodePair.SMALL);
    }

    void use(NodeOptions options) {
        if (nodes != null) {
            nodes.close();
        }
        nodes = new NodePair(options);
    }

    @AfterEach
    void close() throws IOException {
        leave();
        nodes.close();
    }

    final boolean hasForgottenAll() {
        return nodes.server.toString().matches(".*\\(0 of .*, 0 waiting\\)");
    }

    /** Takes all messages of a channel up to its end, and returns the cause of that. */
    static ChannelException endOfMessages(Channel channel) {
        return assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> {
                    while (true) {
                        channel.receive(DEADLINE).close();
                    }
                })
                .actual();
    }

    /** The bad peers leave. The node serves others, and no channel is left of them. */
    final void assertGoesOn() throws Exception {
        leave();
        if (channel != null) {
            channel.close();
        }
        Await.until("the node has forgotten the peer", this::hasForgottenAll);
        honest();
    }

    /** Connects the nodes, between which a message arrives. */
    final NodePair.Ends honest() throws Exception {
        NodePair.Ends ends = nodes.connect();
        NodePair.send(ends.client(), 5);
        assertThat(NodePair.receive(ends.server())).isEqualTo(5);
        return ends;
    }
}

package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import java.time.Duration;
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
    void close() {
        nodes.close();
    }

    final boolean hasForgottenAll() {
        return nodes.server.toString().matches(".*\\(0 of .*, 0 waiting\\)");
    }

    /** The node serves others, and no channel is left of the bad peer. */
    final void assertGoesOn() throws Exception {
        Await.until("the node has forgotten the peer", this::hasForgottenAll);
        NodePair.Ends ends = nodes.connect();
        NodePair.send(ends.client(), 5);
        assertThat(NodePair.receive(ends.server())).isEqualTo(5);
    }
}

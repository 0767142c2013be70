package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Fenced;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** Two nodes and a channel between them, of which nothing is left afterwards. */
@Timeout(120)
abstract class ConnectedTest {
    private final NodeOptions ofClient;
    private final NodeOptions ofServer;
    private int live;
    NodePair nodes;
    NodePair.Ends ends;

    ConnectedTest() {
        this(SMALL, SMALL);
    }

    ConnectedTest(NodeOptions ofClient, NodeOptions ofServer) {
        this.ofClient = ofClient;
        this.ofServer = ofServer;
    }

    @BeforeEach
    void open() throws Exception {
        live = Fenced.liveObjects();
        use(ofClient, ofServer);
    }

    final void use(NodeOptions both) throws Exception {
        use(both, both);
    }

    /** Opens other nodes, and connects them. */
    final void use(NodeOptions changedClient, NodeOptions changedServer) throws Exception {
        pair(changedClient, changedServer);
        ends = nodes.connect();
    }

    final void pair(NodeOptions both) {
        pair(both, both);
    }

    /** Opens other nodes. */
    final void pair(NodeOptions changedClient, NodeOptions changedServer) {
        if (nodes != null) {
            nodes.close();
        }
        nodes = new NodePair(changedClient, changedServer);
    }

    @AfterEach
    void close() {
        nodes.close();
        assertThat(Fenced.liveObjects()).isEqualTo(live);
    }
}

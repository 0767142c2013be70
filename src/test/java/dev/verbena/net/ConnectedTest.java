package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Fenced;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** Two nodes and a channel between them, of which nothing is left afterwards. */
@Timeout(120)
abstract class ConnectedTest {
    static final Duration SHORT = Duration.ofMillis(20);

    /** The options of a node that makes no progress by itself, also while the other one closes. */
    static final NodeOptions CALLER =
            SMALL.progress(NodeOptions.Progress.CALLER).closeTimeout(SHORT);

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

    /** Makes a request with a number. */
    static Message request(Channel on, long number) throws InterruptedException {
        Message request = on.message(DEADLINE).length(Long.BYTES);
        request.segment().set(ValueLayout.JAVA_LONG, 0, number);
        return request;
    }

    static long number(Message message) {
        return message.segment().get(ValueLayout.JAVA_LONG, 0);
    }

    /** Makes a call with a number, waits for the reply, and returns its number. */
    static long call(Channel on, long number) throws InterruptedException {
        try (Message reply = on.call(request(on, number), DEADLINE)) {
            return number(reply);
        }
    }

    /** Answers a request with the number that is one larger. */
    static void answer(Message request) {
        answer(request, number(request) + 1);
    }

    static void answer(Message request, long number) {
        Message reply = request.reply().length(Long.BYTES);
        reply.segment().set(ValueLayout.JAVA_LONG, 0, number);
        reply.send();
    }

    /** Receives requests, and answers each with the number that is one larger. */
    static void serve(Channel on, int requests) throws InterruptedException {
        for (int i = 0; i < requests; i++) {
            try (Message request = on.receive(DEADLINE)) {
                answer(request);
            }
        }
    }

    /** Sends as many numbers as the peer may leave unreceived. */
    static void fillWindow(Channel on) throws InterruptedException {
        for (int i = 0; i < SMALL.window(); i++) {
            NodePair.send(on, i);
        }
    }

    /** Receives the numbers of a full window. */
    static void emptyWindow(Channel on) throws InterruptedException {
        for (int i = 0; i < SMALL.window(); i++) {
            assertThat(NodePair.receive(on)).isEqualTo(i);
        }
    }

    /** Makes a set that tells objects apart whatever they equal. */
    static Set<Object> identities() {
        return Collections.newSetFromMap(new IdentityHashMap<>());
    }

    /** The program has all messages that a channel can lend it, and so none was lost. */
    static void assertAllIsFree(Channel channel) throws InterruptedException {
        List<Message> all = new ArrayList<>();
        for (int i = 0; i < SMALL.sends(); i++) {
            all.add(channel.message(DEADLINE));
        }
        assertThat(channel.pollMessage()).isNull();
        all.forEach(Message::close);
    }

    @AfterEach
    void close() {
        nodes.close();
        assertThat(Fenced.liveObjects()).isEqualTo(live);
    }
}

package dev.verbena.pair;

import java.io.BufferedReader;
import java.io.IOException;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A stock grpc-java: a server in the other guest, which is killed and started again, and a client here. */
@EngineTest
class GrpcTest {
    private static final int CALLS = Integer.getInteger("dev.verbena.grpc.calls", 200);

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    @ParameterizedTest
    @ValueSource(strings = {"rdma", "provider", "tcp"}) // in this order: TCP's sockets stay for a minute
    void callsAndStreamsEndAsTheyShouldAndOutliveTheServer(String way) throws Exception {
        Conversation peer = laboratory.start(EngineEnd.class).within(Engine.LIMIT);
        peer.say("grpc");
        peer.say(way);
        start(peer, way);
        try (Engine engine = new Engine("grpc", way)) {
            BufferedReader client =
                    engine.read("Calls", "client", way, "" + CALLS).inputReader();
            Engine.printUntil("calling", client);
            peer.ask("destroy");
            start(peer, way);
            Engine.printUntil("done", client);
            engine.checkWay(Long.parseLong(peer.ask("tcp")), CALLS);
        }
        peer.end();
    }

    private static void start(Conversation peer, String way) throws IOException {
        peer.ask("start Calls server " + way);
        peer.ask("await serving");
    }
}

package dev.verbena.pair;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.sockets.Preload;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A stock Lettuce here, and a stock Redis in the other guest, which is killed and started again. Over RDMA the server runs under
 * {@code librspreload.so}, which needs rdma-core 65: {@code scripts/test --long --root sid --kernel 7.2 Lettuce}.
 */
@EngineTest
class LettuceTest {
    private static final int COMMANDS = Integer.getInteger("dev.verbena.lettuce.commands", 500);
    private static final String SERVER = "preload redis-server src/test/engines/redis.conf";

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    @ParameterizedTest
    @ValueSource(strings = {"rdma", "tcp"}) // in this order: TCP's sockets stay for a minute
    void commandsOutliveTheServer(String way) throws Exception {
        assumeTrue(Files.exists(Path.of("/usr/bin/redis-server")), "redis-server is not installed");
        assumeTrue(Preload.wraps("epoll_wait"), "librspreload.so of this rdma-core does not know epoll");
        Conversation peer = laboratory.start(EngineEnd.class).within(Engine.LIMIT);
        peer.say("lettuce");
        peer.say(way);
        peer.ask(SERVER);
        try (Engine engine = new Engine("lettuce", way)) {
            BufferedReader client = engine.read("Keys", "" + COMMANDS).inputReader();
            Engine.printUntil("calling", client);
            peer.ask("destroy");
            peer.ask(SERVER);
            Engine.printUntil("done", client);
            engine.checkWay(Long.parseLong(peer.ask("tcp")), COMMANDS);
        }
        peer.end();
    }
}

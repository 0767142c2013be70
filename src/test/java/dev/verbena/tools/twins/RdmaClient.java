package dev.verbena.tools.twins;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.io.PrintStream;
import java.net.InetSocketAddress;

/** Sends one message and receives the answer: the shortest client. Interoperates with {@code rdma_server}. */
final class RdmaClient {
    private static final String USAGE = """
            usage: verbena rdma_client [-s SERVER] [-p PORT]
              -s SERVER  server's address (default: 127.0.0.1, which few RDMA devices have)
              -p PORT    port (default: 7471)""";

    private final Options options;
    private final PrintStream out;
    private final int port;

    private RdmaClient(String[] args, PrintStream out) {
        options = Options.parse(args, USAGE, 0);
        port = options.number("-p", RdmaServer.PORT, 1, 65_535);
        this.out = out;
    }

    static int run(String[] args, PrintStream out) throws Exception {
        return new RdmaClient(args, out).run();
    }

    int run() throws Exception {
        out.println("rdma_client: start");
        InetSocketAddress address = new InetSocketAddress(options.text("-s", "127.0.0.1"), port);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Connection server = Connection.to(address, Tool.PATIENCE, RdmaServer.RESOURCES, arena);
            MemoryRegion answer = server.register(arena.allocate(RdmaServer.SIZE), AccessFlag.LOCAL_WRITE);
            server.queuePair().postReceive(1, answer);
            server.connect(Tool.PATIENCE);
            server.queuePair().postSendInline(2, arena.allocate(RdmaServer.SIZE));
            server.completionQueue().await(Tool.PATIENCE).orThrow();
            server.completionQueue().await(Tool.PATIENCE).orThrow();
            server.id().disconnect(Tool.PATIENCE);
        }
        out.println("rdma_client: end 0");
        return 0;
    }
}

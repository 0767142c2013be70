package dev.verbena.tools.twins;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import java.io.PrintStream;
import java.net.InetSocketAddress;

/** Receives one message and answers it: the shortest server. Interoperates with {@code rdma_client}. */
final class RdmaServer {
    static final int PORT = 7471;

    /** Length of the message in bytes. */
    static final int SIZE = 16;

    static final ConnectionResources RESOURCES =
            ConnectionResources.of(QueueCapabilities.of(1, 1).inlineSize(SIZE));

    private static final String USAGE = """
            usage: verbena rdma_server [-s ADDRESS] [-p PORT]
              -s ADDRESS  address to listen on (default: any)
              -p PORT     port (default: 7471)""";

    private final Options options;
    private final PrintStream out;
    private final int port;

    private RdmaServer(String[] args, PrintStream out) {
        options = Options.parse(args, USAGE, 0);
        port = options.number("-p", PORT, 0, 65_535);
        this.out = out;
    }

    static int run(String[] args, PrintStream out) throws Exception {
        return new RdmaServer(args, out).run();
    }

    int run() throws Exception {
        out.println("rdma_server: start");
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Listener listener = Listener.open(
                    options.has("-s")
                            ? new InetSocketAddress(options.text("-s", ""), port)
                            : new InetSocketAddress(port),
                    arena);
            Connection client = listener.awaitConnection(Tool.FOR_EVER, RESOURCES, arena);
            MemoryRegion message = client.register(arena.allocate(SIZE), AccessFlag.LOCAL_WRITE);
            client.queuePair().postReceive(1, message);
            client.accept(Tool.PATIENCE);
            client.completionQueue().await(Tool.PATIENCE).orThrow();
            client.queuePair().postSendInline(2, arena.allocate(SIZE));
            client.completionQueue().await(Tool.PATIENCE).orThrow();
            client.id().disconnect(Tool.PATIENCE);
        }
        out.println("rdma_server: end 0");
        return 0;
    }
}

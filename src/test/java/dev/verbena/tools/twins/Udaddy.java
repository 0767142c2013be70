package dev.verbena.tools.twins;

import dev.verbena.cm.CmEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import java.io.PrintStream;
import java.net.SocketAddress;

/**
 * Looks up a datagram service by address and sends datagrams both ways. The client sends first; each datagram contains
 * the number of the queue pair for the answer. Interoperates with {@code udaddy} of rdma-core.
 */
final class Udaddy extends CmTool {
    private static final String USAGE = """
            usage: verbena udaddy [-s SERVER] [-b ADDRESS] [-f FORMAT] [-P SPACE]
                     [-c COUNT] [-C COUNT] [-S SIZE] [-t TOS] [-p SPACE]
              -s SERVER   send to this server; without -s, serve
              -b ADDRESS  local address (server's default: any)
              -f FORMAT   format of the addresses: name, ip, ipv6 or gid (default: name,
                          which also takes ip and ipv6)
              -P SPACE    port space: udp or ipoib (default: udp)
              -c COUNT    number of queue pairs (default: 1)
              -C COUNT    number of messages each way for each queue pair (default: 10)
              -S SIZE     bytes of a message (default: 100)
              -t TOS      type of service
              -p SPACE    port space by number: 0x111 for udp, 0x2 for ipoib""";

    private static final int PORT = 7174;
    private static final ConnectionParameters PARAMETERS = ConnectionParameters.defaults();

    private final PortSpace space;

    private Udaddy(String[] args, PrintStream out) {
        super("udaddy", Options.parse(args, USAGE, 0), out);
        space = datagramSpace(
                switch (options.text("-P", "udp")) {
                    case "udp" -> PortSpace.UDP.code();
                    case "ipoib" -> PortSpace.IPOIB.code();
                    default -> throw options.usage("-P must be udp or ipoib");
                });
    }

    static int run(String[] args, PrintStream out) throws Exception {
        return new Udaddy(args, out).run();
    }

    @Override
    QueuePairOptions queuePair(CompletionQueue sends, CompletionQueue receives) {
        return QueuePair.ud(sends, receives);
    }

    @Override
    void work() throws Exception {
        if (options.has("-s")) {
            connect();
        } else {
            serve();
        }
    }

    @Override
    PortSpace space() {
        return space;
    }

    private void makeReadyIfItFits(ConnectionId id) {
        int most = id.context().port(id.devicePort()).activeMtu().bytes();
        if (size > most) {
            throw new IllegalArgumentException(
                    "message size " + size + " exceeds the port's MTU of " + most + " bytes, the limit of a datagram");
        }
        makeReady(id);
    }

    // Server

    private void serve() throws Exception {
        say("starting server");
        ConnectionId listener = newId();
        listener.bind(place(PORT));
        listener.listen(connections);
        while (nodes().size() < connections) {
            if (!(next(Tool.FOR_EVER) instanceof CmEvent.Request request)) {
                continue;
            }
            ConnectionId id = request.request().claim();
            makeReadyIfItFits(id);
            id.beginAccept(PARAMETERS);
        }
        if (messages > 0) {
            print("receiving data transfers");
            for (CmNode node : nodes()) {
                node.awaitReceives();
            }
            print("sending replies");
            sendAll();
            print("data transfers complete");
        }
    }

    /** Waits for all sends: closing would drop pending ones. */
    private void sendAll() throws InterruptedException {
        nodes().forEach(CmNode::postDatagrams);
        for (CmNode node : nodes()) {
            node.awaitSends();
        }
    }

    // Client

    private void connect() throws Exception {
        say("starting client");
        SocketAddress server = address(options.text("-s", ""), PORT);
        say("connecting");
        for (int i = 0; i < connections; i++) {
            newId().beginResolveAddress(own(0), server, RESOLVING);
        }
        for (int found = 0; found < connections; ) {
            CmEvent event = next(Tool.PATIENCE);
            switch (event.type()) {
                case ADDRESS_RESOLVED -> event.id().beginResolveRoute(RESOLVING);
                case ROUTE_RESOLVED -> {
                    makeReadyIfItFits(event.id());
                    event.id().beginConnect(PARAMETERS);
                }
                case ESTABLISHED -> {
                    node(event.id()).sendTo(((CmEvent.DatagramReady) event).target());
                    found++;
                }
                default -> throw ended(event);
            }
        }
        if (messages > 0) {
            print("initiating data transfers");
            sendAll();
            print("receiving data transfers");
            for (CmNode node : nodes()) {
                node.awaitReceives();
            }
            print("data transfers complete");
        }
    }
}

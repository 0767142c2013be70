package dev.verbena.tools;

import dev.verbena.cm.CmEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.PortSpace;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import java.io.PrintStream;
import java.net.SocketAddress;

/**
 * Looks up a service for datagrams by address and sends datagrams both ways, as {@code udaddy} of rdma-core does, with
 * which it talks: the client sends first, and each datagram says where an answer must go.
 */
final class Udaddy extends CmTool {
    private static final String USAGE = """
            usage: verbena udaddy [-s SERVER] [-b ADDRESS] [-f FORMAT] [-P SPACE] [-c COUNT] [-C COUNT] [-S SIZE]
                     [-t TOS] [-p SPACE]
              -s SERVER   be a client of this server; without it, serve
              -b ADDRESS  the own address; a server's is any if not said
              -f FORMAT   of the addresses: name (also takes the next two), ip, ipv6 or gid
              -P SPACE    udp, or ipoib
              -c COUNT    connections; 1 if not said
              -C COUNT    messages each way over each; 10 if not said
              -S SIZE     bytes of a message; 100 if not said
              -t TOS      type of service
              -p SPACE    as -P, by number: 0x111 for udp, 0x2 for ipoib""";

    private static final int PORT = 7174;
    private static final ConnectionParameters PARAMETERS = ConnectionParameters.defaults();

    private Udaddy(String[] args, PrintStream out) {
        super("udaddy", Options.parse(args, USAGE, "-s:", "-b:", "-f:", "-P:", "-c:", "-C:", "-S:", "-t:", "-p:"), out);
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
        return datagramSpace(
                switch (options.text("-P", "udp")) {
                    case "udp" -> PortSpace.UDP.code();
                    case "ipoib" -> PortSpace.IPOIB.code();
                    default -> throw options.usage("-P is udp or ipoib");
                });
    }

    private void makeReadyIfItFits(ConnectionId id) {
        int most = id.context().port(id.devicePort()).activeMtu().bytes();
        if (size > most) {
            throw new IllegalArgumentException(
                    "a message of " + size + " bytes does not fit into a datagram: the port's MTU is " + most);
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
            if (!(next(FOR_EVER) instanceof CmEvent.Request request)) {
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

    /** Until they have left: closing would drop those that are on their way out. */
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
            CmEvent event = next(PATIENCE);
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

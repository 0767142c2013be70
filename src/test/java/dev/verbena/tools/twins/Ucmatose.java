package dev.verbena.tools.twins;

import dev.verbena.cm.CmEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.PrivateData;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import java.io.PrintStream;
import java.net.SocketAddress;

/**
 * Makes several reliable connections at once and sends messages both ways over each. The server sends first and ends
 * the connections. Interoperates with {@code ucmatose} of rdma-core.
 */
final class Ucmatose extends CmTool {
    private static final String USAGE = """
            usage: verbena ucmatose [-s SERVER] [-b ADDRESS] [-f FORMAT] [-P SPACE]
                     [-c COUNT] [-C COUNT] [-S SIZE] [-t TOS] [-p PORT] [-m] [-a TIMEOUT]
              -s SERVER   connect to this server; without -s, serve
              -b ADDRESS  local address (server's default: any; ::0 for IPv6, too)
              -f FORMAT   format of the addresses: name, ip, ipv6 or gid (default: name,
                          which also takes ip and ipv6)
              -P SPACE    port space: tcp or ib (default: tcp)
              -c COUNT    number of connections (default: 1)
              -C COUNT    number of messages each way over each connection (default: 10)
              -S SIZE     bytes of a message (default: 100)
              -t TOS      type of service
              -p PORT     port (default: 7471)
              -m          migrate to another event channel before the end
              -a TIMEOUT  code of the acknowledgement timeout: 4.096 us * 2^TIMEOUT""";

    private static final int PORT = 7471;
    private static final ConnectionParameters OFFER = ConnectionParameters.defaults()
            .responderResources(1)
            .initiatorDepth(1)
            .retryCount(5)
            .rnrRetryCount(0);
    private static final ConnectionParameters ANSWER =
            ConnectionParameters.defaults().responderResources(1).initiatorDepth(1);

    private final PortSpace space;
    private final int port;
    private final int ackTimeout;

    private Ucmatose(String[] args, PrintStream out) {
        super("cmatose", Options.parse(args, USAGE, 0), out);
        space = switch (options.text("-P", "tcp")) {
            case "tcp" -> PortSpace.TCP;
            case "ib" -> PortSpace.IB;
            default -> throw options.usage("-P must be tcp or ib");
        };
        port = options.number("-p", PORT, options.has("-s") ? 1 : 0, 65_535);
        ackTimeout = options.number("-a", 0, 0, 31);
    }

    static int run(String[] args, PrintStream out) throws Exception {
        return new Ucmatose(args, out).run();
    }

    @Override
    QueuePairOptions queuePair(CompletionQueue sends, CompletionQueue receives) {
        return QueuePair.rc(sends, receives);
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

    // Server

    private void serve() throws Exception {
        say("starting server");
        ConnectionId listener = newId();
        listener.bind(place(port));
        listener.listen(connections);
        accept();
        if (messages > 0) {
            print("initiating data transfers");
            nodes().forEach(CmNode::postSends);
            print("completing sends");
            for (CmNode node : nodes()) {
                node.awaitSends();
            }
            print("receiving data transfers");
            for (CmNode node : nodes()) {
                node.awaitReceives();
            }
            print("data transfers complete");
        }
        moveIfWanted();
        say("disconnecting");
        nodes().forEach(node -> node.id.beginDisconnect());
        awaitEnds(false);
        print("disconnected");
    }

    private void accept() throws Exception {
        for (int established = 0; established < connections; ) {
            CmEvent event = next(Tool.FOR_EVER);
            if (event instanceof CmEvent.Request request) {
                if (nodes().size() == connections) {
                    request.request().reject(PrivateData.NONE);
                    continue;
                }
                ConnectionId id = request.request().claim();
                makeReady(id);
                id.beginAccept(ANSWER);
            } else if (event.type() == CmEvent.Type.ESTABLISHED) {
                established++;
            } else {
                throw ended(event);
            }
        }
    }

    // Client

    private void connect() throws Exception {
        say("starting client");
        SocketAddress server = address(options.text("-s", ""), port);
        say("connecting");
        for (int i = 0; i < connections; i++) {
            ConnectionId id = newId();
            if (options.has("-a")) {
                id.ackTimeoutCode(ackTimeout);
            }
            id.beginResolveAddress(own(0), server, RESOLVING);
        }
        for (int established = 0; established < connections; ) {
            CmEvent event = next(Tool.PATIENCE);
            switch (event.type()) {
                case ADDRESS_RESOLVED -> event.id().beginResolveRoute(RESOLVING);
                case ROUTE_RESOLVED -> {
                    makeReady(event.id());
                    event.id().beginConnect(OFFER);
                }
                case ESTABLISHED -> established++;
                default -> throw ended(event);
            }
        }
        if (messages > 0) {
            print("receiving data transfers");
            for (CmNode node : nodes()) {
                node.awaitReceives();
            }
            print("sending replies");
            nodes().forEach(CmNode::postSends);
            print("data transfers complete");
        }
        moveIfWanted();
        awaitEnds(true);
    }

    private void moveIfWanted() {
        if (options.has("-m")) {
            print("migrating to new event channel");
            moveToNewChannel();
        }
    }

    /** Waits until both sides have disconnected. The side that did not begin answers. */
    private void awaitEnds(boolean answer) throws Exception {
        for (int left = connections; left > 0; ) {
            CmEvent event = next(Tool.PATIENCE);
            if (event.type() == CmEvent.Type.DISCONNECTED) {
                left--;
                if (answer) {
                    event.id().beginDisconnect();
                }
            } else if (event instanceof CmEvent.Request request) {
                request.request().reject(PrivateData.NONE);
            } else {
                throw ended(event);
            }
        }
    }
}

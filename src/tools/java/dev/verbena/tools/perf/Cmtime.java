package dev.verbena.tools.perf;

import dev.verbena.VerbsArena;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Times the steps of making many connections at once; interoperates with {@code cmtime} of rdma-core 51 and older. The client does
 * each step for all connections before it begins the next step.
 */
public final class Cmtime {
    private static final String USAGE = """
            usage: verbena cmtime [-s SERVER] [-b ADDRESS] [-c COUNT] [-p PORT] [-r COUNT]
                     [-t MILLISECONDS] [--rounds COUNT]
              -s SERVER        connect to this server; without -s, serve until Ctrl-C
              -b ADDRESS       local address (server's default: any)
              -c COUNT         number of connections, client only (default: 100)
              -p PORT          port (default: 7471)
              -r COUNT         retries for resolving an address or a route (default: 2)
              -t MILLISECONDS  time limit for resolving either (default: 2000)
              --rounds COUNT   connect again and again, a table for each time (default: 1)""";

    private static final int PORT = 7471;
    private static final int BACKLOG = 1024;
    private static final double MICRO = 1e3;
    private static final double MILLI = 1e6;
    private static final ConnectionParameters PARAMETERS =
            ConnectionParameters.defaults().responderResources(1).initiatorDepth(1);

    private final Options options;
    private final PrintStream out;
    private final int port;
    private final int count;
    private final int retries;
    private final int rounds;
    private final Duration timeout;

    private Cmtime(String[] args, PrintStream out) {
        options = Options.parse(args, USAGE, 0);
        port = options.number("-p", PORT, options.has("-s") ? 1 : 0, 65_535);
        count = options.number("-c", 100, 1, 1 << 16);
        retries = options.number("-r", 2, 0, Integer.MAX_VALUE);
        rounds = options.number("--rounds", 1, 1, Integer.MAX_VALUE);
        timeout = Duration.ofMillis(options.number("-t", 2000, 1, Integer.MAX_VALUE));
        this.out = out;
    }

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     * @throws Exception if the tool fails
     */
    public static int run(String[] args, PrintStream out) throws Exception {
        return new Cmtime(args, out).run();
    }

    int run() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            EventChannel channel = EventChannel.create(arena);
            if (options.has("-s")) {
                Client client = new Client(channel);
                for (int i = 0; i < rounds; i++) {
                    client.run();
                }
            } else {
                serve(channel);
            }
        }
        return 0;
    }

    private @Nullable InetSocketAddress own(int port) {
        return options.has("-b") ? new InetSocketAddress(options.text("-b", ""), port) : null;
    }

    /** The domain and completion queue of all queue pairs of a device. Nothing is sent, so the queue is small. */
    private record Shared(ProtectionDomain domain, CompletionQueue queue) {
        static Shared of(Context context) {
            return new Shared(context.allocateProtectionDomain(), context.createCompletionQueue(1));
        }

        QueuePair queuePair(ConnectionId id) {
            return id.createQueuePair(domain, QueuePair.rc(queue).sendDepth(1).receiveDepth(1));
        }
    }

    // Server

    private void serve(EventChannel channel) throws InterruptedException {
        InetSocketAddress own = own(port);
        ConnectionId listener = channel.createId(PortSpace.TCP);
        listener.bind(own == null ? new InetSocketAddress(port) : own);
        listener.listen(BACKLOG);
        Map<Context, Shared> shared = new HashMap<>();
        Map<ConnectionId, QueuePair> pairs = new HashMap<>();
        while (true) {
            CmEvent event = channel.awaitEvent(Tool.FOR_EVER);
            if (event instanceof CmEvent.Request request) {
                ConnectionId id = request.request().claim();
                pairs.put(id, shared.computeIfAbsent(id.context(), Shared::of).queuePair(id));
                id.beginAccept(PARAMETERS);
            } else if (event.type() != CmEvent.Type.ESTABLISHED && event.type() != CmEvent.Type.TIMEWAIT_EXIT) {
                QueuePair pair = pairs.remove(event.id());
                if (pair == null) {
                    throw new IllegalStateException(
                            "the listener failed: " + event.type().cName());
                }
                if (event.type() == CmEvent.Type.DISCONNECTED) {
                    event.id().beginDisconnect();
                }
                pair.close(); // the connection has ended or failed
                event.id().close();
            }
        }
    }

    // Client

    /** One step of making a connection. */
    private interface Step {
        void begin(int number);
    }

    private final class Client {
        private final EventChannel channel;
        private final ConnectionId[] ids;
        private final QueuePair[] pairs;
        private final Map<ConnectionId, Integer> numbers = new HashMap<>();
        private final StringBuilder table = new StringBuilder();
        private final InetSocketAddress server;
        private @Nullable Shared shared;

        Client(EventChannel channel) {
            this.channel = channel;
            ids = new ConnectionId[count];
            pairs = new QueuePair[count];
            server = new InetSocketAddress(options.text("-s", ""), port);
        }

        void run() throws InterruptedException {
            table.setLength(0);
            row("step", "total ms", "max ms", "min us", "us / conn");
            step("creating id", "create id", null, 0, i -> {
                ids[i] = channel.createId(PortSpace.TCP);
                numbers.put(ids[i], i);
            });
            if (options.has("-b")) {
                step("binding source address", "bind addr", null, 0, i -> ids[i].bind(Objects.requireNonNull(own(0))));
            }
            step(
                    "resolving address",
                    "resolve addr",
                    CmEvent.Type.ADDRESS_RESOLVED,
                    retries,
                    i -> ids[i].beginResolveAddress(own(0), server, timeout));
            step(
                    "resolving route",
                    "resolve route",
                    CmEvent.Type.ROUTE_RESOLVED,
                    retries,
                    i -> ids[i].beginResolveRoute(timeout));
            if (shared == null) {
                shared = Shared.of(ids[0].context());
            }
            Shared parts = shared;
            step("creating qp", "create qp", null, 0, i -> pairs[i] = parts.queuePair(ids[i]));
            step("connecting", "connect", CmEvent.Type.ESTABLISHED, 0, i -> ids[i].beginConnect(PARAMETERS));
            step("disconnecting", "disconnect", CmEvent.Type.DISCONNECTED, 0, i -> ids[i].beginDisconnect());
            step("destroying id", "destroy", null, 0, i -> {
                pairs[i].close();
                numbers.remove(ids[i]);
                ids[i].close();
            });
            out.print(table);
        }

        /** Begins a step for all connections, and waits for each connection's event that ends the step. */
        private void step(String doing, String title, CmEvent.@Nullable Type end, int again, Step step)
                throws InterruptedException {
            out.println(doing);
            long[] begun = new long[count];
            int[] tries = new int[count];
            long longest = 0;
            long shortest = Long.MAX_VALUE;
            long before = System.nanoTime();
            for (int i = 0; i < count; i++) {
                begun[i] = System.nanoTime();
                step.begin(i);
                if (end == null) {
                    long took = System.nanoTime() - begun[i];
                    longest = Math.max(longest, took);
                    shortest = Math.min(shortest, took);
                }
            }
            for (int left = end == null ? 0 : count; left > 0; ) {
                CmEvent event = channel.awaitEvent(Tool.PATIENCE);
                int i = Objects.requireNonNull(numbers.get(event.id()));
                if (event.type() == CmEvent.Type.TIMEWAIT_EXIT) {
                    continue; // belongs to a connection that ended earlier
                }
                if (event.type() == end) {
                    long took = System.nanoTime() - begun[i];
                    longest = Math.max(longest, took);
                    shortest = Math.min(shortest, took);
                    left--;
                } else if (tries[i]++ < again) {
                    step.begin(i);
                } else {
                    throw new IllegalStateException("event: " + event.type().cName() + ", error: " + event.status()
                            + " (" + event.type().meaning() + ") while " + doing);
                }
            }
            long total = System.nanoTime() - before;
            row(title, text(total / MILLI), text(longest / MILLI), text(shortest / MICRO), text(total / MICRO / count));
        }

        private static String text(double number) {
            return String.format(Locale.ROOT, "%.2f", number);
        }

        private void row(String title, String... columns) {
            boolean heading = title.equals("step");
            table.append(String.format("%-13s%s", title, heading ? " " : ":"));
            for (int i = 0; i < columns.length; i++) {
                table.append(String.format(i == 0 ? "%12s" : "%11s", columns[i]));
            }
            table.append(System.lineSeparator());
        }
    }
}

package dev.verbena.tools.perf;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.net.Channel;
import dev.verbena.net.Handler;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.NodeOptions.Progress;
import dev.verbena.net.Transfer;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.SecretFile;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.page.Json;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Measures messages, calls, reads and transfers through {@code dev.verbena.net}. */
final class PerfNet {
    static final String USAGE = """
            usage: verbena perf --net server [OPTION]...   serves until Ctrl-C
                   verbena perf --net [OPTION]... HOST     measures
                   verbena perf --net [OPTION]... --self   the same with both ends in this
                                                           process
              -s, --size=BYTES      size of messages, calls and reads (default: 64)
              -S, --transfer=BYTES  size of a transfer (default: 16777216)
              -n, --iters=COUNT     number of messages, calls and reads (default: 1000)
              -t, --tx-depth=COUNT  number of outstanding reads, for the bandwidth
                                    (default: 32)
              -e, --events          sleep until something happens instead of polling; both
                                    ends
              -b ADDRESS            address of a device of this machine (default: by the
                                    routes to HOST; of a server, the first device)
              -p, --port=PORT       port of the connection manager (default: 18515)
              --secret-file=FILE    seal messages and transfers with the secret in a file,
                                    the same at both ends; reads are in the clear
              --json                print JSON instead of a table
              --net                 through nodes and channels, as above
              --self                both ends in this process, as above

            Measures nodes and channels: the time of a message there and back, of a call
            and of a read, and the bandwidth of reads and of transfers.""";

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int LARGEST = 1 << 20;
    private static final int LARGEST_TRANSFER = 1 << 30;
    private static final String EXPORT = "perf";

    private final Options options;
    private final PrintStream out;
    private final int size;
    private final int transfer;
    private final int iterations;
    private final int depth;
    private final int port;
    private final boolean events;
    private final byte @Nullable [] secret;

    private PerfNet(Options options, PrintStream out) throws IOException {
        this.options = options;
        this.out = out;
        size = options.number("-s", 64, 1, LARGEST);
        transfer = options.number("-S", 16 << 20, 1, LARGEST_TRANSFER);
        iterations = options.number("-n", 1000, 1, PerfPlan.MOST_ITERATIONS);
        depth = options.number("-t", 32, 1, 4095);
        port = options.number("-p", 18_515, 1, 65_535);
        events = options.has("-e");
        secret = SecretFile.read(options);
    }

    /** A result: the times in nanoseconds, or the bandwidth in MB/s. */
    record Row(String name, int bytes, @Nullable Histogram nanos, double bandwidth) {
        private String table() {
            return nanos == null
                    ? String.format(Locale.ROOT, "%-16s %10d %10.2f MB/s%n", name, bytes, bandwidth)
                    : String.format(
                            Locale.ROOT,
                            "%-16s %10d %10.2f %9.2f %9.2f %9.2f%n",
                            name,
                            bytes,
                            nanos.getMinValue() / 1e3,
                            nanos.getValueAtPercentile(50) / 1e3,
                            nanos.getValueAtPercentile(99) / 1e3,
                            nanos.getMaxValue() / 1e3);
        }

        private Map<String, Object> json() {
            Map<String, Object> json = Json.map("operation", name, "bytes", bytes);
            if (nanos == null) {
                json.put("megabytesPerSecond", bandwidth);
            } else {
                json.put(
                        "microseconds",
                        Json.map(
                                "min",
                                nanos.getMinValue() / 1e3,
                                "p50",
                                nanos.getValueAtPercentile(50) / 1e3,
                                "p99",
                                nanos.getValueAtPercentile(99) / 1e3,
                                "max",
                                nanos.getMaxValue() / 1e3));
            }
            return json;
        }
    }

    static int run(String[] args, PrintStream out) throws Exception {
        Options options = Options.parse(args, USAGE, 1);
        String host = options.operand(0);
        if (host.isEmpty() != options.has("--self")) {
            throw options.usage("either 'server', the server's HOST or --self is required");
        }
        new PerfNet(options, out).run(host);
        return Tool.OK;
    }

    private void run(String host) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            if (host.equals("server")) {
                Node server = openServer(own(arena), arena);
                out.println("serving at " + server);
                serve(server);
                return;
            }
            if (options.has("--self")) {
                Node server = openServer(new InetSocketAddress(own(arena).getAddress(), 0), arena);
                Thread serving = Thread.ofPlatform().daemon().name("server").start(() -> serveSelf(server));
                try {
                    measure(server.address(), arena);
                } finally {
                    serving.interrupt();
                    serving.join();
                }
            } else {
                measure(new InetSocketAddress(host, port), arena);
            }
        }
    }

    private Node open(InetSocketAddress own, VerbsArena arena) {
        return Node.open(own, sizes(), arena);
    }

    private NodeOptions sizes() {
        NodeOptions sizes = NodeOptions.defaults()
                .messageSize(Math.max(4096, size))
                .operations(Math.max(32, depth))
                .maxTransferSize(LARGEST_TRANSFER)
                .progress(events ? Progress.BACKGROUND : Progress.CALLER);
        return secret == null ? sizes : sizes.secret(secret);
    }

    private InetSocketAddress own(VerbsArena arena) {
        return options.has("-b")
                ? new InetSocketAddress(options.text("-b", ""), port)
                : new InetSocketAddress(
                        Device.first().open(arena).bestGid(1).gid().toInetAddress(), port);
    }

    // Server

    /** Opens a node with its export, which a client of this process asks for at once. */
    private Node openServer(InetSocketAddress own, VerbsArena arena) {
        Node node = open(own, arena);
        node.export(EXPORT, arena.allocate(LARGEST, 4096), AccessFlag.REMOTE_READ)
                .inTheClear();
        return node;
    }

    private void serve(Node node) throws InterruptedException {
        node.listen(new Answers());
        if (events) {
            Thread.sleep(Long.MAX_VALUE); // until the process is ended, or serveSelf is interrupted
        }
        while (!Thread.interrupted()) {
            node.progress();
        }
    }

    private void serveSelf(Node node) {
        try {
            serve(node);
        } catch (InterruptedException over) {
            return;
        }
    }

    /** Sends messages back, answers calls, and takes transfers. */
    private static final class Answers implements Handler {
        @Override
        public void received(Channel channel, Message message) throws Exception {
            if (message.isOffer()) {
                Transfer transfer = message.transfer();
                Thread.ofVirtual().start(() -> take(transfer)); // a handler must not wait
            } else if (message.isRequest()) {
                Message reply = message.reply().length(message.length());
                MemorySegment.copy(message.memory(), 0, reply.memory(), 0, message.length());
                reply.send();
            } else {
                Message back = channel.pollMessage();
                if (back == null || !channel.trySend(back.length(message.length()))) {
                    throw new IllegalStateException("The peer sends a message before it has taken the last one");
                }
            }
        }

        private static void take(Transfer transfer) {
            try (transfer;
                    VerbsArena arena = VerbsArena.ofShared()) {
                transfer.accept(arena.allocate(transfer.length(), 4096), PATIENCE);
            } catch (VerbsException | IllegalStateException | InterruptedException end) {
                return; // the channel has ended, and its client knows
            }
        }
    }

    // Client

    private void measure(InetSocketAddress server, VerbsArena arena) throws InterruptedException {
        Node node = options.has("-b") || options.has("--self")
                ? open(new InetSocketAddress(own(arena).getAddress(), 0), arena)
                : Node.openTowards(server, sizes(), arena);
        List<Row> rows = new ArrayList<>();
        try (Channel channel = node.connect(server, PATIENCE)) {
            if (size > channel.maxMessageSize()) {
                throw options.usage(
                        "--size must be at most " + channel.maxMessageSize() + ": start the server with it");
            }
            LocalMemory local = node.register(arena.allocate(size, 64), AccessFlag.LOCAL_WRITE);
            RemoteMemory remote = channel.remote(EXPORT, PATIENCE).slice(0, size);
            rows.add(times("message and back", () -> message(node, channel)));
            rows.add(times("call", () -> call(node, channel)));
            rows.add(times("read", () -> read(node, channel, local, remote)));
            rows.add(reads(node, channel, arena));
            rows.add(transfers(channel, arena));
        }
        report(rows);
    }

    private void report(List<Row> rows) {
        String style = events ? "events" : "polling";
        if (options.has("--json")) {
            out.print(Json.of(Json.map(
                    "through",
                    "dev.verbena.net",
                    "completion",
                    style,
                    "iterations",
                    iterations,
                    "results",
                    rows.stream().map(Row::json).toList())));
            return;
        }
        out.printf("dev.verbena.net, microseconds, %d iterations, %s%n", iterations, style);
        out.printf("%-16s %10s %10s %9s %9s %9s%n", "", "bytes", "min", "50%", "99%", "max");
        rows.forEach(row -> out.print(row.table()));
    }

    private interface Step {
        void run() throws InterruptedException;
    }

    private Row times(String name, Step step) throws InterruptedException {
        Histogram nanos = PerfRun.histogram();
        for (int i = -Math.max(1, iterations / 10); i < iterations; i++) {
            long start = System.nanoTime();
            step.run();
            if (i >= 0) {
                nanos.recordValue(Math.max(1, System.nanoTime() - start));
            }
        }
        return new Row(name, size, nanos, 0);
    }

    private static <T> T poll(Node node, Supplier<@Nullable T> attempt) throws InterruptedException {
        for (; ; ) {
            T result = attempt.get();
            if (result != null) {
                return result;
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            node.progress();
        }
    }

    private void message(Node node, Channel channel) throws InterruptedException {
        Message message = events ? channel.message(PATIENCE) : poll(node, channel::pollMessage);
        message.length(size);
        if (events) {
            channel.send(message, PATIENCE);
            channel.receive(PATIENCE).close();
        } else {
            poll(node, () -> channel.trySend(message) ? message : null);
            poll(node, channel::pollReceive).close();
        }
    }

    private void call(Node node, Channel channel) throws InterruptedException {
        if (events) {
            channel.call(channel.message(PATIENCE).length(size), PATIENCE).close();
            return;
        }
        Message request = poll(node, channel::pollMessage).length(size);
        long ticket = poll(node, () -> ticket(channel.tryCall(request)));
        poll(node, () -> channel.pollReply(ticket)).close();
    }

    private static @Nullable Long ticket(long ticket) {
        return ticket == 0 ? null : ticket;
    }

    private void read(Node node, Channel channel, LocalMemory into, RemoteMemory from) throws InterruptedException {
        if (events) {
            channel.read(into, from, PATIENCE);
            return;
        }
        long ticket = poll(node, () -> ticket(channel.tryRead(into, from)));
        poll(node, () -> channel.isDone(ticket) ? channel : null);
        channel.await(ticket, Duration.ZERO);
    }

    /** Reads the largest pieces, many at once. */
    private Row reads(Node node, Channel channel, VerbsArena arena) throws InterruptedException {
        int piece = Math.max(size, 1 << 16);
        LocalMemory into = node.register(arena.allocate(piece, 4096), AccessFlag.LOCAL_WRITE);
        RemoteMemory from = channel.remote(EXPORT, PATIENCE).slice(0, piece);
        long[] tickets = new long[depth];
        int begun = 0;
        long start = System.nanoTime();
        for (int done = 0; done < iterations; done++) {
            while (begun < iterations && begun - done < depth) {
                tickets[begun++ % depth] = poll(node, () -> ticket(channel.tryRead(into, from)));
            }
            long next = tickets[done % depth];
            if (!events) {
                poll(node, () -> channel.isDone(next) ? channel : null);
            }
            channel.await(next, PATIENCE);
        }
        return new Row("reads", piece, null, (double) piece * iterations / (System.nanoTime() - start) * 1e3);
    }

    private Row transfers(Channel channel, VerbsArena arena) throws InterruptedException {
        MemorySegment data = arena.allocate(transfer, 4096);
        byte[] nothing = {};
        channel.offer(data, nothing, PATIENCE);
        double best = 0;
        for (int i = 0; i < 3; i++) {
            long start = System.nanoTime();
            channel.offer(data, nothing, PATIENCE);
            best = Math.max(best, (double) transfer / (System.nanoTime() - start) * 1e3);
        }
        return new Row("transfer", transfer, null, best);
    }
}

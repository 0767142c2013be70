package dev.verbena.tools.pingpong;

import dev.verbena.VerbsArena;
import dev.verbena.cm.ConnectRequest;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Ping-pong by RDMA read and write. The client sends the description of its memory; the server reads the ping and
 * writes it back. Interoperates with {@code rping} of rdma-core.
 */
public final class Rping {
    private static final String USAGE = """
            usage: verbena rping -s [-a ADDRESS] [-p PORT] [-S SIZE] [-v] [-V] [-d] [-P]
                     [-q]
                   verbena rping -c -a ADDRESS [-I ADDRESS] [-p PORT] [-S SIZE] [-C COUNT]
                     [-v] [-V] [-d] [-q]
              -s          be the server
              -c          be a client
              -a ADDRESS  address to listen on (default: any; ::0 for IPv6, too), or to
                          connect to
              -I ADDRESS  local address, client only
              -p PORT     port (default: 7174)
              -S SIZE     bytes of a ping, 26 to 65535 (default: 64); the server's must be
                          at least the client's
              -C COUNT    number of pings, client only (default: without end)
              -v          print the pings
              -V          verify the data, client only
              -d          print each step
              -P          serve any number of clients, also at once
              -q          create the queue pair without the connection manager""";

    private static final int PORT = 7174;
    private static final int SMALLEST = 26;
    private static final int LARGEST = 65_535;
    private static final int BACKLOG = 3;

    /** Time limit for resolving an address or a route. */
    private static final Duration RESOLVING = Duration.ofSeconds(2);

    /** First character of the pings' filling, which cycles from {@code A} to {@code z}. */
    private static final int FIRST = 'A';

    private static final int LAST = 'z';

    private final Options options;
    private final PrintStream out;
    private final int size;
    private final int port;
    private final int count;

    private Rping(String[] args, PrintStream out) {
        options = Options.parse(args, USAGE, 0);
        this.out = out;
        size = options.number("-S", 64, SMALLEST, LARGEST);
        port = options.number("-p", PORT, 0, 65_535);
        count = options.number("-C", Integer.MAX_VALUE, 0, Integer.MAX_VALUE);
        if (options.has("-s") == options.has("-c")) {
            throw options.usage("either -s or -c is required");
        }
        if (options.has("-c") && !options.has("-a")) {
            throw options.usage("-c needs -a ADDRESS");
        }
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
        return new Rping(args, out).run();
    }

    int run() throws Exception {
        if (options.has("-s")) {
            serve();
        } else {
            ping();
        }
        return 0;
    }

    private InetSocketAddress address() {
        return options.has("-a") ? new InetSocketAddress(options.text("-a", ""), port) : new InetSocketAddress(port);
    }

    /** Prints a step if {@code -d} is given. */
    private void debug(String what) {
        if (options.has("-d")) {
            out.println(what);
        }
    }

    // Client

    private void ping() throws Exception {
        // Shared, because a watcher thread ends the connection.
        try (VerbsArena arena = VerbsArena.ofShared()) {
            EventChannel channel = EventChannel.create(arena);
            ConnectionId id = channel.createId(PortSpace.TCP);
            debug("created cm_id " + id);
            id.resolveAddress(
                    options.has("-I") ? new InetSocketAddress(options.text("-I", ""), 0) : null, address(), RESOLVING);
            id.resolveRoute(RESOLVING);
            debug("rdma_resolve_addr - rdma_resolve_route successful");
            RpingLink link = new RpingLink(id, size, options.has("-q"), this::debug);
            link.connect();
            debug("ESTABLISHED");
            try {
                for (int n = 0; n < count; n++) {
                    pingOnce(link, n);
                }
                link.disconnect();
            } finally {
                link.giveUp();
            }
            debug("client DISCONNECT EVENT...");
        }
    }

    private void pingOnce(RpingLink link, int n) throws InterruptedException {
        MemorySegment source = link.source().segment();
        MemorySegment sink = link.sink().segment();
        fill(source, n);
        link.say(link.source().remote());
        require(link.hear());
        link.say(link.sink().remote());
        require(link.hear());
        long difference = options.has("-V") ? source.mismatch(sink) : -1;
        if (difference >= 0) {
            throw new IllegalStateException("data mismatch at byte " + difference + " of ping " + n);
        }
        if (options.has("-v")) {
            out.println("ping data: " + text(sink));
        }
    }

    private static void require(@Nullable RemoteMemory heard) {
        if (heard == null) {
            throw new IllegalStateException("the server has closed the connection");
        }
    }

    private static void fill(MemorySegment data, int n) {
        byte[] head = ("rdma-ping-" + n + ": ").getBytes(StandardCharsets.US_ASCII);
        MemorySegment.copy(head, 0, data, ValueLayout.JAVA_BYTE, 0, head.length);
        int filler = FIRST + n % (LAST - FIRST + 1);
        for (long i = head.length; i < data.byteSize() - 1; i++) {
            data.set(ValueLayout.JAVA_BYTE, i, (byte) filler);
            filler = filler == LAST ? FIRST : filler + 1;
        }
        data.set(ValueLayout.JAVA_BYTE, data.byteSize() - 1, (byte) 0);
    }

    // Server

    private void serve() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            EventChannel channel = EventChannel.create(arena);
            ConnectionId listener = channel.createId(PortSpace.TCP);
            listener.bind(address());
            debug("rdma_bind_addr successful");
            listener.listen(BACKLOG);
            debug("rdma_listen");
            if (options.has("-P")) {
                serveAll(listener);
            } else {
                serve(listener.awaitRequest(Tool.FOR_EVER));
            }
        }
    }

    /** Serves each client in a thread. Interrupts all of them when this thread is interrupted. */
    private void serveAll(ConnectionId listener) throws InterruptedException {
        ThreadGroup all = new ThreadGroup("rping");
        try {
            while (true) {
                ConnectRequest request = listener.awaitRequest(Tool.FOR_EVER);
                Thread.ofPlatform().group(all).name("rping " + request).start(() -> serveToTheEnd(request));
            }
        } finally {
            Thread[] serving = new Thread[all.activeCount() * 2 + 1];
            for (int i = all.enumerate(serving) - 1; i >= 0; i--) {
                serving[i].interrupt();
                serving[i].join();
            }
        }
    }

    /** Serves a client and reports its failure, whatever it is: it must not end the server or another client's thread. */
    private void serveToTheEnd(ConnectRequest request) {
        try {
            serve(request);
        } catch (RuntimeException e) {
            System.err.println("rping: " + Tool.inOneLine(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void serve(ConnectRequest request) throws InterruptedException {
        debug("cma_event type RDMA_CM_EVENT_CONNECT_REQUEST " + request);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            RpingLink link = new RpingLink(request.claim(arena), size, options.has("-q"), this::debug);
            debug("accepting client connection request");
            link.accept();
            debug("ESTABLISHED");
            try {
                RemoteMemory source;
                while ((source = link.hear()) != null && answer(link, source)) {
                    debug("server posted go ahead");
                }
                link.disconnect();
            } finally {
                link.giveUp();
            }
        }
        System.err.println("server DISCONNECT EVENT...");
    }

    /** Answers a ping. Returns false if the client has gone. */
    private boolean answer(RpingLink link, RemoteMemory source) throws InterruptedException {
        MemoryRegion data = link.source();
        if (source.length() < 1 || source.length() > size) {
            throw new IllegalArgumentException("received a ping of " + source.length() + " bytes, but the buffer has "
                    + size + (source.length() > size ? ": serve with -S " + source.length() : ""));
        }
        if (!link.read(data.slice(0, source.length()), source)) {
            return false;
        }
        MemorySegment ping = data.segment().asSlice(0, source.length());
        if (options.has("-v")) {
            out.println("server ping data: " + text(ping));
        }
        link.say(data.remote());
        RemoteMemory sink = link.hear();
        if (sink == null) {
            return false;
        }
        long answer = withNul(ping);
        if (sink.length() < answer) {
            throw new IllegalArgumentException(
                    "the client sent a ping of " + answer + " bytes and has room for " + sink.length());
        }
        if (!link.write(data.slice(0, answer), sink)) {
            return false;
        }
        link.say(data.remote());
        return true;
    }

    /** Returns the number of bytes to send back: all bytes to the first NUL, with it, or all if there is no NUL. */
    static long withNul(MemorySegment ping) {
        for (long i = 0; i < ping.byteSize(); i++) {
            if (ping.get(ValueLayout.JAVA_BYTE, i) == 0) {
                return i + 1;
            }
        }
        return ping.byteSize();
    }

    /** Formats the bytes before the first NUL, with dots for unprintable bytes: the peer chooses them. */
    static String text(MemorySegment ping) {
        StringBuilder text = new StringBuilder();
        long length = withNul(ping);
        for (long i = 0; i < length; i++) {
            byte b = ping.get(ValueLayout.JAVA_BYTE, i);
            if (b != 0) {
                text.append(b >= ' ' && b < 127 ? (char) b : '.');
            }
        }
        return text.toString();
    }
}

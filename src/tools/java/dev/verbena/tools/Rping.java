package dev.verbena.tools;

import dev.verbena.VerbsArena;
import dev.verbena.cm.CmEventType;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Listener;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * Ping-pong by RDMA read and write, as {@code rping} of rdma-core does it, with which it talks: the client names its memory,
 * the server reads the ping and writes it back.
 */
public final class Rping {
    private static final String USAGE = """
            usage: verbena rping -s|-c -a ADDRESS [-p PORT] [-S SIZE] [-C COUNT] [-v] [-V] [-P]
              -s -c       serve, or be a client
              -a ADDRESS  to listen on, or to connect to
              -p PORT     7174 if not said
              -S SIZE     bytes of a ping; 64 if not said. The server's is at least the client's
              -C COUNT    how many pings, for the client; no end if not said
              -v          print the pings
              -V          compare what came back with what was sent, in the client
              -P          keep serving, one client after the other""";

    private static final Duration STEP = Duration.ofSeconds(10);
    private static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);
    private static final int CONTROL = RemoteMemory.BYTES;
    private static final QueueCapabilities SIZES = new QueueCapabilities(16, 2, 1, 1, 0);
    private static final ConnectionParameters PARAMETERS = ConnectionParameters.defaults().reads(1, 1).retries(7, 7);
    private static final int SMALLEST = 27;
    private static final int LARGEST = 65_535;

    private final Options options;
    private final VerbsArena arena;

    private Rping(Options options, VerbsArena arena) {
        this.options = options;
        this.arena = arena;
    }

    /**
     * Runs the tool.
     *
     * @param args as of {@code rping}
     * @throws Exception if anything fails
     */
    public static void main(String[] args) throws Exception {
        Options options = Options.parse(args, USAGE, "-s", "-c", "-v", "-V", "-P", "-d", "-a:", "-p:", "-S:", "-C:");
        if (options.has("-s") == options.has("-c") || !options.has("-a")) {
            throw options.usage();
        }
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Rping rping = new Rping(options, arena);
            if (options.has("-s")) {
                rping.serve();
            } else {
                rping.ping();
            }
        }
    }

    private InetSocketAddress address() {
        return new InetSocketAddress(options.text("-a", ""), options.number("-p", 7174));
    }

    private int size() {
        int size = options.number("-S", 64);
        if (size < SMALLEST || size > LARGEST) {
            throw new IllegalArgumentException("A ping has " + SMALLEST + " to " + LARGEST + " bytes, not " + size);
        }
        return size;
    }

    /** One connection's buffers, and how both sides talk about them: 16 bytes that say where the other's memory is. */
    private final class Talk implements AutoCloseable {
        final Connection connection;
        final MemoryRegion heard;
        final MemoryRegion said;
        private boolean sent;
        private boolean received;

        Talk(Connection connection) {
            this.connection = connection;
            heard = connection.register(arena.allocate(CONTROL, 8), AccessFlag.LOCAL_WRITE);
            said = connection.register(arena.allocate(CONTROL, 8));
            listen();
        }

        private void listen() {
            connection.queuePair().postReceive(0, heard);
        }

        /** Tells the peer where to read or to write; what is told to a client does not matter. */
        void say(RemoteMemory memory) throws InterruptedException {
            said.segment().copyFrom(MemorySegment.ofArray(memory.toBytes()));
            connection.queuePair().postSend(0, said);
            finish(false);
        }

        /** What the peer says, or null when it has gone. */
        RemoteMemory hear() throws InterruptedException {
            if (!finish(true)) {
                return null;
            }
            RemoteMemory memory = RemoteMemory.from(heard.segment().toArray(ValueLayout.JAVA_BYTE));
            listen();
            return memory;
        }

        /** Waits for the end of a send or of a receive, whichever comes first. False when the connection has ended. */
        boolean finish(boolean receive) throws InterruptedException {
            while (receive ? !received : !sent) {
                WorkCompletion done = connection.completions().await(FOR_EVER);
                if (done.status() == WorkStatus.WORK_REQUEST_FLUSHED) {
                    return false;
                }
                if (done.orThrow().isReceive()) {
                    received = true;
                } else {
                    sent = true;
                }
            }
            if (receive) {
                received = false;
            } else {
                sent = false;
            }
            return true;
        }

        @Override
        public void close() {
            heard.close();
            said.close();
        }
    }

    // Client

    private void ping() throws Exception {
        int size = size();
        try (Connection connection = Connection.to(address(), STEP, SIZES, arena); Talk talk = new Talk(connection);
                MemoryRegion source = connection.register(arena.allocate(size, 64), AccessFlag.LOCAL_WRITE,
                        AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
                MemoryRegion sink = connection.register(arena.allocate(size, 64), AccessFlag.LOCAL_WRITE,
                        AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)) {
            connection.connect(PARAMETERS, STEP);
            int count = options.number("-C", Integer.MAX_VALUE);
            for (int n = 0; n < count; n++) {
                fill(source.segment(), n);
                talk.say(source.remote());
                require(talk.hear());
                talk.say(sink.remote());
                require(talk.hear());
                if (options.has("-V") && source.segment().mismatch(sink.segment()) >= 0) {
                    throw new IllegalStateException("data mismatch at byte "
                            + source.segment().mismatch(sink.segment()) + " of ping " + n);
                }
                if (options.has("-v")) {
                    System.out.println("ping data: " + sink.segment().getString(0));
                }
            }
            connection.id().disconnect(STEP);
        }
    }

    private static void require(RemoteMemory heard) {
        if (heard == null) {
            throw new IllegalStateException("The server has ended the connection");
        }
    }

    private static void fill(MemorySegment data, int n) {
        byte[] head = ("rdma-ping-" + n + ": ").getBytes();
        MemorySegment.copy(head, 0, data, ValueLayout.JAVA_BYTE, 0, head.length);
        int filler = 65 + n % 58;
        for (long i = head.length; i < data.byteSize() - 1; i++) {
            data.set(ValueLayout.JAVA_BYTE, i, (byte) filler);
            filler = filler == 122 ? 65 : filler + 1;
        }
        data.set(ValueLayout.JAVA_BYTE, data.byteSize() - 1, (byte) 0);
    }

    // Server

    private void serve() throws Exception {
        try (Listener listener = Listener.open(address(), arena)) {
            do {
                try (Connection peer = listener.next(FOR_EVER, SIZES, arena)) {
                    serve(peer);
                }
            } while (options.has("-P"));
        }
    }

    private void serve(Connection peer) throws Exception {
        try (Talk talk = new Talk(peer);
                MemoryRegion data = peer.register(arena.allocate(size(), 64), AccessFlag.LOCAL_WRITE,
                        AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)) {
            peer.accept(PARAMETERS, STEP);
            Thread watcher = Thread.ofVirtual().start(() -> flushWhenItEnds(peer));
            try {
                RemoteMemory source;
                while ((source = talk.hear()) != null && serveOne(talk, data, source)) {
                    if (options.has("-v")) {
                        System.out.println("server ping data: " + data.segment().getString(0));
                    }
                }
            } finally {
                watcher.interrupt();
                watcher.join();
            }
            System.err.println("server DISCONNECT EVENT...");
        }
    }

    private static boolean serveOne(Talk talk, MemoryRegion data, RemoteMemory source) throws InterruptedException {
        talk.connection.queuePair().postRead(1, data.slice(0, source.length()), source);
        if (!talk.finish(false)) {
            return false;
        }
        talk.say(data.remote());
        RemoteMemory sink = talk.hear();
        if (sink == null) {
            return false;
        }
        long length = data.segment().getString(0).length() + 1;
        talk.connection.queuePair().postWrite(1, data.slice(0, length), sink);
        if (!talk.finish(false)) {
            return false;
        }
        talk.say(data.remote());
        return true;
    }

    /** The peer's end leaves our queue pair as it is: only our own flushes what is posted, and so ends the wait for it. */
    private static void flushWhenItEnds(Connection peer) {
        try {
            while (peer.id().nextEvent(FOR_EVER).type() != CmEventType.DISCONNECTED) {
                continue;
            }
            peer.id().beginDisconnect();
        } catch (InterruptedException | IllegalStateException served) {
            return;
        }
    }
}

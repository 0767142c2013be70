package dev.verbena.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkCompletion;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** A server with Valkey's transport and a few of its commands, in memory. A script in place of the commands can lie to clients. */
final class ValkeyServer implements AutoCloseable {
    static final short GET_FEATURES = 0, KEEP_ALIVE = 2, REGISTER = 3;

    private static final int MESSAGE = 32;
    private static final int RECEIVES = 512;
    private static final int STAGING = 1 << 18;
    private static final int SENT = RECEIVES; // the id of sends and writes, behind those of the receives

    /** The size of the ring of the next client. */
    volatile int ringSize;

    final AtomicInteger keepAlives = new AtomicInteger();
    final InetSocketAddress address;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final Listener listener;
    private final Script script;
    private final Queue<Thread> threads = new ConcurrentLinkedQueue<>();
    private final Queue<Connection> connections = new ConcurrentLinkedQueue<>();
    private final Map<String, byte[]> values = new ConcurrentHashMap<>();

    /** What a server does with a client that has connected. */
    interface Script {
        void run(Peer peer) throws Exception;
    }

    /** Starts a server that carries out commands, with rings of a size. */
    ValkeyServer(int ringSize) {
        this(ringSize, Peer::serve);
    }

    ValkeyServer(int ringSize, Script script) {
        this.ringSize = ringSize;
        this.script = script;
        listener = Listener.open(CmAddress.four(0), arena);
        address = listener.address();
        threads.add(Thread.ofPlatform().daemon().start(this::accept));
    }

    /** Serves until the process is killed, and prints the port. */
    public static void main(String[] arguments) throws InterruptedException {
        try (ValkeyServer server = new ValkeyServer(1 << 16)) {
            System.out.println(server.address.getPort());
            Thread.currentThread().join();
        }
    }

    private void accept() {
        ConnectionResources sizes =
                ConnectionResources.of(QueueCapabilities.of(RECEIVES, RECEIVES).inlineSize(MESSAGE));
        try {
            while (true) {
                VerbsArena own = VerbsArena.ofShared();
                Connection taken = listener.awaitConnection(Duration.ofDays(1), sizes, own);
                connections.add(taken);
                threads.add(Thread.ofPlatform().daemon().start(() -> serve(taken, own)));
            }
        } catch (IllegalStateException | InterruptedException closed) {
            // This server ends.
        }
    }

    private void serve(Connection taken, VerbsArena own) {
        try (own) {
            script.run(new Peer(taken, own));
        } catch (VerbsException | IllegalStateException gone) {
            // The client has closed its connection, or this server, or this side has lied.
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() {
        listener.close();
        connections.forEach(Connection::close);
        try {
            for (Thread each : threads) {
                Await.end(each);
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        arena.close();
    }

    /** A client, as this server sees it. */
    final class Peer extends InputStream {
        final Connection connection;
        final MemoryRegion ring;
        private final MemoryRegion messages;
        private final MemoryRegion staging;
        private final ByteArrayOutputStream replies = new ByteArrayOutputStream();
        private RemoteMemory other = new RemoteMemory(0, 0, 0);
        private long filled;
        private int arrived;
        private int taken;
        private int underWay;

        private Peer(Connection connection, VerbsArena own) throws InterruptedException {
            this.connection = connection;
            messages = connection.register(own.allocate(RECEIVES * MESSAGE), AccessFlag.LOCAL_WRITE);
            ring = connection.register(own.allocate(ringSize), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
            staging = connection.register(own.allocate(STAGING));
            for (int slot = 0; slot < RECEIVES; slot++) {
                receive(slot);
            }
            connection.accept(Loopback.DEADLINE);
        }

        private void receive(int slot) {
            connection.queuePair().postReceive(slot, messages, (long) slot * MESSAGE, MESSAGE);
        }

        static ByteBuffer message(int kind) {
            return ByteBuffer.allocate(MESSAGE).putShort(0, (short) kind);
        }

        void send(ByteBuffer message) {
            underWay++;
            connection.queuePair().postSendInline(SENT, MemorySegment.ofBuffer(message));
        }

        /** Tells the client about a ring, which may be another than there is. */
        void register(long address, int length, int key) {
            arrived = 0;
            taken = 0;
            send(message(REGISTER).putLong(16, address).putInt(24, length).putInt(28, key));
        }

        /** Tells the client about the ring, which is empty. */
        void register() {
            register(ring.address(), (int) ring.length(), ring.remoteKey());
        }

        /** Returns the ring of the client, once it has told about it. */
        RemoteMemory other() throws InterruptedException {
            while (other.length() == 0) {
                next();
            }
            return other;
        }

        /** Writes the first bytes of the staging memory, and announces any number. */
        void write(RemoteMemory to, int announced) {
            underWay++;
            connection.queuePair().postWriteImmediate(SENT, staging.slice(0, to.length()), to, announced);
        }

        void awaitSent() throws InterruptedException {
            while (underWay > 0) {
                next();
            }
        }

        /** Takes completions until the connection ends. */
        void awaitEnd() throws InterruptedException {
            while (true) {
                next();
            }
        }

        private void next() throws InterruptedException {
            WorkCompletion done = connection.awaitCompletion(Loopback.DEADLINE).orThrow();
            int slot = (int) done.id();
            if (slot == SENT) {
                underWay--;
                return;
            }
            if (done.hasImmediate()) {
                arrived += done.immediate();
            } else {
                ByteBuffer message = messages.segment()
                        .asSlice((long) slot * MESSAGE, MESSAGE)
                        .asByteBuffer();
                switch (message.getShort(0)) {
                    case GET_FEATURES -> send(message(GET_FEATURES));
                    case KEEP_ALIVE -> keepAlives.incrementAndGet();
                    case REGISTER -> {
                        other = new RemoteMemory(message.getLong(16), message.getInt(28), message.getInt(24));
                        filled = 0;
                    }
                    default -> {} // of features, there are none to set
                }
            }
            receive(slot);
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) {
            try {
                while (arrived == taken && length > 0) {
                    flush();
                    if (taken == ring.length()) {
                        register();
                    }
                    next();
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            int part = Math.min(length, arrived - taken);
            MemorySegment.copy(ring.segment(), ValueLayout.JAVA_BYTE, taken, bytes, offset, part);
            taken += part;
            return part;
        }

        /** Sends the replies so far. */
        private void flush() throws InterruptedException {
            byte[] all = replies.toByteArray();
            replies.reset();
            for (int done = 0; done < all.length; ) {
                awaitSent();
                while (filled == other.length()) {
                    next();
                }
                int part = (int) Math.min(Math.min(all.length - done, STAGING), other.length() - filled);
                MemorySegment.copy(all, done, staging.segment(), ValueLayout.JAVA_BYTE, 0, part);
                write(other.slice(filled, part), part);
                filled += part;
                done += part;
            }
        }

        /** Carries out commands until the client is gone. */
        void serve() throws Exception {
            register();
            while (true) {
                byte[][] command = new byte[number('*')][];
                for (int i = 0; i < command.length; i++) {
                    command[i] = readNBytes(number('$'));
                    readNBytes(2);
                }
                reply(command);
            }
        }

        private int number(char kind) throws IOException {
            StringBuilder line = new StringBuilder();
            for (int next = read(); next != '\n'; next = read()) {
                line.append((char) next);
            }
            if (line.charAt(0) != kind) {
                throw new AssertionError("expected " + kind + ", got " + line);
            }
            return Integer.parseInt(line.substring(1).strip());
        }

        private void reply(byte[][] command) {
            switch (new String(command[0], UTF_8)) {
                case "PING" -> simple("+PONG");
                case "ECHO" -> bulk(command[1]);
                case "GET" -> bulk(values.get(new String(command[1], UTF_8)));
                case "SET" -> {
                    values.put(new String(command[1], UTF_8), command[2]);
                    simple("+OK");
                }
                case "INCR" ->
                    simple(":"
                            + new String(
                                    values.merge(
                                            new String(command[1], UTF_8),
                                            "1".getBytes(UTF_8),
                                            (old, one) -> Integer.toString(Integer.parseInt(new String(old, UTF_8)) + 1)
                                                    .getBytes(UTF_8)),
                                    UTF_8));
                default -> simple("-ERR unknown command");
            }
        }

        private void simple(String line) {
            put((line + "\r\n").getBytes(UTF_8));
        }

        private void bulk(byte[] value) {
            if (value == null) {
                simple("$-1");
            } else {
                simple("$" + value.length);
                put(value);
                simple("");
            }
        }

        private void put(byte[] bytes) {
            try {
                replies.write(bytes);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}

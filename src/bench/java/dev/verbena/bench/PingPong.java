package dev.verbena.bench;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.device.Mtu;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * {@code ibv_rc_pingpong} in Java, with the same exchange of addresses over TCP, the same loop and the same defaults, but
 * by {@link Turns}. Sleeps between polls, as with {@code -e}, if an argument says {@code events}.
 */
final class PingPong {
    private static final int DEPTH = 500;
    private static final int RECEIVE = 1;
    private static final int SEND = 2;
    private static final int MESSAGE = 52;
    private static final byte[] DONE = "done\0".getBytes(StandardCharsets.US_ASCII);
    private static final int PATIENCE_MILLIS = 60_000;
    private static final Duration PATIENCE = Duration.ofMillis(PATIENCE_MILLIS);

    private final QueuePair pair;
    private final MemoryRegion buffer;
    private final Completions done;
    private final boolean sleeping;
    private int posted;

    private PingPong(VerbsArena arena, int size, boolean sleeping) {
        this.sleeping = sleeping;
        Context context = Device.first().open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueueOptions options = CompletionQueueOptions.of(DEPTH + 1);
        CompletionQueue queue =
                context.createCompletionQueue(sleeping ? options.channel(context.createCompletionChannel()) : options);
        pair = domain.createQueuePair(QueuePair.rc(queue).sendDepth(1).receiveDepth(DEPTH));
        buffer = domain.register(arena.allocate(size, 4096), LOCAL_WRITE);
        done = queue.completions(2);
        pair.toInit(options());
        postReceives(DEPTH);
    }

    private static QueuePairAttributes options() {
        return QueuePairAttributes.none().pathMtu(Mtu.BYTES_1024);
    }

    private void postReceives(int count) {
        for (int i = 0; i < count; i++) {
            pair.postReceive(RECEIVE, buffer);
        }
        posted += count;
    }

    /**
     * Arguments: message size, round trips of the warm-up and of a turn, {@code poll} or {@code events}, port; for a client
     * the server's address.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        boolean client = args.length > 5;
        int port = Integer.parseInt(args[4]);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            PingPong end = new PingPong(arena, Integer.parseInt(args[0]), args[3].equals("events"));
            Turns turns =
                    new Turns(Integer.parseInt(args[1]), Integer.parseInt(args[2]), rounds -> end.run(rounds, client));
            if (client) {
                end.lead(turns, args[5], port);
            } else {
                end.follow(turns, port);
            }
        }
    }

    private void follow(Turns turns, int port) throws IOException, InterruptedException {
        try (ServerSocket server = new ServerSocket(port);
                Socket socket = server.accept()) {
            Endpoint peer = read(socket);
            pair.connect(peer, options());
            write(socket);
            InputStream in = socket.getInputStream();
            in.readNBytes(DONE.length);
            OutputStream out = socket.getOutputStream();
            turns.follow(() -> {
                boolean more = in.read() > 0;
                out.write(1); // a message of the next turn may come from now on
                return more;
            });
        }
    }

    private void lead(Turns turns, String server, int port) throws IOException, InterruptedException {
        try (Socket socket = connect(new InetSocketAddress(InetAddress.getByName(server), port))) {
            write(socket);
            pair.connect(read(socket), options());
            OutputStream out = socket.getOutputStream();
            out.write(DONE);
            InputStream in = socket.getInputStream();
            turns.lead(more -> {
                out.write(more ? 1 : 0);
                in.read();
            });
        }
    }

    /** Connects to the server, with retries while it starts. */
    private static Socket connect(InetSocketAddress server) throws IOException {
        long end = System.nanoTime() + PATIENCE_MILLIS * 1_000_000L;
        while (true) {
            Socket socket = new Socket();
            try {
                socket.connect(server, PATIENCE_MILLIS);
                return socket;
            } catch (ConnectException notYet) {
                socket.close();
                if (System.nanoTime() > end) {
                    throw notYet;
                }
                Thread.onSpinWait();
            }
        }
    }

    private void write(Socket socket) throws IOException {
        OutputStream out = socket.getOutputStream();
        out.write((pair.endpoint() + "\0").getBytes(StandardCharsets.US_ASCII));
        out.flush();
    }

    private static Endpoint read(Socket socket) throws IOException {
        byte[] message = new byte[MESSAGE];
        try {
            new DataInputStream(socket.getInputStream()).readFully(message);
        } catch (EOFException e) {
            throw new IOException("The other end went away", e);
        }
        return Endpoint.parse(new String(message, 0, MESSAGE - 1, StandardCharsets.US_ASCII));
    }

    /**
     * Runs the round trips. As in C, the next send is posted when the last one and a receive have completed. Returns the time
     * of each {@value Turns#STEP}th message received.
     */
    private long[] run(int rounds, boolean client) throws InterruptedException {
        long[] times = new long[rounds / Turns.STEP + 1];
        int sent = 0;
        int received = 0;
        int pending = RECEIVE;
        if (client) {
            pair.postSend(SEND, buffer);
            pending |= SEND;
        }
        while (received < rounds || sent < rounds) {
            fetch();
            while (done.next()) {
                done.orThrow();
                if (done.id() == SEND) {
                    sent++;
                } else {
                    if (++received % Turns.STEP == 0) {
                        times[received / Turns.STEP] = System.nanoTime();
                    }
                    if (--posted <= 1) {
                        postReceives(DEPTH - posted);
                    }
                }
                pending &= ~(int) done.id();
                if (sent < rounds && pending == 0) {
                    pair.postSend(SEND, buffer);
                    pending = RECEIVE | SEND;
                }
            }
        }
        return times;
    }

    private void fetch() throws InterruptedException {
        if (sleeping) {
            done.await(PATIENCE);
            return;
        }
        while (done.poll() == 0) {
            // spin, as C does
        }
    }
}

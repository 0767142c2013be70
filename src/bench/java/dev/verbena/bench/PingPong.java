package dev.verbena.bench;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ConnectOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.device.Mtu;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;

/**
 * {@code ibv_rc_pingpong} in Java, with the same exchange of addresses over TCP, the same loop and the same defaults.
 * Interoperates with the program in C. Sleeps between polls, as with {@code -e}, if an argument says {@code events}.
 *
 * <p>Times are noted at each {@value #STEP}th round trip from the first one on. A branch that is first taken at the end of
 * the warm-up would have the JVM compile the loop again, in the middle of the measurement: while two processes poll on two
 * processors, this takes longer than all measured round trips, which are then slow.
 */
final class PingPong {
    private static final int DEPTH = 500;
    private static final int RECEIVE = 1;
    private static final int SEND = 2;
    private static final int MESSAGE = 52;
    private static final int PATIENCE_MILLIS = 60_000;
    static final int STEP = 500;
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

    private static ConnectOptions options() {
        return ConnectOptions.defaults().pathMtu(Mtu.BYTES_1024);
    }

    private void postReceives(int count) {
        for (int i = 0; i < count; i++) {
            pair.postReceive(RECEIVE, buffer);
        }
        posted += count;
    }

    /**
     * Arguments: message size, round trips of the warm-up and measured ones, both multiples of {@value #STEP}, {@code poll} or
     * {@code events}, port; for a client the server's address.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        int warm = Integer.parseInt(args[1]);
        int rounds = Integer.parseInt(args[2]);
        int port = Integer.parseInt(args[4]);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            PingPong end = new PingPong(arena, Integer.parseInt(args[0]), args[3].equals("events"));
            boolean client = args.length > 5;
            if (client) {
                end.connectTo(args[5], port);
            } else {
                end.accept(port);
            }
            long[] times = end.run(warm + rounds, client);
            double micros = (times[(warm + rounds) / STEP] - times[warm / STEP]) / 1000.0;
            System.out.printf(
                    Locale.ROOT, "%d iters in %.2f seconds = %.2f usec/iter%n", rounds, micros / 1e6, micros / rounds);
        }
    }

    private void accept(int port) throws IOException {
        try (ServerSocket server = new ServerSocket(port);
                Socket socket = server.accept()) {
            Endpoint peer = read(socket);
            pair.connect(peer, options());
            write(socket);
            socket.getInputStream().read(new byte[MESSAGE]); // "done"
        }
    }

    private void connectTo(String server, int port) throws IOException {
        try (Socket socket = connect(new InetSocketAddress(InetAddress.getByName(server), port))) {
            write(socket);
            pair.connect(read(socket), options());
            socket.getOutputStream().write("done\0".getBytes(StandardCharsets.US_ASCII));
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
     * of each {@value #STEP}th message received.
     */
    private long[] run(int rounds, boolean client) throws InterruptedException {
        long[] times = new long[rounds / STEP + 1];
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
                    if (++received % STEP == 0) {
                        times[received / STEP] = System.nanoTime();
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

package dev.verbena.bench;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.MW_BIND;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Handler;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * Measures what the connection layer adds to verbs that post the same work, on the provider for tests: a message there and
 * back, polling and with a handler, a call, and a read by ticket. Both ends are in this thread, and both sides take turns.
 */
final class NetCosts {
    private static final Duration PATIENCE = Duration.ofSeconds(120); // for a cold JVM in a guest
    private static final String ADDRESS = "10.9.9.1";
    static final int SIZE = 64;
    private static final int RECEIVES = 32;
    private static final int OPERATIONS = 500;

    private NetCosts() {}

    /** One operation. */
    interface Operation {
        void once();
    }

    private interface Maker {
        Operation make(VerbsArena arena) throws InterruptedException;
    }

    /** Arguments: warm-up rounds, measured rounds. */
    public static void main(String[] args) throws InterruptedException {
        int warm = Integer.parseInt(args[0]);
        int rounds = Integer.parseInt(args[1]);
        System.out.println(
                "ns per operation on the provider for tests: minimum and median of verbs and of nodes, ratio and difference"
                        + "\nof the minima, bytes allocated by nodes");
        Maker there = arena -> new Verbs(arena)::there;
        row("message there and back, polling", there, arena -> nodes(arena, options(SIZE), false), warm, rounds, 1.10);
        row("message there and back, handler", there, arena -> nodes(arena, options(SIZE), true), warm, rounds, 1.15);
        row("call", there, NetCosts::calls, warm, rounds, 1.25);
        row("read by ticket", arena -> new Verbs(arena)::read, NetCosts::reads, warm, rounds, 1.15);
        SecretCosts.print(warm, rounds);
    }

    /** Measures both ends of a row in an arena of their own, because the provider looks through lists of all objects. */
    private static void row(String name, Maker verbs, Maker nodes, int warm, int rounds, double target)
            throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            row(name, verbs.make(arena), nodes.make(arena), warm, rounds, target);
        }
    }

    private static void row(String name, Operation verbs, Operation nodes, int warm, int rounds, double target) {
        ByTurns turns = ByTurns.measure(warm, rounds, () -> round(verbs, OPERATIONS), () -> round(nodes, OPERATIONS));
        System.out.printf(
                Locale.ROOT,
                "%-34s %8.1f %8.1f  %8.1f %8.1f  %5.2fx (target <= %.2fx) %+6.1f  %.2f B%n",
                name,
                turns.least(0),
                turns.median(0),
                turns.least(1),
                turns.median(1),
                turns.least(1) / turns.least(0),
                target,
                turns.least(1) - turns.least(0),
                (double) turns.bytes(1) / OPERATIONS);
    }

    /** Returns the nanoseconds of an operation, of a number of them. */
    static double round(Operation operation, int operations) {
        long start = System.nanoTime();
        for (int i = 0; i < operations; i++) {
            operation.once();
        }
        return (double) (System.nanoTime() - start) / operations;
    }

    /** Two queue pairs, each with a completion queue and posted receives, as a node has them. */
    private static final class Verbs {
        private final End left;
        private final End right;
        private final SendBatch reads;
        private final RemoteMemory remote;

        Verbs(VerbsArena arena) {
            Context context = Device.first().open(arena);
            ProtectionDomain domain = context.allocateProtectionDomain();
            left = new End(context, domain, arena);
            right = new End(context, domain, arena);
            left.pair.connect(right.pair.endpoint());
            right.pair.connect(left.pair.endpoint());
            for (int i = 0; i < RECEIVES; i++) {
                left.receive(i);
                right.receive(i);
            }
            reads = left.pair.sendBatch(1);
            remote = right.window(domain, arena);
        }

        void there() {
            left.send();
            right.take();
            right.send();
            left.take();
        }

        void read() {
            reads.clear().read(End.SEND, left.slices[0], remote).post();
            left.awaitSend();
        }
    }

    private static final class End {
        static final int SEND = 1 << 16;

        private final QueuePair pair;
        private final MemoryRegion region;
        private final LocalMemory[] slices = new LocalMemory[RECEIVES + 1];
        private final Completions done;
        private final SendBatch sends;
        private final ReceiveBatch receives;
        private boolean sent = true;

        End(Context context, ProtectionDomain domain, VerbsArena arena) {
            CompletionQueue queue = context.createCompletionQueue(2 * RECEIVES);
            pair = domain.createQueuePair(
                    QueuePair.rc(queue).sendDepth(RECEIVES).receiveDepth(RECEIVES));
            region = domain.register(arena.allocate((RECEIVES + 1L) * SIZE, 4096), LOCAL_WRITE, REMOTE_READ, MW_BIND);
            for (int i = 0; i <= RECEIVES; i++) {
                slices[i] = region.slice((long) i * SIZE, SIZE);
            }
            done = queue.completions(16);
            sends = pair.sendBatch(1);
            receives = pair.receiveBatch(1);
        }

        void receive(int slot) {
            receives.clear().receive(slot, slices[slot]).post();
        }

        void send() {
            while (!sent) {
                poll();
            }
            sent = false;
            sends.clear().send(SEND, slices[RECEIVES]).immediate(7).post();
        }

        /** Takes a message, and posts its receive again. */
        void take() {
            while (!poll()) {
                Thread.onSpinWait();
            }
        }

        /** Makes a window of type 2 for the peer, as nodes do for an export. */
        RemoteMemory window(ProtectionDomain domain, VerbsArena arena) {
            MemoryWindow window = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2, arena);
            sends.clear()
                    .bind(SEND, window, region.slice(0, SIZE), List.of(REMOTE_READ))
                    .post();
            awaitSend();
            return window.remote();
        }

        void awaitSend() {
            sent = false;
            while (!sent) {
                poll();
            }
        }

        private boolean poll() {
            boolean received = false;
            done.poll();
            while (done.next()) {
                if (!done.isSuccess()) {
                    done.orThrow();
                }
                if (done.id() == SEND) {
                    sent = true;
                } else {
                    received = true;
                    receive((int) done.id());
                }
            }
            return received;
        }
    }

    static NodeOptions options(int size) {
        return NodeOptions.defaults()
                .messageSize(size)
                .handshakeTimeout(PATIENCE)
                .alive(Duration.ofHours(1))
                .closeTimeout(Duration.ofMillis(100)) // the peer makes no progress meanwhile
                .progress(NodeOptions.Progress.CALLER);
    }

    private static Node open(String address, NodeOptions options, VerbsArena arena) {
        return Node.open(new InetSocketAddress(address, 0), options, arena);
    }

    /** Both ends of a channel. The server's node makes progress while the client's one connects. */
    record Ends(Node client, Node server, Channel channel) {
        static Ends connect(VerbsArena arena, String address, NodeOptions options, Handler handler)
                throws InterruptedException {
            Node server = open(address, options, arena);
            Node client = open(address, options, arena);
            if (handler != null) {
                server.listen(handler);
            }
            Thread progress = progress(server);
            Channel channel = client.connect(server.address(), PATIENCE);
            progress.interrupt();
            progress.join();
            return new Ends(client, server, channel);
        }

        private static Thread progress(Node node) {
            return Thread.ofPlatform().daemon().start(() -> {
                while (!Thread.currentThread().isInterrupted()) {
                    node.progress();
                }
            });
        }

        /** Exports memory of the server, and finds it. */
        RemoteMemory export(MemorySegment memory) throws InterruptedException {
            server.export("memory", memory, REMOTE_READ);
            Thread progress = progress(server);
            RemoteMemory remote = channel.remote("memory", PATIENCE);
            progress.interrupt();
            progress.join();
            return remote;
        }

        /** Waits for an operation of the client. */
        void await(long ticket) {
            while (!channel.isDone(ticket)) {
                client.progress();
            }
            try {
                channel.await(ticket, Duration.ZERO);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static void back(Channel channel, Message message) {
        Message answer = channel.pollMessage();
        answer.length(message.length());
        while (!channel.trySend(answer)) {
            channel.node().progress();
        }
    }

    /** Makes a message there and back, of the size in the options. */
    static Operation nodes(VerbsArena arena, NodeOptions options, boolean handler) throws InterruptedException {
        return nodes(arena, ADDRESS, options, handler);
    }

    static Operation nodes(VerbsArena arena, String address, NodeOptions options, boolean handler)
            throws InterruptedException {
        Ends ends = Ends.connect(arena, address, options, handler ? NetCosts::back : null);
        int size = ends.channel().maxMessageSize();
        Channel peer = handler ? null : ends.server().accept(PATIENCE);
        return () -> {
            Message message = ends.channel().pollMessage();
            while (message == null) {
                ends.client().progress();
                message = ends.channel().pollMessage();
            }
            message.length(size);
            while (!ends.channel().trySend(message)) {
                ends.client().progress();
            }
            if (peer == null) {
                ends.server().progress();
            } else {
                Message there = peer.pollReceive();
                while (there == null) {
                    ends.server().progress();
                    there = peer.pollReceive();
                }
                back(peer, there);
                there.close();
            }
            Message answer = ends.channel().pollReceive();
            while (answer == null) {
                ends.client().progress();
                answer = ends.channel().pollReceive();
                if (answer == null) {
                    ends.server().progress();
                }
            }
            answer.close();
        };
    }

    /** Makes calls by tickets, which a handler answers: a thread that waits in {@code call} could not be the server's too. */
    private static Operation calls(VerbsArena arena) throws InterruptedException {
        Ends ends = Ends.connect(arena, ADDRESS, options(SIZE), NetCosts::reply);
        Channel channel = ends.channel();
        return () -> {
            Message request = channel.pollMessage();
            while (request == null) {
                ends.client().progress();
                request = channel.pollMessage();
            }
            request.length(SIZE);
            long ticket = channel.tryCall(request);
            while (ticket == 0) {
                ends.client().progress();
                ticket = channel.tryCall(request);
            }
            Message reply = null;
            while (reply == null) {
                ends.server().progress();
                ends.client().progress();
                reply = channel.pollReply(ticket);
            }
            reply.close();
        };
    }

    private static void reply(Channel channel, Message request) {
        request.reply().length(request.length()).send();
    }

    private static Operation reads(VerbsArena arena) throws InterruptedException {
        Ends ends = Ends.connect(arena, ADDRESS, options(SIZE), (channel, message) -> {});
        RemoteMemory remote = ends.export(arena.allocate(SIZE, 64));
        LocalMemory local = ends.client().register(arena.allocate(SIZE, 64), LOCAL_WRITE);
        return () -> ends.await(ends.channel().tryRead(local, remote));
    }
}

package dev.verbena.tools;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Listener;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ConnectOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Endpoint;
import dev.verbena.verbs.Grh;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** One end of a measurement: a queue pair that is connected, its completions and its memory. */
final class PerfLink {
    static final long RECEIVE = 1;
    static final long SEND = 2;

    private static final Duration STEP = Duration.ofSeconds(10);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int QKEY = 0x1111_1111;
    private static final int SPINS = 1_000;
    private static final int CURSOR = 64;

    private final PerfPlan plan;
    private final QueuePair pair;
    private final MemoryRegion memory;
    private final Completions done;
    private final int header;
    private int receives;
    private @Nullable AddressHandle path;
    private int peer;
    private RemoteMemory remote;

    private PerfLink(PerfPlan plan, QueuePair pair, CompletionQueue queue, MemoryRegion memory) {
        this.plan = plan;
        this.pair = pair;
        this.memory = memory;
        this.done = queue.completions(CURSOR);
        this.header = plan.type() == QueuePairType.UD ? Grh.BYTES : 0;
        this.remote = memory.remote();
    }

    private static int memorySize(PerfPlan plan) {
        return Math.max(8, plan.largest()) + Grh.BYTES;
    }

    /** Connected through endpoints that both sides tell each other over TCP. */
    static PerfLink overTcp(PerfPlan plan, Context context, int port, int gidIndex, Tcp tcp)
            throws IOException, InterruptedException {
        int packet = context.port(port).activeMtu().bytes();
        if (plan.type() == QueuePairType.UD && plan.largest() > packet) {
            throw new IllegalArgumentException("A datagram is one packet, and the port's has " + packet + " bytes");
        }
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueueOptions options = CompletionQueueOptions.of(3 * plan.depth());
        if (plan.events()) {
            options = options.channel(context.createCompletionChannel());
        }
        CompletionQueue queue = context.createCompletionQueue(options);
        QueuePairOptions wanted = switch (plan.type()) {
            case UC -> QueuePair.uc(queue);
            case UD -> QueuePair.ud(queue);
            default -> QueuePair.rc(queue);
        };
        QueuePair pair = domain.createQueuePair(wanted.port(port).gidIndex(gidIndex).sendDepth(plan.depth())
                .receiveDepth(2 * plan.depth()).inlineSize(plan.inline()));
        MemorySegment bytes = domain.arena().allocate(memorySize(plan), 4096);
        MemoryRegion memory = plan.type() == QueuePairType.RC
                ? domain.register(bytes, LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC)
                : domain.register(bytes, LOCAL_WRITE, REMOTE_WRITE);
        PerfLink link = new PerfLink(plan, pair, queue, memory);
        ByteBuffer mine = ByteBuffer.allocate(Endpoint.BYTES + RemoteMemory.BYTES);
        mine.put(pair.endpoint().toBytes()).put(memory.remote().toBytes());
        tcp.write(mine.array(), "this side's endpoint");
        byte[] theirs = tcp.read(mine.capacity(), "its endpoint");
        Endpoint endpoint = Endpoint.from(theirs);
        link.remote = remote(theirs, Endpoint.BYTES);
        link.peer = endpoint.queuePairNumber();
        if (plan.type() == QueuePairType.UD) {
            pair.toReady(QKEY);
            link.path = domain.createAddressHandle(pair.pathTo(endpoint));
        } else {
            pair.connect(endpoint, ConnectOptions.defaults());
        }
        return link;
    }

    private static RemoteMemory remote(byte[] bytes, int from) {
        byte[] part = new byte[RemoteMemory.BYTES];
        System.arraycopy(bytes, from, part, 0, part.length);
        return RemoteMemory.from(part);
    }

    private static QueueCapabilities sizes(PerfPlan plan) {
        return new QueueCapabilities(plan.depth(), 2 * plan.depth(), 1, 1, plan.inline());
    }

    /** Connected by the connection manager, as the client. */
    static PerfLink toManager(PerfPlan plan, InetSocketAddress server, VerbsArena arena, Tcp tcp)
            throws IOException, InterruptedException {
        tcp.read(1, "the word that it listens");
        Connection connection = Connection.to(server, STEP, sizes(plan), arena);
        PerfLink link = managed(plan, connection, arena);
        connection.connect(ConnectionParameters.defaults().reads(16, 16).retries(7, 7), STEP);
        link.exchangeMemory(tcp);
        return link;
    }

    /** Connected by the connection manager, as the server. */
    static PerfLink fromManager(PerfPlan plan, InetSocketAddress here, VerbsArena arena, Tcp tcp)
            throws IOException, InterruptedException {
        try (Listener listener = Listener.open(here, arena)) {
            tcp.write(new byte[1], "the word that this side listens");
            Connection connection = listener.next(STEP, sizes(plan), arena);
            PerfLink link = managed(plan, connection, arena);
            connection.accept(ConnectionParameters.defaults().reads(16, 16).retries(7, 7), STEP);
            link.exchangeMemory(tcp);
            return link;
        }
    }

    private static PerfLink managed(PerfPlan plan, Connection connection, VerbsArena arena) {
        MemoryRegion memory = connection.register(arena.allocate(memorySize(plan), 4096),
                LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC);
        return new PerfLink(plan, connection.queuePair(), connection.completions(), memory);
    }

    private void exchangeMemory(Tcp tcp) throws IOException, InterruptedException {
        tcp.write(memory.remote().toBytes(), "where this side's memory is");
        remote = remote(tcp.read(RemoteMemory.BYTES, "where its memory is"), 0);
    }

    /** How many receives should be posted: enough for all that can be under way. */
    private int most() {
        return 2 * plan.depth();
    }

    void postReceives() {
        while (receives < most()) {
            pair.postReceive(RECEIVE, memory);
            receives++;
        }
    }

    /** Counts a receive that has completed, and posts another. */
    void received() {
        receives--;
        pair.postReceive(RECEIVE, memory);
        receives++;
    }

    /** Posts one operation. */
    void post(int size) {
        LocalMemory local = memory.slice(header, size);
        boolean inline = size <= plan.inline();
        AddressHandle to = path;
        switch (plan.operation()) {
            case SEND -> {
                if (to != null && inline) {
                    pair.postSendInline(SEND, local.segment(), to, peer, QKEY);
                } else if (to != null) {
                    pair.postSend(SEND, local, to, peer, QKEY);
                } else if (inline) {
                    pair.postSendInline(SEND, local.segment());
                } else {
                    pair.postSend(SEND, local);
                }
            }
            case WRITE -> {
                if (inline) {
                    pair.postWriteInline(SEND, local.segment(), remote.slice(0, size));
                } else {
                    pair.postWrite(SEND, local, remote.slice(0, size));
                }
            }
            case READ -> pair.postRead(SEND, local, remote.slice(0, size));
            case ATOMIC -> pair.postFetchAndAdd(SEND, memory.slice(0, 8), remote.slice(0, 8), 1);
        }
    }

    /** Waits until something has completed; what has is in the cursor. */
    Completions await() throws InterruptedException {
        if (!awaitFor(PATIENCE)) {
            throw new IllegalStateException("Nothing has completed for " + PATIENCE.toSeconds() + " s"
                    + (plan.type() == QueuePairType.RC ? "" : ": was a message lost?"));
        }
        return done;
    }

    /** Waits so long at most. False if nothing has completed. */
    boolean awaitFor(Duration time) throws InterruptedException {
        if (plan.events()) {
            return done.await(time) > 0;
        }
        long limit = 0;
        for (int idle = 1; done.poll() == 0; idle++) {
            if (idle % SPINS != 0) {
                Thread.onSpinWait();
                continue;
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            long now = System.nanoTime();
            limit = limit == 0 ? now + time.toNanos() : limit;
            if (now > limit) {
                return false;
            }
            Thread.yield(); // the peer may need this processor
        }
        return true;
    }

    Completions completions() {
        return done;
    }
}

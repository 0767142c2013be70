package dev.verbena.docs;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.MW_BIND;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transfer;
import dev.verbena.net.Transport;
import dev.verbena.support.Await;
import dev.verbena.tools.Listening;
import dev.verbena.tools.ToolRun;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RegionChange;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.SharedReceiveQueue;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** A feature of the library, and a small use of it that shows whether it works on the first device. */
enum DriverFeature {
    QUERIES("a device, its ports and GIDs", arena -> {
        Context context = open(arena);
        assertThat(context.attributes().maxQueuePairs()).isPositive();
        assertThat(context.ports()).isNotEmpty();
        assertThat(context.gids()).isNotEmpty();
        return "";
    }),
    MEMORY("registered memory", arena -> {
        MemoryRegion region = open(arena)
                .allocateProtectionDomain()
                .register(arena.allocate(64), LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE);
        assertThat(region.remote().length()).isEqualTo(64);
        return "";
    }),
    REREGISTRATION("`MemoryRegion.reregister`", arena -> {
        MemoryRegion region = open(arena).allocateProtectionDomain().register(arena.allocate(64), LOCAL_WRITE);
        assertThat(region.reregister(RegionChange.of(LOCAL_WRITE, REMOTE_READ)).access())
                .contains(REMOTE_READ);
        return "";
    }),
    ENDPOINTS("`QueuePair.connect`: the first program", arena -> {
        Pair pair = Pair.byEndpoints(arena, options -> options);
        pair.left.pair.postSend(1, pair.left.memory.slice(0, 8));
        pair.left.done();
        pair.right.done();
        return "";
    }),
    MANAGER("`Connection` and `Listener`", arena -> {
        Pair pair = Pair.byManager(arena, QueueCapabilities.of(16, 16));
        pair.left.pair.postSend(1, pair.left.memory.slice(0, 8));
        pair.left.done();
        pair.right.done();
        return "";
    }),
    WRITE_AND_READ("RDMA writes and reads", arena -> {
        Pair pair = Pair.connected(arena);
        pair.left.memory.segment().setString(0, "there");
        pair.left.pair.postWrite(1, pair.left.memory.slice(0, 6), pair.right.memory.remote());
        pair.left.done();
        assertThat(pair.right.memory.segment().getString(0)).isEqualTo("there");
        pair.left.pair.postRead(2, pair.left.memory.slice(8, 6), pair.right.memory.remote());
        pair.left.done();
        assertThat(pair.left.memory.segment().getString(8)).isEqualTo("there");
        return "";
    }),
    IMMEDIATE("immediate data", arena -> {
        Datagrams datagrams = Datagrams.orNull(arena);
        if (datagrams != null) {
            datagrams.pair.postReceive(1, datagrams.memory);
            datagrams.post(batch -> batch.send(2, datagrams.memory.slice(0, 8)).immediate(77));
            return "for datagrams";
        }
        Pair pair = Pair.connected(arena);
        pair.left.pair.postSendImmediate(1, pair.left.memory.slice(0, 8), 77);
        pair.left.done();
        assertThat(pair.right.queue.await(DEADLINE).orThrow().immediate()).isEqualTo(77);
        return "";
    }),
    INLINE("inline data", arena -> {
        Datagrams datagrams = Datagrams.orNull(arena);
        if (datagrams != null) {
            datagrams.pair.postReceive(1, datagrams.memory);
            datagrams.post(batch -> batch.sendInline(2, arena.allocate(32)));
            return "for datagrams";
        }
        Pair pair = Pair.connected(arena);
        MemorySegment data = Arena.ofAuto().allocateFrom("inline");
        pair.left.pair.postWriteInline(1, data, pair.right.memory.remote());
        pair.left.done();
        assertThat(pair.right.memory.segment().getString(0)).isEqualTo("inline");
        return "";
    }),
    UNSIGNALED("sends without a completion", arena -> {
        Datagrams datagrams = Datagrams.orNull(arena);
        if (datagrams != null) {
            datagrams.post(batch -> batch.send(2, datagrams.memory.slice(0, 8)).unsignaled());
            return "for datagrams";
        }
        Pair pair = Pair.connected(arena);
        pair.left.pair.unsignaled().postWrite(1, pair.left.memory.slice(0, 8), pair.right.memory.remote());
        pair.left.pair.postWrite(2, pair.left.memory.slice(0, 8), pair.right.memory.remote());
        assertThat(pair.left.queue.await(DEADLINE).orThrow().id()).isEqualTo(2);
        return "";
    }),
    ATOMICS("atomics", arena -> {
        Pair pair = Pair.connected(arena);
        pair.left.pair.postFetchAndAdd(1, pair.left.memory.slice(0, 8), pair.right.memory.remote(), 5);
        pair.left.done();
        assertThat(pair.right.memory.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(5);
        return "";
    }),
    DATAGRAMS("datagrams", arena -> {
        Datagrams datagrams = new Datagrams(arena);
        datagrams.pair.postReceive(1, datagrams.memory);
        datagrams.post(batch -> batch.send(2, datagrams.memory.slice(0, 8)));
        datagrams.queue.await(DEADLINE).orThrow();
        datagrams.queue.await(DEADLINE).orThrow();
        return "";
    }),
    SHARED_RECEIVES("shared receive queues", arena -> {
        ProtectionDomain domain = open(arena).allocateProtectionDomain();
        SharedReceiveQueue shared =
                domain.createSharedReceiveQueue(SharedReceiveQueue.basic().depth(8));
        shared.postReceive(1, domain.register(arena.allocate(64), LOCAL_WRITE));
        return "";
    }),
    WINDOWS("memory windows", arena -> {
        Pair pair = Pair.connected(arena);
        MemoryRegion bound = pair.left.memory.domain().register(arena.allocate(64), LOCAL_WRITE, MW_BIND);
        try {
            MemoryWindow window = bound.domain().allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
            pair.left.pair.postBind(1, window, bound, Set.of(REMOTE_READ));
            pair.left.done();
            return "";
        } catch (UnsupportedVerbException older) {
            MemoryWindow window = bound.domain().allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
            pair.left.pair.postBind(1, window, bound, Set.of(REMOTE_READ));
            pair.left.done();
            return "windows of TYPE_1, not of TYPE_2";
        }
    }),
    RESIZING("`CompletionQueue.resize`", arena -> {
        CompletionQueue queue = open(arena).createCompletionQueue(8);
        queue.resize(32);
        assertThat(queue.capacity()).isGreaterThanOrEqualTo(32);
        return "";
    }),
    EXTENDED_COMPLETIONS("extended completion queues", arena -> {
        Set<CompletionField> fields = EnumSet.copyOf(CompletionField.standard());
        try {
            open(arena).createCompletionQueue(CompletionQueueOptions.of(8).fields(fields));
            return "";
        } catch (UnsupportedVerbException refused) {
            if (!refused.getMessage().contains("PATH_BITS")) {
                throw refused;
            }
            fields.remove(CompletionField.PATH_BITS);
            open(arena).createCompletionQueue(CompletionQueueOptions.of(8).fields(fields));
            return "without `CompletionField.PATH_BITS`";
        }
    }),
    EXTENDED_SENDS("extended queue pairs (`ibv_wr_*`)", arena -> {
        Context context = open(arena);
        CompletionQueue queue = context.createCompletionQueue(8);
        ProtectionDomain domain = context.allocateProtectionDomain();
        QueuePairOptions.OfferedOperation send = QueuePairOptions.OfferedOperation.SEND;
        try {
            domain.createQueuePair(QueuePair.rc(queue).operations(send));
            return "";
        } catch (UnsupportedVerbException connections) {
            domain.createQueuePair(QueuePair.ud(queue).operations(send));
            return "for datagrams";
        }
    }),
    STATE("`QueuePair.state` and `query`", arena -> {
        Datagrams datagrams = Datagrams.orNull(arena);
        QueuePair pair = datagrams == null ? Pair.connected(arena).left.pair : datagrams.pair;
        assertThat(pair.state()).isEqualTo(QueuePairState.RTS);
        try {
            assertThat(pair.query().state()).isEqualTo(QueuePairState.RTS);
            return "";
        } catch (UnsupportedVerbException refused) {
            return "`state` as this process knows it, and no `query`";
        }
    }),
    CALLS("nodes: messages and calls", arena -> {
        Nodes nodes = new Nodes(arena, Nodes.RDMA);
        nodes.call();
        return "";
    }),
    SECRETS("nodes with a secret", arena -> {
        Nodes nodes = new Nodes(arena, Nodes.RDMA.secret(new byte[32]));
        nodes.call();
        return "";
    }),
    EXPORTS("nodes: memory by name", arena -> {
        Nodes nodes = new Nodes(arena, Nodes.RDMA);
        MemorySegment table = arena.allocate(64, 8);
        table.set(ValueLayout.JAVA_LONG, 0, 42);
        nodes.server.export("table", table, REMOTE_READ, REMOTE_WRITE);
        Channel channel = nodes.connect();
        MemoryRegion into = nodes.client.register(arena.allocate(8), LOCAL_WRITE);
        channel.read(into, channel.remote("table", DEADLINE).slice(0, 8), DEADLINE);
        assertThat(into.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(42);
        return "";
    }),
    NODE_ATOMICS("nodes: atomics", arena -> {
        Nodes nodes = new Nodes(arena, Nodes.RDMA);
        nodes.server.export("number", arena.allocate(8, 8), REMOTE_ATOMIC);
        Channel channel = nodes.connect();
        RemoteMemory number = channel.remote("number", DEADLINE);
        try {
            assertThat(channel.fetchAndAdd(number, 1, DEADLINE)).isZero();
        } catch (VerbsException refused) {
            nodes.call(channel); // the channel goes on
            throw refused;
        }
        return "";
    }),
    TRANSFERS("nodes: transfers of any size", arena -> {
        Nodes nodes = new Nodes(arena, Nodes.RDMA);
        Channel channel = nodes.connect();
        byte[] data = new byte[1 << 20];
        data[12345] = 7;
        byte[] target = new byte[data.length];
        FutureTask<Void> offer = start(() -> {
            channel.offer(MemorySegment.ofArray(data), new byte[0], DEADLINE);
            return null;
        });
        try (Message message = nodes.accepted.receive(DEADLINE);
                Transfer transfer = message.transfer()) {
            transfer.accept(MemorySegment.ofArray(target), DEADLINE);
        }
        offer.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        assertThat(target).isEqualTo(data);
        return "";
    }),
    DOCTOR("the self-test of `doctor`", arena -> {
        String out = ToolRun.of("doctor").out();
        String test = out.lines()
                .filter(line -> line.contains("self-test"))
                .findFirst()
                .orElseThrow();
        if (!test.contains("succeeded")) {
            throw new IllegalStateException(test);
        }
        return test.contains("datagram")
                ? "by a datagram"
                : test.contains("manager") ? "by the connection manager" : "";
    }),
    PERF("`perf`", arena -> {
        if (perf("both", "--op", "send").status() == 0) {
            return "";
        }
        if (perf("both", "--op", "send", "-c", "UD").status() == 0) {
            return "with `-c UD`";
        }
        ToolRun net = perf("--net", "-b", Nodes.OWN, "-S", "100000");
        if (net.status() != 0) {
            throw new IllegalStateException(net.err());
        }
        return "with `--net`";
    }),
    PING_PONG("`rc-pingpong` and `ud-pingpong`", arena -> {
        ToolRun connections = pingPong("rc-pingpong");
        ToolRun datagrams = pingPong("ud-pingpong");
        if (connections.status() != 0 && datagrams.status() != 0) {
            throw new IllegalStateException(connections.err());
        }
        return connections.status() != 0 ? "`ud-pingpong`" : datagrams.status() != 0 ? "`rc-pingpong`" : "";
    }),
    RPING("`rping`", arena -> {
        String port = String.valueOf(Listening.freePort());
        FutureTask<ToolRun> server = start(() -> rping("-s", port));
        Await.until(
                "a client has succeeded, or the server failed",
                () -> rping("-c", port).status() == 0 || server.isDone());
        ToolRun served = server.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        if (served.status() != 0) {
            throw new IllegalStateException(served.err());
        }
        return "";
    }),
    COPY("`serve` and `cp`", arena -> {
        Path folder = Files.createTempDirectory("verbena");
        String port = String.valueOf(Listening.freePort());
        ByteArrayOutputStream served = new ByteArrayOutputStream();
        Thread server = ToolRun.start(served, "serve", "-b", Nodes.OWN, "-p", port, folder.toString());
        Await.until(
                "the server listens, or has failed",
                () -> served.toString(UTF_8).contains("serving") || !server.isAlive());
        ToolRun copied = ToolRun.of("cp", "-b", Nodes.OWN, "-p", port, "README.md", Nodes.OWN + ":");
        server.interrupt();
        Await.end(server);
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                assertThat(file).hasSameBinaryContentAs(Path.of("README.md"));
                Files.delete(file);
            }
        }
        Files.delete(folder);
        if (copied.status() != 0) {
            throw new IllegalStateException(copied.err());
        }
        return "";
    }),
    /** Uses a connection as rsocket.c does: rsockets themselves need a kernel. */
    SOCKETS("what `sockets` ask for", arena -> {
        int inline = Device.first().ignoresInlineData() ? 0 : 64;
        Pair pair = Pair.byManager(arena, QueueCapabilities.of(384, 384).inlineSize(inline));
        if (Device.first().transport() == Device.TransportType.IWARP) {
            pair.left.pair.postWrite(1, pair.left.memory.slice(0, 64), pair.right.memory.remote());
            pair.left.done();
            pair.left.pair.postSendInline(2, arena.allocate(4));
        } else {
            pair.left.pair.postWriteImmediate(1, pair.left.memory.slice(0, 64), pair.right.memory.remote(), 77);
        }
        pair.left.done();
        pair.right.done();
        return inline == 0 ? "without inline data" : "";
    }),
    /** Asks for what the options of RdmaSocketOptions, and those of buffers and keep-alive messages, make rsockets ask for. */
    SOCKET_OPTIONS("options of `sockets`", arena -> {
        int deep = open(arena).attributes().maxWorkRequests();
        Pair.byManager(arena, QueueCapabilities.of(deep, deep)); // RDMA_SQSIZE, RDMA_RQSIZE
        Pair pair = Pair.byManager(arena, QueueCapabilities.of(16, 16).inlineSize(4));
        MemoryRegion buffer = pair.right.memory.domain().register(arena.allocate(1 << 20), LOCAL_WRITE, REMOTE_WRITE);
        pair.left.pair.postWrite(
                1, pair.left.memory.slice(0, 8), buffer.remote()); // SO_SNDBUF, SO_RCVBUF, RDMA_IOMAPSIZE
        pair.left.done();
        if (Device.first().transport() == Device.TransportType.IWARP) { // SO_KEEPALIVE
            pair.left.pair.postSendInline(2, arena.allocate(4));
        } else {
            pair.left.pair.postWriteImmediate(2, pair.left.memory.slice(0, 0), new RemoteMemory(0, 0, 0), 77);
        }
        pair.left.done();
        pair.right.done();
        return inlineOfSockets(arena);
    }),
    REPORT("`report`", arena -> {
        Path file = Files.createTempDirectory("verbena").resolve("report");
        ToolRun run = ToolRun.of(
                "report", "--quick", "--no-perftest", "--skip", "doctor,devinfo", "-n", "20", "-o", file.toString());
        String found = Files.readString(Path.of(file + ".json"));
        assertThat(run.status()).as(found).isZero();
        Files.delete(Path.of(file + ".html"));
        Files.delete(Path.of(file + ".json"));
        Files.delete(file.getParent());
        return found.contains("\"mode\": \"bw\"") ? "" : "without measurements";
    }),
    AUTO("nodes with `Transport.AUTO`", arena -> {
        Nodes nodes = new Nodes(arena, Nodes.RDMA.transport(Transport.AUTO), new InetSocketAddress("127.0.0.1", 0));
        return nodes.call().transport() == Transport.RDMA ? "" : "over TCP";
    });

    /** A small use of a feature. */
    interface Use {
        /** Returns the other way in which the feature works; empty if it works as everywhere. */
        String tryIn(VerbsArena arena) throws Exception;
    }

    final String words;
    private final Use use;

    DriverFeature(String words, Use use) {
        this.words = words;
        this.use = use;
    }

    String tryIn(VerbsArena arena) throws Exception {
        return use.tryIn(arena);
    }

    /** Returns the most inline data that connections get, if it is little. The refusal of more names the driver. */
    private static String inlineOfSockets(VerbsArena arena) throws Exception {
        int most = 0;
        for (int size : new int[] {64, 80, 96, 101, 256}) {
            try {
                Pair pair = Pair.byManager(arena, QueueCapabilities.of(16, 16).inlineSize(size));
                most = Math.min(size, pair.left.pair.capabilities().inlineSize());
            } catch (VerbsException refused) {
                assertThat(Device.first().limits())
                        .anyMatch(limit -> limit.contains("inline data")
                                && String.valueOf(refused.getMessage()).contains(limit));
                break;
            }
        }
        return most == 256 ? "" : "`RDMA_INLINE` up to " + most;
    }

    private static ToolRun perf(String... words) throws IOException {
        List<String> all = new ArrayList<>(List.of("perf"));
        all.addAll(List.of(words));
        all.addAll(List.of("--self", "-n", "20", "-p", String.valueOf(Listening.freePort())));
        return ToolRun.of(all.toArray(String[]::new));
    }

    private static ToolRun pingPong(String tool) throws Exception {
        int port = Listening.freePort();
        String[] words = {tool, "-c", "-s", "64", "-n", "20", "-p", String.valueOf(port)};
        FutureTask<ToolRun> server = start(() -> ToolRun.of(words));
        try {
            Listening.await(port, () -> !server.isDone());
        } catch (AssertionError notListening) {
            return server.get(DEADLINE.toSeconds(), TimeUnit.SECONDS); // it was refused before
        }
        List<String> all = new ArrayList<>(List.of(words));
        all.add("127.0.0.1");
        ToolRun client = ToolRun.of(all.toArray(String[]::new));
        ToolRun served = server.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        return new ToolRun(Math.max(client.status(), served.status()), "", served.err() + client.err());
    }

    private static ToolRun rping(String role, String port) {
        return ToolRun.of("rping", role, "-a", Nodes.OWN, "-p", port, "-C", "3");
    }

    private static Context open(VerbsArena arena) {
        return Device.first().open(arena);
    }

    private static <T> FutureTask<T> start(Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        Thread.ofPlatform().daemon().start(task);
        return task;
    }

    /** An end of a connection. A receive is posted. */
    private record End(QueuePair pair, CompletionQueue queue, MemoryRegion memory) {
        static End of(QueuePair pair, CompletionQueue queue, ProtectionDomain domain) {
            MemoryRegion memory = domain.register(
                    domain.arena().allocate(256, 8), LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC);
            pair.postReceive(100, memory.slice(128, 64));
            return new End(pair, queue, memory);
        }

        void done() throws InterruptedException {
            queue.await(DEADLINE).orThrow();
        }
    }

    /** A connection within this process. */
    private record Pair(End left, End right) {
        /** Connects by endpoints, or by the connection manager where the driver wants that. */
        static Pair connected(VerbsArena arena) throws Exception {
            try {
                return byEndpoints(arena, options -> options.inlineSize(32));
            } catch (VerbsException refused) {
                try {
                    return byManager(arena, QueueCapabilities.of(16, 16).inlineSize(32));
                } catch (VerbsException both) {
                    throw refused;
                }
            }
        }

        static Pair byEndpoints(VerbsArena arena, UnaryOperator<QueuePairOptions> options) {
            Context context = open(arena);
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionQueue lefts = context.createCompletionQueue(64);
            CompletionQueue rights = context.createCompletionQueue(64);
            QueuePair left = domain.createQueuePair(options.apply(QueuePair.rc(lefts)));
            QueuePair right = domain.createQueuePair(options.apply(QueuePair.rc(rights)));
            left.connect(right.endpoint());
            right.connect(left.endpoint());
            return new Pair(End.of(left, lefts, domain), End.of(right, rights, domain));
        }

        static Pair byManager(VerbsArena arena, QueueCapabilities sizes) throws Exception {
            ConnectionResources resources = ConnectionResources.of(sizes);
            Listener listener = Listener.open(Nodes.HERE, arena);
            FutureTask<Connection> accepted = start(() -> listener.accept(DEADLINE, resources, arena));
            Connection client = Connection.open(listener.address(), DEADLINE, resources, arena);
            Connection server = accepted.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
            return new Pair(
                    End.of(client.queuePair(), client.completionQueue(), client.domain()),
                    End.of(server.queuePair(), server.completionQueue(), server.domain()));
        }
    }

    /** A queue pair for datagrams, and the path to itself. */
    private static final class Datagrams {
        static final int KEY = 1;
        final CompletionQueue queue;
        final QueuePair pair;
        final MemoryRegion memory;
        final AddressHandle path;

        Datagrams(VerbsArena arena) {
            Context context = open(arena);
            queue = context.createCompletionQueue(8);
            ProtectionDomain domain = context.allocateProtectionDomain();
            pair = domain.createQueuePair(QueuePair.ud(queue).inlineSize(32));
            pair.toReady(KEY);
            memory = domain.register(arena.allocate(256), LOCAL_WRITE);
            path = domain.createAddressHandle(pair.pathTo(pair.endpoint()));
        }

        void post(UnaryOperator<SendBatch> request) {
            request.apply(pair.sendBatch(1)).to(path, pair.number(), KEY).post();
        }

        /** Returns datagrams where there are no connections, else null. */
        static Datagrams orNull(VerbsArena arena) {
            Context context = open(arena);
            CompletionQueue queue = context.createCompletionQueue(8);
            try {
                context.allocateProtectionDomain()
                        .createQueuePair(QueuePair.rc(queue))
                        .close();
                return null;
            } catch (UnsupportedVerbException noConnections) {
                return new Datagrams(arena);
            }
        }
    }

    /** Two nodes of this process. */
    private static final class Nodes {
        static final String OWN = "10.9.9.1";
        static final InetSocketAddress HERE = new InetSocketAddress(OWN, 0);
        static final NodeOptions RDMA =
                NodeOptions.defaults().transport(Transport.RDMA).maxChannels(4);
        final Node server;
        final Node client;
        Channel accepted;

        Nodes(VerbsArena arena, NodeOptions options) {
            this(arena, options, HERE);
        }

        Nodes(VerbsArena arena, NodeOptions options, InetSocketAddress here) {
            server = Node.open(here, options, arena);
            client = Node.open(here, options, arena);
        }

        Channel connect() throws Exception {
            FutureTask<Channel> accepting = start(() -> server.accept(DEADLINE));
            Channel made = client.connect(server.address(), DEADLINE);
            accepted = accepting.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
            return made;
        }

        /** Calls the server on a new channel, and returns the channel. */
        Channel call() throws Exception {
            Channel channel = connect();
            call(channel);
            return channel;
        }

        void call(Channel channel) throws Exception {
            FutureTask<Void> served = start(() -> {
                try (Message request = accepted.receive(DEADLINE)) {
                    request.reply().length(0).send();
                }
                return null;
            });
            channel.call(channel.message(DEADLINE).length(0), DEADLINE).close();
            served.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        }
    }
}

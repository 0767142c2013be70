package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.SharedReceiveQueue;
import java.net.InetSocketAddress;

/**
 * Objects and connections that come, are used, and go, again and again. Also a program for {@link ChildJvm} on the provider
 * for tests, which prints the growth of its resident memory in KiB and its remaining objects. Arguments: {@code objects} or
 * {@code connections}, warm-up cycles, cycles.
 */
public final class ComeAndGo {
    private static final ConnectionResources SMALL = ConnectionResources.of(QueueCapabilities.of(4, 4));

    private ComeAndGo() {}

    private interface Cycles {
        void run(int count) throws InterruptedException;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("objects")) {
            measure(ComeAndGo::make, arguments);
        } else {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Listener listener = Listener.open(new InetSocketAddress("10.9.9.1", 0), arena);
                measure(count -> connect(listener, count), arguments);
            }
        }
        System.out.println("left " + Fenced.remains());
    }

    private static void measure(Cycles cycles, String... arguments) throws Exception {
        cycles.run(Integer.parseInt(arguments[1]));
        long before = Resources.residentKib();
        cycles.run(Integer.parseInt(arguments[2]));
        System.out.println("grown " + (Resources.residentKib() - before));
    }

    /**
     * Makes, uses and closes an object of each kind that soft-RoCE supports, each time in an arena of its own: confined and
     * shared ones by turns.
     */
    public static void make(int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            try (VerbsArena arena = i % 2 == 0 ? VerbsArena.ofConfined() : VerbsArena.ofShared()) {
                makeAll(arena);
            }
        }
    }

    private static void makeAll(VerbsArena arena) throws InterruptedException {
        Context context = TestDevice.get().open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionChannel channel = context.createCompletionChannel();
        CompletionQueue queue =
                context.createCompletionQueue(CompletionQueueOptions.of(16).channel(channel));
        CompletionQueue extended =
                context.createCompletionQueue(CompletionQueueOptions.of(16).fields(CompletionField.standard()));
        MemoryRegion region = domain.register(
                arena.allocate(4096, 4096),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_READ,
                AccessFlag.MW_BIND);
        SharedReceiveQueue shared =
                domain.createSharedReceiveQueue(SharedReceiveQueue.basic().depth(4));
        domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
        domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2).close();

        QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
        pair.connect(pair.endpoint());
        pair.postReceive(1, region.slice(0, 8));
        pair.postSend(2, region.slice(8, 8));
        queue.await(Loopback.DEADLINE).orThrow();
        queue.await(Loopback.DEADLINE).orThrow();

        QueuePair both = domain.createQueuePair(QueuePair.rc(extended)
                .sharedReceiveQueue(shared)
                .operations(QueuePairOptions.OfferedOperation.RDMA_WRITE));
        both.connect(both.endpoint());
        both.postWrite(3, region.slice(0, 8), region.slice(8, 8).remote());
        extended.await(Loopback.DEADLINE).orThrow();

        QueuePair datagrams = domain.createQueuePair(QueuePair.ud(queue));
        datagrams.toReady(1);
        domain.createAddressHandle(datagrams.pathTo(datagrams.endpoint()));
        context.events().poll();
    }

    /** Connects to a listener, sends and receives, disconnects and closes, one connection after the other. */
    public static void connect(Listener listener, int count) throws InterruptedException {
        InetSocketAddress address = listener.address();
        for (int i = 0; i < count; i++) {
            connectOnce(listener, address);
        }
    }

    private static void connectOnce(Listener listener, InetSocketAddress address) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Connection client = Connection.to(address, Loopback.DEADLINE, SMALL, arena);
            client.id().beginConnect(ConnectionParameters.defaults());
            Connection server = listener.awaitConnection(Loopback.DEADLINE, SMALL, arena);
            server.id().beginAccept(ConnectionParameters.defaults());
            expect(client, CmEvent.Type.ESTABLISHED);
            expect(server, CmEvent.Type.ESTABLISHED);
            MemoryRegion source = client.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            MemoryRegion sink = server.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            server.queuePair().postReceive(1, sink);
            client.queuePair().postSend(2, source);
            client.completionQueue().await(Loopback.DEADLINE).orThrow();
            server.completionQueue().await(Loopback.DEADLINE).orThrow();
            client.id().beginDisconnect();
            expect(server, CmEvent.Type.DISCONNECTED);
            server.id().beginDisconnect();
            expect(client, CmEvent.Type.DISCONNECTED);
        }
    }

    private static void expect(Connection side, CmEvent.Type type) throws InterruptedException {
        CmEvent event = side.id().awaitEvent(Loopback.DEADLINE);
        if (event.type() != type) {
            throw new AssertionError("expected " + type + ", got " + event);
        }
    }
}

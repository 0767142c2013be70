package dev.verbena.bench;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.net.Transport;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicReference;
import org.openucx.jucx.UcxException;
import org.openucx.jucx.UcxUtils;
import org.openucx.jucx.ucp.UcpConnectionRequest;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpEndpoint;
import org.openucx.jucx.ucp.UcpEndpointParams;
import org.openucx.jucx.ucp.UcpListenerParams;
import org.openucx.jucx.ucp.UcpMemory;
import org.openucx.jucx.ucp.UcpParams;
import org.openucx.jucx.ucp.UcpRemoteKey;
import org.openucx.jucx.ucp.UcpRequest;
import org.openucx.jucx.ucp.UcpWorker;
import org.openucx.jucx.ucp.UcpWorkerParams;

/**
 * Measures nodes and JUCX: messages there and back, and on a device reads of the other end's memory, which is registered
 * before. Both ends are in this thread, and both libraries take turns. This is compiled only where JUCX is.
 */
final class BesideJucx {
    private static final Duration PATIENCE = Duration.ofSeconds(120);
    private static final int TURNS = 7;
    private static final int LARGE = 1 << 20;
    private static final int BULK = 16 << 20;
    private static final int PIECE = 4 << 20; // as of transfers; a device has a limit

    private BesideJucx() {}

    /** Arguments: an address, that of the device with RDMA, and the transport. Prints the microseconds of each turn. */
    public static void main(String[] args) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Jucx jucx = new Jucx(args[0]);
            Transport transport = Transport.valueOf(args[1]);
            row(
                    "message",
                    jucx.messages(NetCosts.SIZE),
                    messages(arena, args[0], transport, NetCosts.SIZE),
                    20_000,
                    2_000);
            if (transport == Transport.TCP) {
                row("large", jucx.messages(LARGE), messages(arena, args[0], transport, LARGE), 3_000, 200);
            } else {
                row("read", jucx.reads(BULK), reads(arena, args[0]), 2, 2);
            }
        }
    }

    private static NetCosts.Operation messages(VerbsArena arena, String address, Transport transport, int size)
            throws InterruptedException {
        return NetCosts.nodes(arena, address, NetCosts.options(size).transport(transport), false);
    }

    /** Makes two nodes, one of which reads memory that the other one exports, in pieces that are under way at once. */
    private static NetCosts.Operation reads(VerbsArena arena, String address) throws InterruptedException {
        NetCosts.Ends ends =
                NetCosts.Ends.connect(arena, address, NetCosts.options(NetCosts.SIZE), (channel, message) -> {});
        RemoteMemory remote = ends.export(arena.allocate(BULK, 4096));
        LocalMemory local = ends.client().register(arena.allocate(BULK, 4096), LOCAL_WRITE);
        long[] tickets = new long[BULK / PIECE];
        return () -> {
            for (int i = 0; i < tickets.length; i++) {
                long offset = (long) i * PIECE;
                tickets[i] = ends.channel().tryRead(local.slice(offset, PIECE), remote.slice(offset, PIECE));
            }
            for (long ticket : tickets) {
                ends.await(ticket);
            }
        };
    }

    private static void row(String name, NetCosts.Operation jucx, NetCosts.Operation nodes, int warm, int rounds) {
        micros(jucx, warm);
        micros(nodes, warm);
        StringBuilder ofJucx = new StringBuilder(name + " JUCX");
        StringBuilder ofNodes = new StringBuilder(name + " nodes");
        for (int turn = 0; turn < TURNS; turn++) {
            ofJucx.append(micros(jucx, rounds));
            ofNodes.append(micros(nodes, rounds));
        }
        System.out.println(ofJucx + System.lineSeparator() + ofNodes);
    }

    private static String micros(NetCosts.Operation operation, int rounds) {
        long start = System.nanoTime();
        for (int i = 0; i < rounds; i++) {
            operation.once();
        }
        return String.format(Locale.ROOT, " %.2f", (System.nanoTime() - start) / 1000.0 / rounds);
    }

    /**
     * Two workers of JUCX, which connect by an address, as worker addresses would need datagrams, too. They end with the
     * process: UCX aborts it if something is in use when they are closed, and no exception would be printed.
     */
    private static final class Jucx {
        private static final long TAG = 1;

        private final UcpContext context =
                new UcpContext(new UcpParams().requestTagFeature().requestRmaFeature());
        private final UcpWorker client = context.newWorker(new UcpWorkerParams());
        private final UcpWorker server = context.newWorker(new UcpWorkerParams());
        private final UcpEndpoint there;
        private final UcpEndpoint back;

        Jucx(String address) {
            AtomicReference<UcpConnectionRequest> request = new AtomicReference<>();
            InetSocketAddress any = new InetSocketAddress(address, 0);
            try (var listener =
                    server.newListener(new UcpListenerParams().setSockAddr(any).setConnectionHandler(request::set))) {
                there = client.newEndpoint(new UcpEndpointParams()
                        .setSocketAddress(listener.getAddress())
                        .setPeerErrorHandlingMode());
                long end = System.nanoTime() + PATIENCE.toNanos();
                while (request.get() == null) {
                    progress(server, client);
                    if (System.nanoTime() - end > 0) {
                        throw new UcxException("No connection within " + PATIENCE);
                    }
                }
                back = server.newEndpoint(new UcpEndpointParams()
                        .setConnectionRequest(request.get())
                        .setPeerErrorHandlingMode());
                await(client, server, there.flushNonBlocking(null));
            }
        }

        NetCosts.Operation messages(int size) {
            ByteBuffer question = ByteBuffer.allocateDirect(size);
            ByteBuffer answer = ByteBuffer.allocateDirect(size);
            long asked = UcxUtils.getAddress(question);
            long answered = UcxUtils.getAddress(answer);
            return () -> {
                UcpRequest request = server.recvTaggedNonBlocking(answered, size, TAG, -1, null);
                UcpRequest reply = client.recvTaggedNonBlocking(asked, size, TAG, -1, null);
                UcpRequest sent = there.sendTaggedNonBlocking(asked, size, TAG, null);
                await(server, client, request);
                UcpRequest returned = back.sendTaggedNonBlocking(answered, size, TAG, null);
                await(client, server, reply);
                await(client, server, sent);
                await(server, client, returned);
            };
        }

        NetCosts.Operation reads(int size) {
            ByteBuffer from = ByteBuffer.allocateDirect(size);
            ByteBuffer into = ByteBuffer.allocateDirect(size);
            UcpMemory exported = context.registerMemory(from);
            UcpMemory own = context.registerMemory(into);
            UcpRemoteKey key = there.unpackRemoteKey(exported.getRemoteKeyBuffer());
            return () -> await(
                    client, server, there.getNonBlocking(exported.getAddress(), key, own.getAddress(), size, null));
        }

        private static void await(UcpWorker worker, UcpWorker peer, UcpRequest request) {
            while (!request.isCompleted()) {
                progress(worker, peer);
            }
            if (request.getStatus() != 0) {
                throw new IllegalStateException("JUCX status " + request.getStatus());
            }
        }

        /** Makes progress where something is awaited, and if there is none at the peer, which may have more to send. */
        private static void progress(UcpWorker worker, UcpWorker peer) {
            try {
                if (worker.progress() == 0) {
                    peer.progress();
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}

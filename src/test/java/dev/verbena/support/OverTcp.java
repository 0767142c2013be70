package dev.verbena.support;

import dev.verbena.Rdma;
import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transfer;
import dev.verbena.net.Transport;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;

/** Uses all that a channel can do between two nodes over TCP, and prints what came of it. */
public final class OverTcp {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int SIZE = 3 << 20;

    private OverTcp() {}

    /** Needs no arguments. */
    public static void main(String[] args) throws Exception {
        System.out.println("unavailable: " + Rdma.unavailability().isPresent());
        NodeOptions options = NodeOptions.defaults().transport(Transport.TCP);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node server = Node.open(
                    new InetSocketAddress("127.0.0.1", 0),
                    NodeOptions.defaults().transport(Transport.AUTO),
                    arena);
            System.out.println("server: " + server);
            Node client = Node.open(new InetSocketAddress("127.0.0.1", 0), options, arena);
            MemorySegment table = arena.allocate(64, 8);
            server.export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
            byte[] received = new byte[SIZE];
            server.listen((channel, message) -> take(message.transfer(), received));
            Channel channel = client.connect(server.address(), PATIENCE);
            System.out.println("transport: " + channel.transport());
            System.out.println("offer: " + offer(channel, received));
            RemoteMemory remote = channel.remote("table", PATIENCE);
            LocalMemory local = client.register(arena.allocate(64, 8), AccessFlag.LOCAL_WRITE);
            local.segment().set(ValueLayout.JAVA_LONG, 0, 7);
            channel.write(local.slice(0, 8), remote.slice(8, 8), PATIENCE);
            System.out.println("added to: " + channel.fetchAndAdd(remote.slice(8, 8), 5, PATIENCE));
            channel.read(local, remote, PATIENCE);
            System.out.println("read: " + local.segment().getAtIndex(ValueLayout.JAVA_LONG, 1));
        }
    }

    /** Takes the data on a thread of its own, because that waits. */
    private static void take(Transfer transfer, byte[] received) {
        Thread.ofVirtual().start(() -> {
            try (transfer) {
                transfer.accept(MemorySegment.ofArray(received), PATIENCE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    private static boolean offer(Channel channel, byte[] received) throws InterruptedException {
        byte[] data = new byte[SIZE];
        for (int i = 0; i < SIZE; i++) {
            data[i] = (byte) (i * 31 >>> 3);
        }
        channel.offer(MemorySegment.ofArray(data), new byte[0], PATIENCE);
        return Arrays.equals(data, received);
    }
}

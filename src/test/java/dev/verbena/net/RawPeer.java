package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.WorkCompletion;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;

/** A peer over RDMA that is no node. */
final class RawPeer extends Peer {
    private static final int RECEIVES = 64;

    final VerbsArena arena = VerbsArena.ofShared();
    final Connection connection;
    private final MemoryRegion memory;
    private final SendBatch sends;

    /** Connects to a node, and says nothing. */
    RawPeer(InetSocketAddress node, int receives) throws InterruptedException {
        connection =
                Connection.to(node, DEADLINE, ConnectionResources.of(QueueCapabilities.of(RECEIVES, RECEIVES)), arena);
        memory = connection.register(arena.allocate(SIZE), AccessFlag.LOCAL_WRITE);
        for (int i = 0; i < receives; i++) {
            connection.queuePair().postReceive(i, memory.slice(SIZE / 2, SIZE / 2));
        }
        sends = connection.queuePair().sendBatch(1);
        connection.connect(DEADLINE);
    }

    /** Accepts a node, and says nothing. */
    RawPeer(Listener listener) throws InterruptedException {
        connection = listener.awaitConnection(
                DEADLINE, ConnectionResources.of(QueueCapabilities.of(RECEIVES, RECEIVES)), arena);
        memory = connection.register(arena.allocate(SIZE), AccessFlag.LOCAL_WRITE);
        for (int i = 0; i < RECEIVES; i++) {
            connection.queuePair().postReceive(i, memory.slice(SIZE / 2, SIZE / 2));
        }
        sends = connection.queuePair().sendBatch(1);
        connection.accept(DEADLINE);
    }

    RawPeer(InetSocketAddress node) throws InterruptedException {
        this(node, RECEIVES);
    }

    /** Connects and greets as a node does. */
    static RawPeer greeted(InetSocketAddress node, int window) throws InterruptedException, IOException {
        RawPeer peer = new RawPeer(node);
        peer.greet(window);
        return peer;
    }

    @Override
    MemorySegment memory() {
        return memory.segment();
    }

    @Override
    void send(int immediate, long bytes) {
        sends.clear();
        (bytes == 0 ? sends.send(1) : sends.send(1, memory.slice(0, bytes)))
                .immediate(immediate)
                .post();
    }

    void sendPlain() {
        sends.clear().send(1).post();
    }

    void write(int immediate) {
        sends.clear()
                .writeInline(1, MemorySegment.NULL, new RemoteMemory(0, 0, 0))
                .immediate(immediate)
                .post();
    }

    @Override
    Got awaitMessage() throws InterruptedException {
        while (true) {
            WorkCompletion next = connection.awaitCompletion(DEADLINE).orThrow();
            if (next.isReceive()) {
                connection.queuePair().postReceive(next.id(), memory.slice(SIZE / 2, SIZE / 2));
                return Got.of(next.immediate(), next.byteLength());
            }
        }
    }

    @Override
    int awaitGoodbye() throws InterruptedException {
        while (true) {
            WorkCompletion next = connection.awaitCompletion(DEADLINE);
            if (next.isReceive() && Wire.kind(next.immediate()) == Wire.GOODBYE) {
                return Wire.code(next.immediate());
            }
        }
    }

    @Override
    void leave() {
        connection.close();
    }

    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}

package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PrivateData;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
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
    private static final int RECEIVE_BYTES = SIZE / 2;

    /** The number of bytes of its memory: those of {@link #whole}, and one piece for each receive. */
    static final long REGISTERED = SIZE + (long) RECEIVES * RECEIVE_BYTES;

    final VerbsArena arena = VerbsArena.ofShared();
    final Connection connection;
    private final MemoryRegion memory;
    private final SendBatch sends;

    /** Connects to a node, and says nothing. */
    RawPeer(InetSocketAddress node, int receives) throws InterruptedException {
        this(node, receives, PrivateData.NONE);
    }

    /** Connects to a node with private data in the request, and says nothing. */
    RawPeer(InetSocketAddress node, int receives, PrivateData data) throws InterruptedException {
        connection =
                Connection.to(node, DEADLINE, ConnectionResources.of(QueueCapabilities.of(RECEIVES, RECEIVES)), arena);
        memory = connection.register(arena.allocate(REGISTERED), AccessFlag.LOCAL_WRITE);
        for (int i = 0; i < receives; i++) {
            receive(i);
        }
        sends = connection.queuePair().sendBatch(1);
        connection.connect(ConnectionParameters.defaults().privateData(data), DEADLINE);
    }

    /** Accepts a node, and says nothing. */
    RawPeer(Listener listener) throws InterruptedException {
        connection = listener.awaitConnection(
                DEADLINE, ConnectionResources.of(QueueCapabilities.of(RECEIVES, RECEIVES)), arena);
        memory = connection.register(arena.allocate(REGISTERED), AccessFlag.LOCAL_WRITE);
        for (int i = 0; i < RECEIVES; i++) {
            receive(i);
        }
        sends = connection.queuePair().sendBatch(1);
        connection.accept(DEADLINE);
    }

    RawPeer(InetSocketAddress node) throws InterruptedException {
        this(node, RECEIVES);
    }

    private LocalMemory piece(long receive) {
        return memory.slice(SIZE + receive * RECEIVE_BYTES, RECEIVE_BYTES);
    }

    private void receive(long id) {
        connection.queuePair().postReceive(id, piece(id));
    }

    private Got taken(WorkCompletion receive) {
        MemorySegment.copy(piece(receive.id()).segment(), 0, whole(), SIZE / 2, receive.byteLength());
        return got(receive.byteLength());
    }

    /** Connects and greets as a node does. */
    static RawPeer greeted(InetSocketAddress node, int window) throws InterruptedException, IOException {
        RawPeer peer = new RawPeer(node);
        peer.greet(window);
        return peer;
    }

    @Override
    MemorySegment whole() {
        return memory.segment().asSlice(0, SIZE);
    }

    @Override
    void sendWhole(long bytes) {
        sends.clear().send(1, memory.slice(0, bytes)).post();
    }

    /** Sends a message of a node with immediate data, which no node sends. */
    void sendWithImmediate() {
        writeHeader(Wire.DATA, 0, 0);
        sendWithImmediate(Wire.HEADER_BYTES + 8, 1);
    }

    /** Sends the first bytes of {@link #whole} with immediate data, as nodes of version 1 did. */
    void sendWithImmediate(long bytes, int immediate) {
        sends.clear().send(1, memory.slice(0, bytes)).immediate(immediate).post();
    }

    void writeWithImmediate() {
        sends.clear()
                .writeInline(1, MemorySegment.NULL, new RemoteMemory(0, 0, 0))
                .immediate(1)
                .post();
    }

    @Override
    Got awaitMessage() throws InterruptedException {
        while (true) {
            WorkCompletion next = connection.awaitCompletion(DEADLINE).orThrow();
            if (next.isReceive()) {
                Got got = taken(next);
                receive(next.id());
                return got;
            }
        }
    }

    @Override
    int awaitGoodbye() throws InterruptedException {
        while (true) {
            WorkCompletion next = connection.awaitCompletion(DEADLINE);
            if (next.isReceive() && next.isSuccess()) {
                Got got = taken(next);
                if (got.kind() == Wire.GOODBYE) {
                    return got.code();
                }
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

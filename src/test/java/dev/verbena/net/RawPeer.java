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
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;

/** A peer that is no node, and sends whatever the test wants. */
final class RawPeer implements AutoCloseable {
    private static final int RECEIVES = 64;
    static final int SIZE = 4096;
    private static final int CALLS = 4;

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
    static RawPeer greeted(InetSocketAddress node, int window) throws InterruptedException {
        RawPeer peer = new RawPeer(node);
        peer.greet(window, 256);
        return peer;
    }

    MemorySegment memory() {
        return memory.segment();
    }

    void greet(int window, int messageSize) {
        greet(window, messageSize, CALLS);
    }

    void greet(int window, int messageSize, int calls) {
        new Wire.Greeting(window, messageSize, calls, new byte[0]).writeTo(memory());
        send(Wire.immediate(Wire.GREETING, 0, 0), Wire.GREETING_BYTES);
    }

    void send(int immediate, long bytes) {
        sends.clear().send(1, memory.slice(0, bytes)).immediate(immediate).post();
    }

    void send(int immediate) {
        sends.clear().send(1).immediate(immediate).post();
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

    /** A message of the node, with all of its immediate number. */
    record Got(int kind, int credits, int code, int bytes) {
        static Got of(WorkCompletion done) {
            int immediate = done.immediate();
            return new Got(Wire.kind(immediate), Wire.credits(immediate), Wire.code(immediate), done.byteLength());
        }
    }

    /** Waits for the next message of the node. */
    Got awaitMessage() throws InterruptedException {
        while (true) {
            WorkCompletion next = connection.awaitCompletion(DEADLINE).orThrow();
            if (next.isReceive()) {
                connection.queuePair().postReceive(next.id(), memory.slice(SIZE / 2, SIZE / 2));
                return Got.of(next);
            }
        }
    }

    /** Returns the bytes of the last message of the node. */
    MemorySegment received() {
        return memory.segment().asSlice(SIZE / 2);
    }

    /** Waits for the reply or the fault of the node, and returns its kind. */
    int awaitReply() throws InterruptedException {
        while (true) {
            WorkCompletion next = connection.awaitCompletion(DEADLINE);
            int kind = next.isReceive() ? Wire.kind(next.immediate()) : 0;
            if (next.isReceive()) {
                connection.queuePair().postReceive(next.id(), memory.slice(SIZE / 2, SIZE / 2));
            }
            if (kind == Wire.REPLY || kind == Wire.FAULT) {
                return kind;
            }
        }
    }

    /** Waits for the node's goodbye, and returns its code. */
    int awaitGoodbye() throws InterruptedException {
        while (true) {
            WorkCompletion next = connection.awaitCompletion(DEADLINE);
            if (next.isReceive() && Wire.kind(next.immediate()) == Wire.GOODBYE) {
                return Wire.code(next.immediate());
            }
        }
    }

    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}

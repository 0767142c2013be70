package dev.verbena.net;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/** A peer that is no node, and sends whatever the test wants, over one wire or another. */
abstract class Peer implements AutoCloseable {
    static final int SIZE = 4096;

    private static final int CALLS = 4;

    /** A message of the node, with all of its immediate number. */
    record Got(int kind, int credits, int code, int bytes) {
        static Got of(int immediate, int bytes) {
            return new Got(Wire.kind(immediate), Wire.credits(immediate), Wire.code(immediate), bytes);
        }
    }

    /** Returns the memory that messages are sent from. */
    abstract MemorySegment memory();

    /** Returns the bytes of the last message of the node. */
    final MemorySegment received() {
        return memory().asSlice(SIZE / 2);
    }

    /** Sends a message with the first bytes of the memory. */
    abstract void send(int immediate, long bytes) throws IOException;

    final void send(int immediate) throws IOException {
        send(immediate, 0);
    }

    final void greet(int window) throws IOException {
        greet(window, 256);
    }

    final void greet(int window, int messageSize) throws IOException {
        greet(window, messageSize, CALLS);
    }

    final void greet(int window, int messageSize, int calls) throws IOException {
        new Wire.Greeting(window, messageSize, calls, new byte[0]).writeTo(memory());
        send(Wire.immediate(Wire.GREETING, 0, 0), Wire.GREETING_BYTES);
    }

    /** Waits for the next message of the node. */
    abstract Got awaitMessage() throws IOException, InterruptedException;

    /** Waits for the reply or the fault of the node, and returns its kind. */
    final int awaitReply() throws IOException, InterruptedException {
        Got next = awaitMessage();
        while (next.kind() != Wire.REPLY && next.kind() != Wire.FAULT) {
            next = awaitMessage();
        }
        return next.kind();
    }

    /** Waits for the node's goodbye, and returns its code. */
    abstract int awaitGoodbye() throws IOException, InterruptedException;

    /** Ends this side of the connection without a goodbye. */
    abstract void leave() throws IOException;

    @Override
    public abstract void close() throws IOException;
}

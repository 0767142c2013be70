package dev.verbena.net;

import dev.verbena.internal.wire.Wire;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/** A peer that is no node, and sends whatever the test wants, over one wire or another. */
abstract class Peer implements AutoCloseable {
    static final int SIZE = 4096;

    private static final int CALLS = 4;

    /** A message of the node, with what its header says. */
    record Got(int kind, int credits, int code, int bytes) {}

    private int granted;

    private int sequence;
    private int grantedByNode;

    /** Returns the memory that messages are sent from and received into, each with its header. */
    abstract MemorySegment whole();

    /** Returns the memory of the bytes that are sent behind a header. */
    final MemorySegment memory() {
        return whole().asSlice(Wire.HEADER_BYTES);
    }

    /** Returns the bytes of the last message of the node. */
    final MemorySegment received() {
        return whole().asSlice(SIZE / 2 + Wire.HEADER_BYTES);
    }

    /** Sends the first bytes of {@link #whole}. */
    abstract void sendWhole(long bytes) throws IOException;

    /** Writes the header of the next message: a node would have sent it, but for the kind and the credits. */
    final void writeHeader(int kind, int credits, int code) {
        granted += credits;
        sequence += Wire.isCounted(kind) ? 1 : 0;
        Wire.writeHeader(whole(), kind, code, granted, sequence, 0);
    }

    /** Sends a message with the first bytes of the memory. */
    final void send(int kind, int credits, int code, long bytes) throws IOException {
        writeHeader(kind, credits, code);
        sendWhole(Wire.HEADER_BYTES + bytes);
    }

    final void send(int kind, int credits, int code) throws IOException {
        send(kind, credits, code, 0);
    }

    /** Returns the message that was received. */
    final Got got(long wholeBytes) {
        MemorySegment message = whole().asSlice(SIZE / 2);
        int credits = Wire.granted(message) - grantedByNode;
        grantedByNode += credits;
        return new Got(Wire.kind(message), credits, Wire.call(message), (int) wholeBytes - Wire.HEADER_BYTES);
    }

    final void greet(int window) throws IOException {
        greet(window, 256);
    }

    final void greet(int window, int messageSize) throws IOException {
        greet(window, messageSize, CALLS);
    }

    final void greet(int window, int messageSize, int calls) throws IOException {
        new Wire.Greeting(window, messageSize, calls, new byte[0], null).writeTo(memory());
        send(Wire.GREETING, 0, 0, Wire.GREETING_BYTES);
    }

    /** Sends a message whose header has any totals. */
    final void say(int kind, int granted, int sent, int received, long bytes) throws IOException {
        Wire.writeHeader(whole(), kind, 0, granted, sent, received);
        sendWhole(Wire.HEADER_BYTES + bytes);
    }

    /** Greets with a claim, and with any totals. */
    final void greet(Wire.Claim claim, int granted, int sent, int received) throws IOException {
        Wire.Greeting greeting = new Wire.Greeting(4, 256, CALLS, new byte[0], claim);
        greeting.writeWholeTo(memory());
        say(Wire.GREETING, granted, sent, received, greeting.bytes());
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

package dev.verbena.net;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * The frames of a TCP connection: see the description of this package. An instance is the header of one frame, and is used
 * again and again by one thread.
 */
final class TcpFrame {
    static final int VERSION = 1;

    /** The number of bytes of the first bytes of each side. */
    static final int HELLO_BYTES = 16;

    /** The number of bytes of a header. */
    static final int BYTES = 40;

    /** The largest number of reads and atomics of a side that the other has not answered. */
    static final int MAX_READS = 16;

    static final int SEND = 1;
    static final int WRITE = 2;
    static final int READ = 3;
    static final int FETCH_AND_ADD = 4;
    static final int COMPARE_AND_SWAP = 5;
    static final int ACKNOWLEDGEMENT = 6;
    static final int DATA = 7;
    static final int VALUE = 8;
    static final int DENIAL = 9;

    private static final int MAGIC = 0x5642_4e54; // "VBNT"

    int type;
    int length;
    long address;
    int key;
    int number;
    long first;
    long second;

    /** The id of a request of this side. It is not sent. */
    long id;

    /** The place of the data in this process's memory, as {@link TcpMemory} knows it. It is not sent. */
    long dataAddress;

    int dataKey;

    /** Returns the first bytes of a side. */
    static ByteBuffer hello(boolean rdma, int reason) {
        return ByteBuffer.allocate(HELLO_BYTES)
                .putInt(MAGIC)
                .put((byte) VERSION)
                .put((byte) (rdma ? 1 : 0))
                .put((byte) reason)
                .clear();
    }

    /** Sends the first bytes of a side. They fit into the socket's memory. */
    static void sendHello(SocketChannel to, boolean rdma, int reason) throws IOException {
        if (to.write(hello(rdma, reason)) != HELLO_BYTES) {
            throw new IOException("The first bytes could not be sent at once");
        }
    }

    /** Returns true if bytes begin as those of a node, of any version. */
    static boolean isHello(ByteBuffer hello) {
        return hello.getInt(0) == MAGIC;
    }

    static int version(ByteBuffer hello) {
        return Byte.toUnsignedInt(hello.get(4));
    }

    /** Returns true if the side has RDMA too, and wants it. */
    static boolean hasRdma(ByteBuffer hello) {
        return (hello.get(5) & 1) != 0;
    }

    /** Returns the code of the {@link EndReason} of a refusal; 0 for a peer that is welcome. */
    static int reason(ByteBuffer hello) {
        return Byte.toUnsignedInt(hello.get(6));
    }

    /** Returns the number of bytes of the greeting behind a header; 0 if the header is not that of a greeting. */
    static int greetingBytes(ByteBuffer header) {
        TcpFrame frame = new TcpFrame();
        boolean isGreeting = frame.readFrom(header) // only a message has a kind and bytes
                && Wire.kind(frame.number) == Wire.GREETING
                && frame.length >= Wire.GREETING_BYTES
                && frame.length <= Wire.MAX_GREETING_BYTES;
        return isGreeting ? frame.length : 0;
    }

    /** Sends the goodbye of a side that has sent its first bytes only. */
    static void sendGoodbye(SocketChannel to, int reason) throws IOException {
        TcpFrame goodbye = new TcpFrame().begin(SEND);
        goodbye.number = Wire.immediate(Wire.GOODBYE, 0, reason);
        ByteBuffer header = ByteBuffer.allocate(BYTES);
        goodbye.writeTo(header);
        to.write(header.flip()); // it fits into the socket's memory
    }

    /** Clears the fields that are sent, for a frame of a type. */
    TcpFrame begin(int newType) {
        type = newType;
        length = 0;
        address = 0;
        key = 0;
        number = 0;
        first = 0;
        second = 0;
        return this;
    }

    /** Appends this header. */
    void writeTo(ByteBuffer headers) {
        headers.put((byte) type)
                .put((byte) 0)
                .putShort((short) 0)
                .putInt(length)
                .putLong(address)
                .putInt(key)
                .putInt(number)
                .putLong(first)
                .putLong(second);
    }

    /** Reads a header. Returns false if it is none: a field that the type does not have must be 0. */
    boolean readFrom(ByteBuffer header) {
        int word = header.getInt(0);
        type = word >>> 24;
        length = header.getInt(4);
        address = header.getLong(8);
        key = header.getInt(16);
        number = header.getInt(20);
        first = header.getLong(24);
        second = header.getLong(32);
        boolean remote = type >= WRITE && type <= COMPARE_AND_SWAP;
        boolean sized = type == SEND || type == WRITE || type == READ || type == DATA;
        boolean numbered = type == SEND || type == ACKNOWLEDGEMENT;
        boolean valued = type == FETCH_AND_ADD || type == COMPARE_AND_SWAP || type == VALUE;
        return (word & 0xffffff) == 0
                && type >= SEND
                && type <= DENIAL
                && length >= 0
                && (sized || length == 0)
                && (remote || (address == 0 && key == 0))
                && (numbered || number == 0)
                && (valued || first == 0)
                && (type == COMPARE_AND_SWAP || second == 0);
    }

    /** Returns true for a request whose answer is more than an acknowledgement. */
    boolean needsAnswer() {
        return type == READ || isAtomic();
    }

    boolean isAtomic() {
        return type == FETCH_AND_ADD || type == COMPARE_AND_SWAP;
    }
}

package dev.verbena.internal.wire;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;

/**
 * The frames of a TCP connection: see the description of this package. An instance is the header of one frame, and is used
 * again and again by one thread.
 */
public final class TcpFrame {
    /** The number of bytes of a header. */
    public static final int BYTES = 40;

    /** The most bytes of a message that are copied when it is posted: those of a sealed message without bytes. */
    public static final int INLINE_BYTES = Wire.HEADER_BYTES + Seal.BYTES;

    /** The largest number of reads and atomics of a side that the other has not answered. */
    public static final int MAX_READS = 16;

    public static final int SEND = 1;
    public static final int WRITE = 2;
    public static final int READ = 3;
    public static final int FETCH_AND_ADD = 4;
    public static final int COMPARE_AND_SWAP = 5;
    public static final int ACKNOWLEDGEMENT = 6;
    public static final int DATA = 7;
    public static final int VALUE = 8;
    public static final int DENIAL = 9;

    public int type;
    public int length;
    public long address;
    public int key;
    public int number;
    public long first;
    public long second;

    /** The place of a request of this side. It is not sent. */
    public int place;

    /** The address of the data in this process. It is not sent. */
    public long dataAddress;

    public int dataKey;

    /** The data itself, if it was copied: a goodbye is sent although the memory of its channel is gone. */
    private final byte[] inline = new byte[INLINE_BYTES];

    private int inlineLength;

    /** Returns false for a header that has begun as no frame of a node does. */
    public static boolean mayBegin(ByteBuffer header) {
        return header.position() < Integer.BYTES || (header.getInt(0) & 0xffffff) == 0;
    }

    /** Returns the number of bytes of the message behind a header that may be a greeting; 0 if it can't be one. */
    public static int greetingBytes(ByteBuffer header) {
        TcpFrame frame = new TcpFrame();
        boolean mayGreet = frame.readFrom(header)
                && frame.type == SEND
                && frame.length >= Wire.HEADER_BYTES + Wire.GREETING_BYTES
                && frame.length <= Wire.HEADER_BYTES + Wire.MAX_GREETING_BYTES;
        return mayGreet ? frame.length : 0;
    }

    /** Returns the goodbye of a side that has sent nothing. */
    public static ByteBuffer goodbye(int reason) {
        TcpFrame frame = new TcpFrame().begin(SEND);
        frame.length = Wire.HEADER_BYTES;
        ByteBuffer bytes = ByteBuffer.allocate(BYTES + Wire.HEADER_BYTES);
        frame.writeTo(bytes);
        Wire.writeHeader(MemorySegment.ofBuffer(bytes), Wire.GOODBYE, reason, 0, 0, 0);
        return bytes.clear();
    }

    /** Clears the fields that are sent, for a frame of a type. */
    public TcpFrame begin(int newType) {
        type = newType;
        length = 0;
        address = 0;
        key = 0;
        number = 0;
        first = 0;
        second = 0;
        inlineLength = 0;
        return this;
    }

    /** Copies the data, if that is short. */
    public void copyShort(MemorySegment data) {
        if (length <= INLINE_BYTES) {
            inlineLength = length;
            MemorySegment.copy(data, ValueLayout.JAVA_BYTE, 0, inline, 0, length);
        }
    }

    /** Returns the number of bytes of data that were not copied. */
    public int dataLength() {
        return type == READ ? 0 : length - inlineLength;
    }

    /** Appends this header, and the data that was copied. */
    public void writeTo(ByteBuffer headers) {
        headers.put((byte) type)
                .put((byte) 0)
                .putShort((short) 0)
                .putInt(length)
                .putLong(address)
                .putInt(key)
                .putInt(number)
                .putLong(first)
                .putLong(second)
                .put(inline, 0, inlineLength);
    }

    /** Reads a header. Returns false if it is none: a field that the type does not have must be 0. */
    public boolean readFrom(ByteBuffer header) {
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
        boolean valued = type == FETCH_AND_ADD || type == COMPARE_AND_SWAP || type == VALUE;
        return (word & 0xffffff) == 0
                && type >= SEND
                && type <= DENIAL
                && length >= 0
                && (sized || length == 0)
                && (remote || (address == 0 && key == 0))
                && (type == ACKNOWLEDGEMENT || number == 0)
                && (valued || first == 0)
                && (type == COMPARE_AND_SWAP || second == 0);
    }

    /** Returns true for a request whose answer is more than an acknowledgement. */
    public boolean needsAnswer() {
        return type == READ || isAtomic();
    }

    public boolean isAtomic() {
        return type == FETCH_AND_ADD || type == COMPARE_AND_SWAP;
    }
}

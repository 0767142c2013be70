package dev.verbena.net;

import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/** The format of what two nodes send to each other: see the description of this package. */
final class Wire {
    /** The version of the format. */
    static final int VERSION = 1;

    /** The version of the greetings of nodes with a secret: see {@link Introduction}. */
    static final int SECRET_VERSION = 2;

    /** The number of bytes of a greeting, and so the least size of messages. */
    static final int GREETING_BYTES = 64;

    /** The most bytes of a greeting of any version: there is room for them before the peer is admitted. */
    static final int MAX_GREETING_BYTES = 256;

    /** The largest window, so that the credits of an immediate number suffice. */
    static final int MAX_WINDOW = 0xfff;

    /** The first message of a side: its version and its limits. */
    static final int GREETING = 1;

    /** A message of the program. */
    static final int DATA = 2;

    /** A grant of credits without a message. */
    static final int GRANT = 3;

    /** The last message of a side; the code says why. */
    static final int GOODBYE = 4;

    /** A request of the program, whose code is the number of the call. */
    static final int CALL = 5;

    /** The reply to a request, with the number of the call. It takes no credit. */
    static final int REPLY = 6;

    /** A failure to answer a request, with the number of the call and a text. It takes no credit. */
    static final int FAULT = 7;

    /** A question for the export with a name, with the number of a call. The reply has {@link #EXPORT_BYTES}. */
    static final int LOOKUP = 8;

    /**
     * An offer of data, with the number of a call. Its last {@link #EXPORT_BYTES} describe the memory. The reply comes when
     * the data was read.
     */
    static final int OFFER = 9;

    /**
     * The receiver of an offer asks for the next piece, with the number of the offer's call. It comes in the receive for the
     * reply. Only on sealed channels.
     */
    static final int PULL = 10;

    /** A piece is ready to be read, with the number of the offer's call. A side keeps a receive for each call for it. */
    static final int PIECE = 11;

    /** In place of a piece: the offer was taken back. */
    static final int WITHDRAWN = 12;

    /** The number of bytes that describe an export or an offer: its memory in the wide form. */
    static final int EXPORT_BYTES = RemoteMemory.WIDE_BYTES;

    /** The largest number of bytes of a token. */
    static final int MAX_TOKEN = 40;

    private static final int MAGIC = 0x5642_4e41; // "VBNA"
    private static final int KIND_SHIFT = 28;
    private static final int CREDITS_SHIFT = 16;

    /** The layout of numbers of 4 bytes. */
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    /** The layout of numbers of 8 bytes. */
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    /** The place of the length in the description of memory. */
    static final long LENGTH_IN_EXPORT = 12;

    static final long VERSION_AT = 4;
    private static final long WINDOW_AT = 8;
    private static final long SIZE_AT = 12;
    private static final long CALLS_AT = 16;
    private static final long TOKEN_LENGTH_AT = 20;
    private static final long TOKEN_AT = 24;

    private Wire() {}

    /** Returns the immediate number of a message. */
    static int immediate(int kind, int credits, int code) {
        return kind << KIND_SHIFT | credits << CREDITS_SHIFT | code;
    }

    static int kind(int immediate) {
        return immediate >>> KIND_SHIFT;
    }

    static int credits(int immediate) {
        return immediate >>> CREDITS_SHIFT & MAX_WINDOW;
    }

    static int code(int immediate) {
        return immediate & 0xffff;
    }

    /**
     * The limits of a side.
     *
     * @param window the number of messages that the side has receives for
     * @param messageSize the largest number of bytes of a message to that side
     * @param calls the number of calls that the side answers at once
     * @param token the bytes by which the peer's program may know this side
     */
    @SuppressWarnings("ArrayRecordComponent") // is never compared
    record Greeting(int window, int messageSize, int calls, byte[] token) {
        /** Writes this greeting. The rest of the bytes is zero. */
        void writeTo(MemorySegment message) {
            message.asSlice(0, GREETING_BYTES).fill((byte) 0);
            message.set(INT, 0, MAGIC);
            message.set(ValueLayout.JAVA_BYTE, VERSION_AT, (byte) VERSION);
            message.set(INT, WINDOW_AT, window);
            message.set(INT, SIZE_AT, messageSize);
            message.set(INT, CALLS_AT, calls);
            message.set(INT, TOKEN_LENGTH_AT, token.length);
            MemorySegment.copy(token, 0, message, ValueLayout.JAVA_BYTE, TOKEN_AT, token.length);
        }
    }

    /** Returns the version in a greeting; -1 if the bytes are no greeting. */
    static int version(MemorySegment message) {
        return message.byteSize() < GREETING_BYTES || message.get(INT, 0) != MAGIC
                ? -1
                : Byte.toUnsignedInt(message.get(ValueLayout.JAVA_BYTE, VERSION_AT));
    }

    /**
     * Reads a greeting of this version.
     *
     * @return the greeting; null if a limit is out of range
     */
    static @Nullable Greeting readGreeting(MemorySegment message) {
        int window = message.get(INT, WINDOW_AT);
        int size = message.get(INT, SIZE_AT);
        int calls = message.get(INT, CALLS_AT);
        int tokenLength = message.get(INT, TOKEN_LENGTH_AT);
        boolean inRange = window >= 1
                && window <= MAX_WINDOW
                && size >= GREETING_BYTES
                && calls >= 0
                && calls <= MAX_WINDOW
                && tokenLength >= 0
                && tokenLength <= MAX_TOKEN;
        return inRange
                ? new Greeting(
                        window,
                        size,
                        calls,
                        message.asSlice(TOKEN_AT, tokenLength).toArray(ValueLayout.JAVA_BYTE))
                : null;
    }
}

package dev.verbena.internal.wire;

import dev.verbena.internal.noise.NoiseCipher;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;

/**
 * Seals what a channel sends, and opens what the peer has sent. Each message has the next number of its direction, which is
 * not sent: the connection keeps the order. The header is authenticated with the message, and is not sealed. The channel's
 * lock guards an instance.
 */
public final class Seal {
    /** The number of bytes by which a sealed message is longer. */
    public static final int BYTES = NoiseCipher.TAG_BYTES;

    /** The associated data of a piece of a transfer. */
    public static final byte[] NOTHING = {};

    /** The number of messages and of bytes after which a direction gets another key. */
    private static final long MESSAGES_OF_A_KEY = 1L << 24;

    private static final long BYTES_OF_A_KEY = 64L << 30;

    /** The largest array that is made larger than the message needs. */
    private static final int MOST_SPARE = 1 << 20;

    /** One direction. The JDK's cipher is fastest on arrays, and so the bytes are copied to one and from another. */
    private static final class Direction {
        private final NoiseCipher cipher;
        private final long mostMessages;
        private final long mostBytes;
        private long messages;
        private long bytes;
        private final byte[] header = new byte[Wire.HEADER_BYTES];
        private byte[] from = {};
        private byte[] to = {};

        Direction(NoiseCipher cipher, long mostMessages, long mostBytes) {
            this.cipher = cipher;
            this.mostMessages = mostMessages;
            this.mostBytes = mostBytes;
        }

        /** Makes room for a number of bytes and a tag. */
        void reserve(int length) {
            if (from.length < length + BYTES) {
                int size = Math.max(length + BYTES, Math.min(2 * from.length, MOST_SPARE));
                from = new byte[size];
                to = new byte[size];
            }
        }

        void loadHeader(MemorySegment message) {
            MemorySegment.copy(message, ValueLayout.JAVA_BYTE, 0, header, 0, Wire.HEADER_BYTES);
        }

        /** Counts a message. Both sides count alike, and change the key at the same message. */
        void count(int length) {
            messages++;
            bytes += length;
            if (messages >= mostMessages || bytes >= mostBytes) {
                cipher.rekey();
                messages = 0;
                bytes = 0;
            }
        }

        void wipe() {
            cipher.wipe();
            Arrays.fill(from, (byte) 0);
            Arrays.fill(to, (byte) 0);
        }
    }

    private final Direction sends;
    private final Direction receives;

    /**
     * Makes the seal of one side.
     *
     * @param ciphers the cipher that seals, and the one that opens
     */
    public Seal(List<NoiseCipher> ciphers) {
        this(ciphers, MESSAGES_OF_A_KEY, BYTES_OF_A_KEY);
    }

    /** Makes a seal that changes keys after another number of messages or bytes. */
    public Seal(List<NoiseCipher> ciphers, long messages, long bytes) {
        sends = new Direction(ciphers.get(0), messages, bytes);
        receives = new Direction(ciphers.get(1), messages, bytes);
    }

    /**
     * Seals a message in its place, or into other memory.
     *
     * @param message the memory of the message, which begins with the header, with room for {@link #BYTES} behind it
     * @param length the number of bytes of the message behind the header
     * @param to the same memory, or other memory of the same size
     */
    public void seal(MemorySegment message, int length, MemorySegment to) {
        sends.reserve(Math.min(length, NoiseCipher.PIECE) + BYTES); // the cipher may keep a block back
        sends.loadHeader(message);
        MemorySegment.copy(sends.header, 0, to, ValueLayout.JAVA_BYTE, 0, Wire.HEADER_BYTES);
        sends.cipher.seal(sends.header, message, to, Wire.HEADER_BYTES, length, sends.from, sends.to);
        sends.count(length);
    }

    /**
     * Opens a message in its place.
     *
     * @param message the memory of the message, which begins with the header
     * @param length the number of bytes behind the header
     * @return false if the message is not the next one that the peer has sealed
     */
    public boolean open(MemorySegment message, int length) {
        if (length < BYTES) {
            return false;
        }
        receives.reserve(length);
        receives.loadHeader(message);
        MemorySegment.copy(message, ValueLayout.JAVA_BYTE, Wire.HEADER_BYTES, receives.from, 0, length);
        if (!receives.cipher.open(receives.header, receives.from, length, receives.to)) {
            return false;
        }
        MemorySegment.copy(receives.to, 0, message, ValueLayout.JAVA_BYTE, Wire.HEADER_BYTES, length - BYTES);
        receives.count(length - BYTES);
        return true;
    }

    /** Forgets the keys, and the bytes of the last messages. */
    public void wipe() {
        sends.wipe();
        receives.wipe();
    }
}

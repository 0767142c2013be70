package dev.verbena.net;

import dev.verbena.internal.noise.NoiseCipher;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;

/**
 * Seals what a channel sends, and opens what the peer has sent. Each message has the next number of its direction, which is
 * not sent: the connection keeps the order. The immediate data is authenticated with the message. The channel's lock guards
 * an instance.
 */
final class Seal {
    /** The number of bytes by which a sealed message is longer. */
    static final int BYTES = NoiseCipher.TAG_BYTES;

    /** The associated data of a message without immediate data. */
    static final byte[] NOTHING = {};

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
        private final byte[] immediate = new byte[Integer.BYTES];
        private final MemorySegment immediateBytes = MemorySegment.ofArray(immediate);
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

        /** Takes the bytes of a message. */
        void load(MemorySegment memory, int length, int number) {
            reserve(length);
            MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, 0, from, 0, length);
            immediateBytes.set(Wire.INT, 0, number);
        }

        void store(MemorySegment memory, int length) {
            MemorySegment.copy(to, 0, memory, ValueLayout.JAVA_BYTE, 0, length);
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
    Seal(List<NoiseCipher> ciphers) {
        this(ciphers, MESSAGES_OF_A_KEY, BYTES_OF_A_KEY);
    }

    /** Makes a seal that changes keys after another number of messages or bytes. */
    Seal(List<NoiseCipher> ciphers, long messages, long bytes) {
        sends = new Direction(ciphers.get(0), messages, bytes);
        receives = new Direction(ciphers.get(1), messages, bytes);
    }

    /**
     * Seals a message in its place.
     *
     * @param memory memory that begins with the message, with room for {@link #BYTES} more
     * @param length the number of bytes of the message
     */
    void seal(MemorySegment memory, int length, int immediate) {
        sends.reserve(Math.min(length, NoiseCipher.PIECE) + BYTES); // the cipher may keep a block back
        sends.immediateBytes.set(Wire.INT, 0, immediate);
        sends.cipher.seal(sends.immediate, memory, length, sends.from, sends.to);
        sends.count(length);
    }

    /**
     * Opens a message in its place.
     *
     * @param memory memory that begins with the sealed message
     * @param length the number of bytes of the sealed message
     * @return false if the message is not the next one that the peer has sealed
     */
    boolean open(MemorySegment memory, int length, int immediate) {
        if (length < BYTES) {
            return false;
        }
        receives.load(memory, length, immediate);
        if (!receives.cipher.open(receives.immediate, receives.from, length, receives.to)) {
            return false;
        }
        receives.store(memory, length - BYTES);
        receives.count(length - BYTES);
        return true;
    }

    /** Forgets the keys, and the bytes of the last messages. */
    void wipe() {
        sends.wipe();
        receives.wipe();
    }
}

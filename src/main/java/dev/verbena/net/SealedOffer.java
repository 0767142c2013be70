package dev.verbena.net;

import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.noise.NoiseCipher;
import dev.verbena.internal.wire.Seal;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * Data that this side offers on a sealed channel. The data is sealed piece by piece into a ring of registered memory, which
 * the peer reads. The first pieces are sealed before the offer is sent, and each other one when the peer asks for it. Each
 * offer has a key of its own, which travels in the sealed message with the offer. A piece is sealed in parts. The number of a
 * part is that of its message under the key, so that parts can't be exchanged. One thread uses an instance.
 */
final class SealedOffer implements AutoCloseable {
    /**
     * The largest number of bytes of a piece. With 256 KiB, a transfer of 1 MiB takes 110 us longer, because half of its
     * pieces have to be asked for (2026-11-26).
     */
    static final int PIECE = 512 << 10;

    /**
     * The largest number of bytes that are sealed at once: the arrays of a part stay in the processor's cache. Parts of
     * 256 KiB take 80 us more for 1 MiB (2026-11-26).
     */
    static final int PART = 64 << 10;

    /** The number of bytes of the key. */
    static final int KEY_BYTES = NoiseCipher.KEY_BYTES;

    /** The number of pieces in the ring: one is sealed while the peer reads the other. */
    static final int SLOTS = 2;

    private static final int SLOT_BYTES = sealedBytes(PIECE);

    /** The bytes that are offered. */
    interface Source {
        void read(long from, byte[] into, int length) throws IOException;
    }

    private final Source source;
    private final long size;
    private final Staging ring;
    private final byte[] key = Introduction.random(KEY_BYTES);
    private final NoiseCipher cipher = NoiseCipher.sealing(key);
    private final byte[] plain;
    private final byte[] sealed;
    private long done;

    /** Seals as many pieces as the ring has room for. */
    SealedOffer(Engine engine, Carrier.Connection on, long size, Source source) throws IOException {
        this.source = source;
        this.size = size;
        plain = new byte[(int) Math.min(size, PART)];
        sealed = new byte[plain.length + Seal.BYTES];
        ring = new Staging(engine, on, ringBytes(size));
        try {
            for (int i = 0; i < SLOTS && hasNext(); i++) {
                sealNext();
            }
        } catch (Throwable t) {
            close();
            throw t;
        }
    }

    /** Returns the number of bytes of the ring for data. */
    static int ringBytes(long size) {
        return size <= PIECE ? sealedBytes((int) size) : SLOTS * SLOT_BYTES;
    }

    /** Returns the number of bytes of a piece. */
    static int pieceBytes(long size, long piece) {
        return (int) Math.min(PIECE, size - piece * PIECE);
    }

    /** Returns the number of bytes of a piece once it is sealed. */
    static int sealedBytes(int length) {
        return length + (length + PART - 1) / PART * Seal.BYTES;
    }

    /** Returns the place of a piece in the ring. */
    static long place(long piece) {
        return piece % SLOTS * SLOT_BYTES;
    }

    /** Writes what the peer needs: the place of the ring, the size of the data, and the key. */
    void describe(MemorySegment message, Link on) {
        on.shown(ring.region()).ofLength(size).writeTo(message);
        MemorySegment.copy(key, 0, message, ValueLayout.JAVA_BYTE, message.byteSize() - KEY_BYTES, KEY_BYTES);
    }

    /** Returns true if there is another piece. */
    boolean hasNext() {
        return done < size;
    }

    /** Seals the next piece. The peer has read the piece that was in its place. */
    void sealNext() throws IOException {
        long piece = done / PIECE;
        int left = pieceBytes(size, piece);
        for (long to = place(piece); left > 0; to += PART + Seal.BYTES) {
            int part = Math.min(PART, left);
            source.read(done, plain, part);
            cipher.seal(Seal.NOTHING, plain, part, sealed);
            MemorySegment.copy(sealed, 0, ring.region().segment(), ValueLayout.JAVA_BYTE, to, part + Seal.BYTES);
            done += part;
            left -= part;
        }
    }

    /** Lets the next offer use the ring. */
    void taken() {
        ring.keep();
    }

    @Override
    public void close() {
        cipher.wipe();
        Arrays.fill(key, (byte) 0);
        Arrays.fill(plain, (byte) 0);
        ring.close();
    }
}

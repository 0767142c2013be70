package dev.verbena.net;

import dev.verbena.internal.noise.NoiseCipher;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * Data that this side offers on a sealed channel. The data is sealed piece by piece into a ring of registered memory, which
 * the peer reads. Each offer has a key of its own, which travels in the sealed message with the offer. The number of a piece
 * is that of its message under the key, so that pieces can't be exchanged. One thread uses an instance.
 */
final class SealedOffer implements AutoCloseable {
    /** The largest number of bytes of a piece. */
    static final int PIECE = 256 << 10;

    /** The number of bytes of the key. */
    static final int KEY_BYTES = NoiseCipher.KEY_BYTES;

    /** The number of pieces in the ring: one is sealed while the peer reads the other. */
    private static final int SLOTS = 2;

    private static final long SLOT_BYTES = PIECE + Link.CACHE_LINE;

    /** The bytes that are offered. */
    interface Source {
        void read(long from, byte[] into, int length) throws IOException;
    }

    private final Source source;
    private final long size;
    private final TransferMemory ring;
    private final byte[] key = Introduction.random(KEY_BYTES);
    private final NoiseCipher cipher = NoiseCipher.sealing(key);
    private final byte[] plain;
    private final byte[] sealed;
    private long pieces;

    SealedOffer(Engine engine, Carrier.Connection on, long size, Source source) {
        this.source = source;
        this.size = size;
        plain = new byte[(int) Math.min(size, PIECE)];
        sealed = new byte[plain.length + Seal.BYTES];
        ring = TransferMemory.staging(engine, on, ringBytes(size), true);
    }

    /** Returns the number of bytes of the ring for data. */
    static long ringBytes(long size) {
        return size <= PIECE ? size + Seal.BYTES : SLOTS * SLOT_BYTES;
    }

    /** Returns the number of bytes of a piece. */
    static int pieceBytes(long size, long piece) {
        return (int) Math.min(PIECE, size - piece * PIECE);
    }

    /** Returns the place of a piece in the ring. */
    static long place(long piece) {
        return piece % SLOTS * SLOT_BYTES;
    }

    /** Writes what the peer needs: the place of the ring, the size of the data, and the key. */
    void describe(MemorySegment message) {
        RemoteMemory remote = ring.region().remote();
        new RemoteMemory(remote.address(), remote.key(), size).writeWideTo(message);
        MemorySegment.copy(key, 0, message, ValueLayout.JAVA_BYTE, Wire.EXPORT_BYTES, KEY_BYTES);
    }

    /** Seals the next piece. The peer has read the piece that was in its place. */
    void sealNext() throws IOException {
        int length = pieceBytes(size, pieces);
        source.read(pieces * PIECE, plain, length);
        cipher.seal(Seal.NOTHING, plain, length, sealed);
        MemorySegment.copy(
                sealed, 0, ring.region().segment(), ValueLayout.JAVA_BYTE, place(pieces), length + Seal.BYTES);
        pieces++;
    }

    @Override
    public void close() {
        cipher.wipe();
        Arrays.fill(key, (byte) 0);
        Arrays.fill(plain, (byte) 0);
        ring.close();
    }
}

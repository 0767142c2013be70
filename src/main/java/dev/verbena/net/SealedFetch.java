package dev.verbena.net;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.noise.NoiseCipher;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Takes the data of a transfer on a sealed channel: asks for a piece, reads it from the peer's ring, and opens it into its
 * place. The next piece is asked for before one is read, so that both sides work at once. One thread uses an instance.
 */
final class SealedFetch implements AutoCloseable {
    private final Channel channel;
    private final Engine engine;
    private final RemoteMemory source;
    private final RemoteMemory ring;
    private final int number;
    private final TransferMemory staging;
    private final NoiseCipher cipher;
    private final byte[] sealed;
    private final byte[] plain;

    /**
     * Makes the memory.
     *
     * @param source the ring of the peer, with the size of the data
     * @param number the number of the offer's call
     */
    SealedFetch(Channel channel, Engine engine, RemoteMemory source, byte[] key, int number) {
        this.channel = channel;
        this.engine = engine;
        this.source = source;
        this.number = number;
        cipher = NoiseCipher.opening(key);
        plain = new byte[(int) Math.min(source.length(), SealedOffer.PIECE)];
        sealed = new byte[plain.length + Seal.BYTES];
        ring = new RemoteMemory(source.address(), source.key(), SealedOffer.ringBytes(source.length()));
        staging = TransferMemory.staging(engine, channel.core().with(), sealed.length, false);
        channel.core().operations.found(ring);
    }

    /** Takes all pieces. Returns the failure of the file, if it has failed: nothing is under way then. */
    @Nullable
    IOException read(TransferMemory.Sink target, LongConsumer progress, Deadline deadline, Duration timeout)
            throws InterruptedException {
        long size = source.length();
        long pieces = (size + SealedOffer.PIECE - 1) / SealedOffer.PIECE;
        pull(deadline, timeout);
        for (long piece = 0; piece < pieces; piece++) {
            awaitPiece(deadline, timeout);
            boolean more = piece + 1 < pieces;
            if (more) {
                pull(deadline, timeout);
            }
            int length = SealedOffer.pieceBytes(size, piece);
            read(piece, length, deadline);
            long from = piece * SealedOffer.PIECE;
            try {
                target.put(from, MemorySegment.ofArray(plain).asSlice(0, length));
            } catch (IOException failed) {
                if (more) {
                    awaitPiece(deadline, timeout); // the answer needs the receive that is kept for it
                }
                return failed;
            }
            progress.accept(from + length);
        }
        return null;
    }

    private void pull(Deadline deadline, Duration timeout) throws InterruptedException {
        Pulls pulls = channel.messages().pulls;
        channel.inTime(
                engine.await(pulls.room, () -> pulls.tryPull(number), deadline.left()),
                "accept",
                timeout,
                "The peer's adapter has not acknowledged earlier messages");
    }

    private void awaitPiece(Deadline deadline, Duration timeout) throws InterruptedException {
        Pulls pulls = channel.messages().pulls;
        channel.inTime(
                engine.await(pulls.come(number), () -> pulls.takePiece(number), deadline.left()),
                "accept",
                timeout,
                "The peer has not sealed the next piece");
    }

    private void read(long piece, int length, Deadline deadline) throws InterruptedException {
        MemoryRegion region = staging.region();
        int bytes = length + Seal.BYTES;
        channel.read(region.slice(0, bytes), ring.slice(SealedOffer.place(piece), bytes), deadline.left());
        MemorySegment.copy(region.segment(), ValueLayout.JAVA_BYTE, 0, sealed, 0, bytes);
        if (!cipher.open(Seal.NOTHING, sealed, bytes, plain)) {
            engine.counts.tampered();
            channel.core().end(EndReason.TAMPERED, "Piece " + piece + " of a transfer", null);
            channel.core().checkNotEnded();
        }
    }

    @Override
    public void close() {
        cipher.wipe();
        Arrays.fill(plain, (byte) 0);
        channel.core().operations.forgetFound(ring);
        staging.close();
    }
}

package dev.verbena.net;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.noise.NoiseCipher;
import dev.verbena.internal.wire.Seal;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Takes the data of a transfer on a sealed channel: reads a piece from the peer's ring, and opens it into its place. The
 * peer has sealed the first pieces before. Each other one is asked for before the piece ahead of it is read, so that both
 * sides work at once. One thread uses an instance.
 */
final class SealedFetch implements AutoCloseable {
    private final Channel channel;
    private final Engine engine;
    private final RemoteMemory source;
    private final RemoteMemory ring;
    private final int number;
    private final Staging staging;
    private final NoiseCipher cipher;
    private final byte[] sealed;
    private final byte[] plain;

    /**
     * Makes the memory.
     *
     * @param shown the ring of the peer, with the size of the data
     * @param number the number of the offer's call
     */
    SealedFetch(Channel channel, Engine engine, Link.Shown shown, byte[] key, int number) {
        this.channel = channel;
        this.engine = engine;
        this.source = shown.memory();
        this.number = number;
        cipher = NoiseCipher.opening(key);
        plain = new byte[(int) Math.min(source.length(), SealedOffer.PART)];
        sealed = new byte[plain.length + Seal.BYTES];
        Link.Shown whole = shown.ofLength(SealedOffer.ringBytes(source.length()));
        ring = whole.memory();
        int largest = SealedOffer.pieceBytes(source.length(), 0);
        staging = new Staging(engine, channel.session().rail.with(), SealedOffer.sealedBytes(largest));
        channel.session().operations.found(whole);
    }

    /**
     * Takes all pieces, and leaves the ring: once the peer has its answer, its next offer may have the same ring, for another
     * thread.
     *
     * @return the failure of the file, if it has failed: nothing is under way then
     */
    @Nullable
    IOException read(TransferMemory.Sink target, LongConsumer progress, Deadline deadline, Duration timeout)
            throws InterruptedException {
        IOException failed = readAll(target, progress, deadline, timeout);
        staging.keep();
        channel.session().operations.forgetFound(ring);
        return failed;
    }

    private @Nullable IOException readAll(
            TransferMemory.Sink target, LongConsumer progress, Deadline deadline, Duration timeout)
            throws InterruptedException {
        long size = source.length();
        long pieces = (size + SealedOffer.PIECE - 1) / SealedOffer.PIECE;
        for (long piece = 0; piece < pieces; piece++) {
            if (piece >= SealedOffer.SLOTS) {
                awaitPiece(deadline, timeout);
            }
            boolean asked = piece + 1 >= SealedOffer.SLOTS && piece + 1 < pieces;
            if (asked) {
                pull(deadline, timeout); // for the place of the piece before
            }
            int length = SealedOffer.pieceBytes(size, piece);
            int sealedBytes = SealedOffer.sealedBytes(length);
            RemoteMemory place = ring.slice(SealedOffer.place(piece), sealedBytes);
            channel.read(staging.region().slice(0, sealedBytes), place, deadline.left());
            try {
                open(piece, length, target);
            } catch (IOException failed) {
                if (asked) {
                    awaitPiece(deadline, timeout); // the answer needs the receive that is kept for it
                }
                return failed;
            }
            progress.accept(piece * SealedOffer.PIECE + length);
        }
        return null;
    }

    /** Opens the parts of a piece into their places. */
    private void open(long piece, int length, TransferMemory.Sink target) throws IOException {
        MemorySegment from = staging.region().segment();
        long place = 0;
        for (int done = 0; done < length; done += SealedOffer.PART) {
            int part = Math.min(SealedOffer.PART, length - done);
            int bytes = part + Seal.BYTES;
            MemorySegment.copy(from, ValueLayout.JAVA_BYTE, place, sealed, 0, bytes);
            if (!cipher.open(Seal.NOTHING, sealed, bytes, plain)) {
                engine.counts.tampered();
                channel.session().end(EndReason.TAMPERED, "Piece " + piece + " of a transfer", null);
                channel.session().checkNotEnded();
            }
            target.put(
                    piece * SealedOffer.PIECE + done,
                    MemorySegment.ofArray(plain).asSlice(0, part));
            place += bytes;
        }
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

    @Override
    public void close() {
        cipher.wipe();
        Arrays.fill(plain, (byte) 0);
        staging.close();
    }
}

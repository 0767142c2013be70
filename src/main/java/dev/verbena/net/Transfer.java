package dev.verbena.net;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.function.LongConsumer;

/**
 * Data of any size that the peer offers with {@link Channel#offer}. The receiver decides where the data goes, and its adapter
 * reads the data from the peer's memory, in pieces of up to 1 MiB.
 *
 * {@snippet file="TransferSnippets.java" region="receiver"}
 *
 * <p>A transfer that is closed without being accepted is refused. One thread at a time uses a transfer. It can be another
 * thread than that which has received the message: a handler hands the transfer over, because accepting takes long.
 */
public final class Transfer implements AutoCloseable {
    private static final long PIECE = 1 << 20;
    private static final int MOST_AT_ONCE = 8;

    private final Channel channel;
    private final Engine engine;
    private final RemoteMemory source;
    private final byte[] about;
    private final Message reply;

    Transfer(Channel channel, Engine engine, RemoteMemory source, byte[] about, Message reply) {
        this.channel = channel;
        this.engine = engine;
        this.source = source;
        this.about = about;
        this.reply = reply;
    }

    /**
     * Returns the number of bytes that are offered.
     *
     * @return the number, at most {@link NodeOptions#maxTransferSize}
     */
    public long length() {
        return source.length();
    }

    /**
     * Returns the bytes that the peer's program says about the data, a name for example.
     *
     * @return a copy of the bytes
     */
    public byte[] about() {
        return about.clone();
    }

    /**
     * Takes the data, and waits for it. Then the peer's {@link Channel#offer} returns.
     *
     * @param target memory of {@link #length} bytes: native memory is registered meanwhile, an array is copied to
     * @param timeout the longest time to wait
     * @throws ChannelException if the channel has ended, also while waiting; with {@link EndReason#ACCESS_DENIED} because the
     *     peer has taken the offer back
     * @throws VerbsTimeoutException if the data did not come in time: the channel ends then
     * @throws InterruptedException if the thread was interrupted: the channel ends then
     * @throws IllegalArgumentException if the memory has another size
     * @throws IllegalStateException if this transfer was accepted, refused or closed, or if the channel is closed
     */
    public void accept(MemorySegment target, Duration timeout) throws InterruptedException {
        accept(target, done -> {}, timeout);
    }

    /**
     * Takes the data, waits for it, and tells the progress.
     *
     * @param target memory of {@link #length} bytes: native memory is registered meanwhile, an array is copied to
     * @param progress gets the number of bytes that have come, from the beginning of the data, again and again
     * @param timeout the longest time to wait
     * @throws ChannelException if the channel has ended, also while waiting; with {@link EndReason#ACCESS_DENIED} because the
     *     peer has taken the offer back
     * @throws VerbsTimeoutException if the data did not come in time: the channel ends then
     * @throws InterruptedException if the thread was interrupted: the channel ends then
     * @throws IllegalArgumentException if the memory has another size
     * @throws IllegalStateException if this transfer was accepted, refused or closed, or if the channel is closed
     */
    public void accept(MemorySegment target, LongConsumer progress, Duration timeout) throws InterruptedException {
        Objects.requireNonNull(progress, "progress");
        Deadline deadline = Deadline.after(timeout);
        if (target.byteSize() != source.length()) {
            throw new IllegalArgumentException(
                    "target must have the " + source.length() + " bytes of the transfer, got " + target.byteSize());
        }
        reply.length(0); // throws if this transfer has ended
        if (source.length() > 0) {
            try (TransferMemory memory = TransferMemory.receiving(engine, target, AccessFlag.LOCAL_WRITE)) {
                boolean read = false;
                try {
                    read(memory.region(), progress, deadline, timeout);
                    read = true;
                } finally {
                    if (!read) { // reads may be under way into memory that the program uses again
                        channel.core().end(EndReason.FAILED, "A transfer was given up", null);
                    }
                }
                memory.copyTo(target);
            }
        }
        reply.send();
    }

    private void read(LocalMemory target, LongConsumer progress, Deadline deadline, Duration timeout)
            throws InterruptedException {
        long[] tickets = new long[MOST_AT_ONCE];
        int first = 0;
        int count = 0;
        long posted = 0;
        long done = 0;
        while (done < source.length()) {
            long ticket = 0;
            if (posted < source.length() && count < tickets.length) {
                ticket = tryRead(target, posted);
            }
            if (ticket != 0) {
                tickets[(first + count++) % tickets.length] = ticket;
                posted += piece(posted);
                continue;
            }
            Duration left = Duration.ofNanos(Math.max(0, deadline.remaining()));
            if (count == 0) { // other threads have all operations
                channel.read(target.slice(posted, piece(posted)), source.slice(posted, piece(posted)), left);
                posted += piece(posted);
            } else {
                channel.await(tickets[first], left);
                first = (first + 1) % tickets.length;
                count--;
            }
            done += piece(done);
            progress.accept(done);
        }
        if (deadline.isOver()) {
            throw new VerbsTimeoutException("channel", "accept, " + channel, timeout, "The data came too late");
        }
    }

    private long tryRead(LocalMemory target, long from) {
        return channel.tryRead(target.slice(from, piece(from)), source.slice(from, piece(from)));
    }

    private long piece(long from) {
        return Math.min(PIECE, source.length() - from);
    }

    /**
     * Refuses the data. The peer's {@link Channel#offer} throws a {@link CallException} with the reason.
     *
     * @param reason a text for the peer, of which the first {@link Channel#maxMessageSize} bytes are sent
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if this transfer was accepted, refused or closed, or if the channel is closed
     */
    public void refuse(String reason) {
        channel.messages().refuseUnsent(reply, reason);
    }

    /** Refuses the data, if it was not accepted or refused. */
    @Override
    public void close() {
        reply.close();
    }

    /** Returns for example {@code transfer of 4096 bytes, channel from 10.9.9.1:7174}. */
    @Override
    public String toString() {
        return "transfer of " + source.length() + " bytes, " + channel;
    }
}

package dev.verbena.net;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.StackRoom;
import dev.verbena.internal.link.Link;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.time.Duration;
import java.util.Objects;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Data of any size that the peer offers with {@link Channel#offer}. The receiver decides where the data goes, and its
 * adapter reads the data from the peer's memory, in pieces of up to 4 MiB.
 *
 * {@snippet file="TransferSnippets.java" region="receiver"}
 *
 * <p>A transfer that is closed without being confirmed is refused. One thread at a time uses a transfer. It can be another
 * thread than that which has received the message: a handler hands the transfer over, because accepting takes long.
 */
public final class Transfer implements AutoCloseable {
    private final Channel channel;
    private final Engine engine;
    private final Link.Shown shown;
    private final RemoteMemory source;

    /** The key of the pieces on a sealed channel. */
    private final byte[] key;

    private final byte[] about;
    private final Message reply;

    /** The number of bytes at the beginning that are not fetched: 0, except in tests of places far from the beginning. */
    long skipped;

    Transfer(Channel channel, Engine engine, Link.Shown shown, byte[] key, byte[] about, Message reply) {
        this.channel = channel;
        this.engine = engine;
        this.shown = shown;
        this.source = shown.memory();
        this.key = key;
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
     * Takes the data, waits for it, and confirms it: the peer's {@link Channel#offer} returns.
     *
     * @param target memory of {@link #length} bytes: native memory is registered meanwhile, an array is copied to
     * @param timeout the longest time to wait
     * @throws ChannelException if the channel has ended, also while waiting; with {@link EndReason#ACCESS_DENIED} because the
     *     peer has taken the offer back
     * @throws VerbsTimeoutException if the data did not come in time: the channel ends then
     * @throws InterruptedException if the thread was interrupted: the channel ends then
     * @throws IllegalArgumentException if the memory has another size
     * @throws IllegalStateException if this transfer was confirmed, refused or closed, or if the channel is closed
     */
    public void accept(MemorySegment target, Duration timeout) throws InterruptedException {
        StackRoom.forLinking();
        accept(target, done -> {}, timeout);
    }

    /**
     * Takes the data, waits for it, tells the progress, and confirms the data.
     *
     * @param target memory of {@link #length} bytes: native memory is registered meanwhile, an array is copied to
     * @param progress gets the number of bytes that have come, from the beginning of the data, again and again
     * @param timeout the longest time to wait
     * @throws ChannelException if the channel has ended, also while waiting; with {@link EndReason#ACCESS_DENIED} because the
     *     peer has taken the offer back
     * @throws VerbsTimeoutException if the data did not come in time: the channel ends then
     * @throws InterruptedException if the thread was interrupted: the channel ends then
     * @throws IllegalArgumentException if the memory has another size
     * @throws IllegalStateException if this transfer was confirmed, refused or closed, or if the channel is closed
     */
    public void accept(MemorySegment target, LongConsumer progress, Duration timeout) throws InterruptedException {
        StackRoom.forLinking();
        fetch(target, progress, this::confirm, timeout);
    }

    /**
     * Takes the data and waits for it, but does not answer the peer yet. The program can check the data, and then calls
     * {@link #confirm} or {@link #refuse}.
     *
     * {@snippet file="TransferSnippets.java" region="check"}
     *
     * @param target memory of {@link #length} bytes: native memory is registered meanwhile, an array is copied to
     * @param progress gets the number of bytes that have come, from the beginning of the data, again and again
     * @param timeout the longest time to wait
     * @throws ChannelException if the channel has ended, also while waiting; with {@link EndReason#ACCESS_DENIED} because the
     *     peer has taken the offer back
     * @throws VerbsTimeoutException if the data did not come in time: the channel ends then
     * @throws InterruptedException if the thread was interrupted: the channel ends then
     * @throws IllegalArgumentException if the memory has another size
     * @throws IllegalStateException if this transfer was confirmed, refused or closed, or if the channel is closed
     */
    public void fetch(MemorySegment target, LongConsumer progress, Duration timeout) throws InterruptedException {
        StackRoom.forLinking();
        fetch(target, progress, () -> {}, timeout);
    }

    private void fetch(MemorySegment target, LongConsumer progress, Runnable whole, Duration timeout)
            throws InterruptedException {
        if (target.byteSize() != source.length()) {
            throw new IllegalArgumentException(
                    "target must have the " + source.length() + " bytes of the transfer, got " + target.byteSize());
        }
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("target must not be read-only");
        }
        try {
            fetch(
                    () -> TransferMemory.receiving(
                            engine, channel.session().rail.with(), target),
                    (from, data) -> target.asSlice(from).copyFrom(data),
                    progress,
                    whole,
                    timeout);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // memory has none
        }
    }

    /**
     * Takes the data into a file and waits for it, but does not answer the peer yet. The adapter writes into the mapped file
     * where the kernel allows it. Otherwise the data goes through half a megabyte of memory.
     *
     * @param file a file that is open for writing, and for reading too if it is to be mapped
     * @param position the place of the first byte in the file, which becomes as long as needed
     * @param progress gets the number of bytes that have come, from the beginning of the data, again and again
     * @param timeout the longest time to wait
     * @throws IOException if the file can't be written. The channel stays open, and the transfer can be refused
     * @throws ChannelException if the channel has ended, also while waiting; with {@link EndReason#ACCESS_DENIED} because the
     *     peer has taken the offer back
     * @throws VerbsTimeoutException if the data did not come in time: the channel ends then
     * @throws InterruptedException if the thread was interrupted: the channel ends then
     * @throws java.nio.channels.NonWritableChannelException if the file is open for reading only
     * @throws IllegalStateException if this transfer was confirmed, refused or closed, or if the channel is closed
     */
    public void fetch(FileChannel file, long position, LongConsumer progress, Duration timeout)
            throws IOException, InterruptedException {
        StackRoom.forLinking();
        FileMemory range = new FileMemory(file, position, source.length());
        range.checkWritable();
        fetch(
                () -> TransferMemory.receiving(engine, channel.session().rail.with(), range),
                range::write,
                progress,
                () -> {},
                timeout);
    }

    /**
     * Takes the data.
     *
     * @param target makes the memory that the adapter writes into
     * @param sealed takes the pieces on a sealed channel, whose adapter has other memory
     * @param whole is called when all data has come, and before the memory is given back, which takes a while
     */
    private void fetch(
            Supplier<TransferMemory> target,
            TransferMemory.Sink sealed,
            LongConsumer progress,
            Runnable whole,
            Duration timeout)
            throws IOException, InterruptedException {
        Objects.requireNonNull(progress, "progress");
        Deadline deadline = Deadline.after(timeout);
        int number = reply.owned().call; // throws if this transfer has ended
        if (source.length() == 0) {
            whole.run();
            return;
        }
        if (engine.options.isSealed()) {
            try (SealedFetch fetch = new SealedFetch(channel, engine, shown, key, number)) {
                finish(() -> fetch.read(sealed, progress, deadline, timeout), whole);
            }
        } else {
            Operations operations = channel.session().operations;
            operations.found(shown);
            try (TransferMemory memory = target.get()) {
                finish(() -> read(memory, progress, deadline, timeout), whole);
            } finally {
                operations.forgetFound(source);
            }
        }
    }

    /** Reads all pieces. Returns the failure of the file, if it has failed. */
    private interface Reading {
        @Nullable
        IOException read() throws InterruptedException;
    }

    private void finish(Reading reading, Runnable whole) throws IOException, InterruptedException {
        IOException refused;
        boolean read = false;
        try {
            refused = reading.read();
            read = true;
        } finally {
            if (!read) { // reads may be under way into memory that the program uses again
                channel.session().end(EndReason.FAILED, "A transfer was given up", null);
            }
        }
        if (refused != null) {
            throw refused;
        }
        whole.run();
    }

    /** Reads all pieces. Returns the failure of the file, if it has failed: no read is under way then. */
    private @Nullable IOException read(
            TransferMemory target, LongConsumer progress, Deadline deadline, Duration timeout)
            throws InterruptedException {
        Pace pace = channel.pace();
        Duration late =
                channel.session().rail.with().carrier.ackTimeout().dividedBy(8).multipliedBy(7); // clocks are coarse
        long[] tickets = new long[TransferMemory.PIECES];
        long[] sizes = new long[TransferMemory.PIECES];
        long posted = 0;
        long come = 0;
        long next = skipped;
        long done = skipped;
        while (done < source.length()) {
            long size = Math.min(Math.min(pace.size(), target.longest()), source.length() - next);
            long ticket = 0;
            if (size > 0 && posted - come < tickets.length) {
                ticket = channel.tryRead(target.piece(posted, next, size), source.slice(next, size));
            }
            if (ticket != 0) {
                int newest = (int) (posted % tickets.length);
                tickets[newest] = ticket;
                sizes[newest] = size;
                posted++;
                next += size;
                continue;
            }
            int oldest = (int) (come % tickets.length);
            if (posted == come) { // other threads have all operations
                channel.read(target.piece(posted, next, size), source.slice(next, size), deadline.left());
                sizes[oldest] = size;
                posted++;
                next += size;
            } else {
                long start = System.nanoTime();
                channel.await(tickets[oldest], deadline.left());
                Duration waited = Duration.ofNanos(System.nanoTime() - start);
                pace.arrived(sizes[oldest], waited.compareTo(late) > 0);
            }
            try {
                target.arrived(come, done, sizes[oldest]);
                done += sizes[oldest];
                come++;
            } catch (IOException failed) {
                for (come++; come < posted; come++) {
                    channel.await(tickets[(int) (come % tickets.length)], deadline.left());
                }
                return failed;
            }
            progress.accept(done);
        }
        if (deadline.isOver()) {
            throw new VerbsTimeoutException("channel", "accept, " + channel, timeout, "The data came too late");
        }
        return null;
    }

    /**
     * Confirms that this side has the data: the peer's {@link Channel#offer} returns. A program that does not want the data,
     * because it has them already, may confirm a transfer without taking it.
     *
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if this transfer was confirmed, refused or closed, or if the channel is closed
     */
    public void confirm() {
        channel.messages().confirm(reply, source.length());
    }

    /**
     * Refuses the data. The peer's {@link Channel#offer} throws a {@link CallException} with the reason.
     *
     * @param reason a text for the peer, of which the first {@link Channel#maxMessageSize} bytes are sent
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if this transfer was confirmed, refused or closed, or if the channel is closed
     */
    public void refuse(String reason) {
        channel.messages().refuseUnsent(reply, reason);
    }

    /** Refuses the data, if it was not confirmed or refused. */
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

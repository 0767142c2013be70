package dev.verbena.net;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.wire.Wire;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A piece of registered memory for one message of a {@link Channel}, to send or received. The channel makes the memory once
 * and lends it.
 *
 * <p>A message to send belongs to the program from {@link Channel#message} until {@link #send(Duration)} or {@link #close}. A
 * received message belongs to the program from {@link Channel#receive} until {@link #close}, which lets the peer send
 * another one. After that, the methods of the message throw.
 *
 * <p>A received message may be a request, which the peer has sent with {@link Channel#call}. Answer it:
 *
 * {@snippet file="CallSnippets.java" region="server"}
 *
 * <p>Methods that wait return a new object each time. Methods that allocate nothing, whose names begin with {@code poll} or {@code try}, and
 * handlers get an object that the channel uses again for the same memory. Do not keep such an object after the message was
 * sent or closed: it can become a later message.
 *
 * <p>One thread at a time uses a message: the thread that got it, or a thread that it was handed to.
 */
public final class Message implements AutoCloseable {
    private final Channel channel;
    private final Buffer buffer;
    private int turn;

    Message(Channel channel, Buffer buffer, int turn) {
        this.channel = channel;
        this.buffer = buffer;
        this.turn = turn;
    }

    /** Makes this the message that the buffer is lent as now. */
    void renew(int now) {
        turn = now;
    }

    /** Returns the buffer; null if this message was sent or closed. */
    @Nullable
    Buffer ownedOrNull() {
        return buffer.turn() == turn ? buffer : null;
    }

    /** Returns the buffer of a message that the program has. */
    Buffer owned() {
        if (buffer.turn() != turn) {
            throw new IllegalStateException("The message was sent or closed: take another one with Channel.message()");
        }
        return buffer;
    }

    /**
     * Returns the bytes of this message. The segment has {@link #length} bytes. Its object is made anew when the length is
     * another one than before, so that messages of equal lengths allocate nothing.
     *
     * @return the bytes
     * @throws IllegalStateException if this message was sent or closed
     */
    public MemorySegment segment() {
        return owned().segment();
    }

    /**
     * Returns the whole memory, of which a message uses the first {@link #length} bytes. The segment is always the same
     * object. The bytes behind the length are those of an earlier message.
     *
     * @return the memory
     * @throws IllegalStateException if this message was sent or closed
     */
    public MemorySegment memory() {
        return owned().memory();
    }

    /**
     * Returns the number of bytes.
     *
     * @return the number of bytes to send, or that have arrived
     * @throws IllegalStateException if this message was sent or closed
     */
    public long length() {
        return owned().length();
    }

    /**
     * Sets the number of bytes to send. A new message has as many as the channel allows.
     *
     * @param bytes from 0 to {@link Channel#maxMessageSize}
     * @return this message
     * @throws IllegalArgumentException if the number is out of range
     * @throws IllegalStateException if this message was received, sent or closed
     */
    public Message length(long bytes) {
        Buffer mine = owned();
        if (mine.state() != Buffer.State.LENT) {
            throw new IllegalStateException("A received message keeps its length");
        }
        if (bytes < 0 || bytes > channel.maxMessageSize()) {
            throw new IllegalArgumentException("length of a message must be from 0 to " + channel.maxMessageSize()
                    + " bytes on this channel, got " + bytes + ": see NodeOptions.messageSize() of both nodes");
        }
        mine.length((int) bytes);
        return this;
    }

    /**
     * Returns true if the peer waits for a reply to this message, which it has sent with {@link Channel#call}.
     *
     * @return true until {@link #reply} was called
     * @throws IllegalStateException if this message was sent or closed
     */
    public boolean isRequest() {
        Buffer mine = owned();
        return mine.kind == Wire.CALL && mine.call != Buffer.NO_CALL;
    }

    /**
     * Returns true if this message is an offer of data, which the peer has sent with {@link Channel#offer}.
     *
     * @return true until {@link #transfer} was called
     * @throws IllegalStateException if this message was sent or closed
     */
    public boolean isOffer() {
        Buffer mine = owned();
        return mine.kind == Wire.OFFER && mine.call != Buffer.NO_CALL;
    }

    /**
     * Returns true if this message is a notice, which the peer has sent with {@link Channel#writeAndNotify}: what it has
     * written before is in the memory of this side.
     *
     * @return true if {@link #notice} returns its number
     * @throws IllegalStateException if this message was sent or closed
     */
    public boolean isNotice() {
        Buffer mine = owned();
        return mine.kind == Wire.NOTICE && mine.state() == Buffer.State.RECEIVED;
    }

    /**
     * Returns the number of this notice, which the peer's program has chosen.
     *
     * {@snippet file="ExportSnippets.java" region="notified"}
     *
     * @return the number
     * @throws IllegalStateException if this message is no notice, or was sent or closed
     */
    public long notice() {
        if (!isNotice()) {
            throw new IllegalStateException(
                    "The message is no notice: the peer has not sent it with Channel.writeAndNotify()");
        }
        return buffer.memory().get(Wire.LONG, 0);
    }

    /**
     * Returns the data that this message offers, to be accepted or refused. The transfer can be used after this message was
     * closed, and by another thread.
     *
     * @return the transfer
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if this message is no offer, or has its transfer already, or if the channel is closed
     */
    public Transfer transfer() {
        return channel.messages().transfer(this);
    }

    /**
     * Returns the reply to this request, to be filled and sent. This never waits, because the channel keeps memory for all
     * replies. The reply can be sent after this request was closed, and by another thread.
     *
     * @return a message of {@link Channel#maxMessageSize} bytes, whose content is that of an earlier one
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if this message is no request, or has its reply already, or if the channel is closed
     */
    public Message reply() {
        return channel.messages().reply(this);
    }

    /**
     * Sends this message on its channel, without waiting. A reply can always be sent, because the request has brought a
     * credit. Any other message needs memory of the peer, for which {@link #send(Duration)} waits. When this method throws,
     * the message still belongs to the program.
     *
     * @throws ChannelException if the channel has ended
     * @throws VerbsTimeoutException if the peer has no memory for the message now
     * @throws IllegalStateException if this message was sent, closed or received, or if the channel is closed
     */
    public void send() {
        if (!channel.messages().trySend(this)) {
            throw channel.noCredit(Duration.ZERO);
        }
    }

    /**
     * Sends this message on its channel, as {@link Channel#send} does, and waits for that until the peer has memory for it.
     * When this method throws, the message still belongs to the program.
     *
     * @param timeout the longest time to wait
     * @throws ChannelException if the channel has ended, also while waiting
     * @throws VerbsTimeoutException if the peer did not make room in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if this message was sent, closed or received, or if the channel is closed, also while
     *     waiting
     */
    public void send(Duration timeout) throws InterruptedException {
        channel.send(this, timeout);
    }

    /**
     * Answers this request or offer with a failure. The peer's call throws a {@link CallException} with the text.
     *
     * @param reason a text for the peer, of which the first {@link Channel#maxMessageSize} bytes are sent
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if this message is no request or offer, or has its reply already, or if the channel is
     *     closed
     */
    public void refuse(String reason) {
        channel.messages().refuse(this, reason);
    }

    /**
     * Returns the channel of this message.
     *
     * @return the channel
     */
    public Channel channel() {
        return channel;
    }

    /**
     * Gives this message back. Closing a message that was sent or closed does nothing. A request that is closed without a
     * reply fails at the peer, and so does the call of a reply that is closed and was not sent.
     */
    @Override
    public void close() {
        channel.messages().giveBack(this);
    }

    /** Returns for example {@code received message of 64 bytes, channel to 10.9.9.1:7174}. */
    @Override
    public String toString() {
        String what;
        if (buffer.turn() != turn) {
            what = "closed message, ";
        } else if (buffer.state() == Buffer.State.LENT) {
            what = (buffer.kind == Wire.REPLY ? "reply" : "message") + " to send, " + buffer.length() + " bytes, ";
        } else {
            what = "received message of " + buffer.length() + " bytes, ";
        }
        return what + channel;
    }

    /** Returns the buffer of a message that the program may send on a channel. */
    Buffer sendable(Channel on) {
        if (channel != on) {
            throw new IllegalArgumentException("The message belongs to another " + channel);
        }
        Buffer mine = owned();
        if (mine.state() != Buffer.State.LENT) {
            throw new IllegalStateException("A received message can't be sent: copy it to one of Channel.message()");
        }
        return mine;
    }
}

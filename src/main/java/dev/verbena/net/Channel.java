package dev.verbena.net;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.verbs.QueuePair;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A reliable connection between two {@link Node}s that carries messages with flow control, in both directions.
 *
 * {@snippet file="NodeSnippets.java" region="client"}
 *
 * <p>A message is sent only when the peer has memory for it. {@link #send} waits for that, and {@link #trySend} returns
 * false. Messages arrive whole, once, and in the order in which they were sent.
 *
 * <p>A channel ends when one side closes it, or when the connection is lost. Messages that have arrived by then can still be
 * received. After the last one, {@link #receive} throws a {@link ChannelException} with the reason, and so do all other
 * methods that would wait. {@link #cause} returns the same reason. Close a channel that has ended, because it keeps its
 * memory until then.
 *
 * {@snippet file="NodeSnippets.java" region="end"}
 *
 * <p>All threads may use a channel at once. Closing the node closes its channels.
 */
public final class Channel implements AutoCloseable {
    private final Engine engine;
    private final ChannelCore core;
    private final Messages messages;
    private final ReentrantLock closing = new ReentrantLock();

    Channel(Engine engine, ChannelCore core, Messages messages) {
        this.engine = engine;
        this.core = core;
        this.messages = messages;
    }

    ChannelCore core() {
        return core;
    }

    Messages messages() {
        return messages;
    }

    // Sending

    /**
     * Returns a free message to send, if there is one.
     *
     * @return a message of {@link #maxMessageSize} bytes, whose content is that of an earlier one; null if all are under way
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if the channel is closed
     */
    public @Nullable Message tryMessage() {
        return messages.takeFree(true);
    }

    /**
     * Waits for a free message to send.
     *
     * @param timeout the longest time to wait
     * @return a message of {@link #maxMessageSize} bytes, whose content is that of an earlier one
     * @throws ChannelException if the channel has ended, also while waiting
     * @throws VerbsTimeoutException if no message was free in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    public Message message(Duration timeout) throws InterruptedException {
        Message free = engine.await(messages.free, messages.takeFree, timeout);
        if (free == null) {
            throw late(
                    "message",
                    timeout,
                    "All messages are lent or under way: close those that are not sent, or raise NodeOptions.sends()");
        }
        return free;
    }

    /**
     * Sends a message if the peer has memory for it. The message then belongs to the channel.
     *
     * @param message a message of this channel
     * @return false if the peer has to receive and close earlier messages first
     * @throws ChannelException if the channel has ended
     * @throws IllegalArgumentException if the message belongs to another channel
     * @throws IllegalStateException if the message was sent, closed or received, or the channel is closed
     */
    public boolean trySend(Message message) {
        return messages.trySend(message);
    }

    /**
     * Sends a message, and waits for that until the peer has memory for it. The message then belongs to the channel. When this
     * method throws, the message still belongs to the program.
     *
     * @param message a message of this channel
     * @param timeout the longest time to wait
     * @throws ChannelException if the channel has ended, also while waiting
     * @throws VerbsTimeoutException if the peer did not make room in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalArgumentException if the message belongs to another channel
     * @throws IllegalStateException if the message was sent, closed or received, or the channel is closed, also while
     *     waiting
     */
    public void send(Message message, Duration timeout) throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // first: nothing is sent when it is null
        if (messages.trySend(message)) {
            return;
        }
        if (engine.await(messages.credit, () -> messages.trySend(message) ? Boolean.TRUE : null, timeout) == null) {
            throw late("send", timeout, "The peer has not closed earlier messages");
        }
    }

    // Receiving

    /**
     * Takes the oldest message that has arrived, if there is one.
     *
     * @return the message, to be closed after use; null if none has arrived
     * @throws ChannelException if the channel has ended and all messages were taken
     * @throws IllegalStateException if the channel is closed
     */
    public @Nullable Message tryReceive() {
        return messages.takeArrived(true);
    }

    /**
     * Waits for a message, and takes it.
     *
     * @param timeout the longest time to wait
     * @return the message, to be closed after use
     * @throws ChannelException if the channel has ended and all messages were taken, also while waiting
     * @throws VerbsTimeoutException if no message came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    public Message receive(Duration timeout) throws InterruptedException {
        Message arrived = engine.await(messages.arrival, messages.takeArrived, timeout);
        if (arrived == null) {
            throw late("receive", timeout, "The peer has sent nothing");
        }
        return arrived;
    }

    // Calls

    /**
     * Sends a request, and waits for the reply to it. Many threads can do that at once: each gets the reply to its own
     * request. The request takes a credit, as other messages do, and then belongs to the channel.
     *
     * <p>At most {@link NodeOptions#calls} calls of a side are open at once, of the smaller number of both nodes. Further
     * ones wait. A call that is given up, for example when its time is over, stays open until its reply comes, which is
     * dropped.
     *
     * {@snippet file="CallSnippets.java" region="client"}
     *
     * @param request a message of this channel
     * @param timeout the longest time to wait, for all of this
     * @return the reply, to be closed after use
     * @throws CallException if the peer's program refuses the request, or does not answer it
     * @throws ChannelException if the channel has ended, also while waiting
     * @throws VerbsTimeoutException if no reply came in time. The request still belongs to the program if it was not sent
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalArgumentException if the message belongs to another channel
     * @throws IllegalStateException if the message was sent, closed or received, if one of the nodes allows no calls, or if
     *     the channel is closed, also while waiting
     */
    public Message call(Message request, Duration timeout) throws InterruptedException {
        Deadline deadline = Deadline.after(timeout);
        request.sendable(this);
        Calls.Call call = engine.await(messages.numbers, messages.takeNumber, timeout);
        if (call == null) {
            throw late("call", timeout, "The peer has not answered earlier calls");
        }
        long ticket = call.ticket();
        Message reply = null;
        try {
            if (!messages.trySendRequest(request, call)
                    && engine.await(
                                    messages.credit,
                                    () -> messages.trySendRequest(request, call) ? Boolean.TRUE : null,
                                    left(deadline))
                            == null) {
                throw late("call", timeout, "The peer has not closed earlier messages");
            }
            reply = engine.await(call.answered, call.take, left(deadline));
            if (reply == null) {
                throw late("call", timeout, "The peer has not answered");
            }
            return reply;
        } finally {
            if (reply == null) {
                messages.forget(ticket);
            }
        }
    }

    private static Duration left(Deadline deadline) {
        return Duration.ofNanos(Math.max(0, deadline.remaining()));
    }

    /**
     * Sends a request, if that is possible without waiting. Take the reply with {@link #tryReply}, or give the call up with
     * {@link #forget}. Nothing is allocated.
     *
     * {@snippet file="CallSnippets.java" region="polling"}
     *
     * @param request a message of this channel
     * @return the ticket of the call; 0 if the peer has to close messages or to answer calls first
     * @throws ChannelException if the channel has ended
     * @throws IllegalArgumentException if the message belongs to another channel
     * @throws IllegalStateException if the message was sent, closed or received, if one of the nodes allows no calls, or if
     *     the channel is closed
     */
    public long tryCall(Message request) {
        request.sendable(this);
        return messages.tryCall(request);
    }

    /**
     * Takes the reply to a call, if it has come. The ticket ends with that.
     *
     * @param ticket the ticket from {@link #tryCall}
     * @return the reply, to be closed after use; null if it has not come
     * @throws CallException if the peer's program refuses the request, or does not answer it
     * @throws ChannelException if the channel has ended before the reply came
     * @throws IllegalArgumentException if no open call has the ticket
     * @throws IllegalStateException if the channel is closed
     */
    public @Nullable Message tryReply(long ticket) {
        return messages.tryReply(ticket);
    }

    /**
     * Gives up a call: its reply is dropped. Does nothing if no open call has the ticket.
     *
     * @param ticket the ticket from {@link #tryCall}
     */
    public void forget(long ticket) {
        messages.forget(ticket);
    }

    // Handlers

    /**
     * Gives the messages of this channel to a handler from now on, and the end of the channel. Messages that have arrived
     * already are handed over first. The handler gets no {@link Handler#opened}.
     *
     * @param handler the handler
     * @throws IllegalStateException if the channel has a handler already, or is closed
     */
    public void listen(Handler handler) {
        Objects.requireNonNull(handler, "handler");
        core.checkNotClosed();
        if (!messages.handle(handler)) {
            throw new IllegalStateException("The " + this + " has a handler already");
        }
        engine.ready(core);
    }

    private VerbsTimeoutException late(String call, Duration timeout, String hint) {
        return new VerbsTimeoutException("channel", call + ", " + this, timeout, hint);
    }

    // State

    /**
     * Returns the largest number of bytes of a message to the peer: the smaller one of both nodes' limits.
     *
     * @return the number of bytes
     */
    public int maxMessageSize() {
        return messages.maxSize();
    }

    /**
     * Returns the node of this channel.
     *
     * @return the node
     */
    public Node node() {
        return engine.node();
    }

    /**
     * Returns the address of the peer.
     *
     * @return the address and port
     */
    public InetSocketAddress peer() {
        return core.peer();
    }

    /**
     * Returns true until the channel ends or this side closes it.
     *
     * @return true if messages can be sent
     */
    public boolean isOpen() {
        return core.isOpen();
    }

    /**
     * Returns the reason why the channel has ended, also after {@link #close}.
     *
     * @return the exception with the reason, which is a {@link ChannelException}; empty while the channel is open, and if
     *     this side has closed it
     */
    public Optional<VerbsException> cause() {
        return Optional.ofNullable(core.cause());
    }

    /**
     * Returns the queue pair of this channel, for its numbers and counters. A program that posts to it breaks the channel.
     *
     * @return the queue pair, closed with this channel
     * @throws IllegalStateException if the channel is closed
     */
    public QueuePair queuePair() {
        return core.queuePair();
    }

    /** Waits until the channel is open; throws if it ends first. Returns false when the time is over. */
    boolean awaitOpen(Duration timeout) throws InterruptedException {
        Supplier<@Nullable Boolean> attempt = () -> core.isOpenOrThrow() ? Boolean.TRUE : null;
        return engine.await(core.changes, attempt, timeout) != null;
    }

    /**
     * Closes this channel. Messages that were accepted for sending are delivered first. Then both sides say goodbye, and the
     * connection ends. This takes as long as the peer's node needs to answer, at most {@link NodeOptions#closeTimeout}.
     *
     * <p>Messages that have arrived and were not received are dropped, and messages that the program still holds can't be
     * read any more. Threads that wait in a method of this channel get an {@link IllegalStateException}. An interrupted
     * thread does not wait for the peer. Closing a channel twice does nothing.
     *
     * @throws ChannelException if it is not sure that the peer's node has got all messages. The channel is closed
     * @throws VerbsException if C refused to destroy an object. Its memory stays allocated until the node is closed
     */
    @Override
    public void close() {
        closing.lock(); // a second thread returns when the first one has closed the channel
        try {
            if (core.beginClose()) {
                ChannelException lost = finishClose(engine.options().closeTimeout());
                if (lost != null) {
                    throw lost;
                }
            }
        } finally {
            closing.unlock();
        }
    }

    /**
     * Waits for the end of the connection, and frees what the channel has. Returns the exception to throw if messages may be
     * lost.
     */
    @Nullable
    ChannelException finishClose(Duration timeout) {
        boolean interrupted = false;
        try {
            engine.await(core.changes, core.hasParted, timeout);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        ChannelException lost = core.finishClose(interrupted);
        try {
            engine.release(core);
        } catch (RuntimeException | Error refused) {
            if (lost != null) {
                refused.addSuppressed(lost);
            }
            throw refused;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        return lost;
    }

    /** Returns for example {@code channel to 10.9.9.1:7174 (open, 32 credits, 0 under way, 0 arrived)}. */
    @Override
    public String toString() {
        return core.toString();
    }
}

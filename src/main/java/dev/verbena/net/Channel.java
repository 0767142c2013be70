package dev.verbena.net;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.StackRoom;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.link.OperationKind;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
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
    static final String NO_CREDIT = "The peer has not closed earlier messages";
    private static final Link.Shown NOTHING = new Link.Shown(new RemoteMemory(0, 0, 0));

    private final Engine engine;
    private final Session session;
    private final Messages messages;
    private final Calls calls;
    private final Operations operations;
    private final Pace pace = new Pace();
    private final AtomicReference<@Nullable Object> attachment = new AtomicReference<>();

    /** True if a close has failed, for lack of memory for example, and another one is to report what it would have. */
    private volatile boolean unfinished;

    Channel(Engine engine, Session session, Messages messages, Operations operations) {
        this.engine = engine;
        this.session = session;
        this.messages = messages;
        this.calls = messages.calls;
        this.operations = operations;
    }

    Session session() {
        return session;
    }

    Messages messages() {
        return messages;
    }

    /** Returns the size of the pieces of transfers, which all transfers of this channel learn. */
    Pace pace() {
        return pace;
    }

    // Sending

    /**
     * Returns a free message to send, if there is one.
     *
     * @return a message of {@link #maxMessageSize} bytes, whose content is that of an earlier one; null if all are under way
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if the channel is closed
     */
    public @Nullable Message pollMessage() {
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
        return inTime(
                engine.await(messages.free, messages.takeFree, timeout),
                "message",
                timeout,
                "All messages are lent or under way: close those that are not sent, or raise NodeOptions.sends()");
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
     * Sends a message, and waits for that until the peer has memory for it. The message then belongs to the channel. When
     * this method throws, the message still belongs to the program.
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
        if (!messages.trySend(message)) {
            Attempt attempt = new Attempt() {
                @Override
                boolean succeeds() {
                    return messages.trySend(message);
                }
            };
            if (engine.await(messages.credit, attempt, timeout) == null) {
                throw noCredit(timeout);
            }
        }
    }

    /** Makes the exception for a message that the peer has no memory for. */
    VerbsTimeoutException noCredit(Duration waited) {
        return new VerbsTimeoutException("channel", "send, " + this, waited, NO_CREDIT);
    }

    /**
     * An attempt that a thread repeats until it succeeds. It is no lambda: the JDK never links one again for which a thread had
     * no stack or heap at its first use, and each later call fails.
     */
    abstract static class Attempt implements Supplier<@Nullable Boolean> {
        abstract boolean succeeds();

        @Override
        public final @Nullable Boolean get() {
            return succeeds() ? Boolean.TRUE : null;
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
    public @Nullable Message pollReceive() {
        return messages.pollReceive();
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
        return inTime(arrived, "receive", timeout, "The peer has sent nothing");
    }

    /**
     * Receives messages until the peer closes the channel: waits for each, gives it to an action on this thread, and closes
     * it. This is the loop of a server in the blocking style. A message whose action throws is closed too, so that a request
     * without a reply fails at the peer.
     *
     * {@snippet file="NodeSnippets.java" region="each"}
     *
     * @param action takes a message, and answers it if it is a request
     * @throws ChannelException if the channel has ended for another reason than that the peer has closed it
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    public void receiveEach(Consumer<? super Message> action) throws InterruptedException {
        Objects.requireNonNull(action, "action");
        for (Message next = receiveUnlessClosed(); next != null; next = receiveUnlessClosed()) {
            try (Message message = next) {
                action.accept(message);
            }
        }
    }

    private @Nullable Message receiveUnlessClosed() throws InterruptedException {
        try {
            return receive(Deadline.FOREVER);
        } catch (ChannelException end) {
            if (end.reason() == EndReason.CLOSED_BY_PEER) {
                return null;
            }
            throw end;
        }
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
        return calls.call(request, Wire.CALL, null, timeout);
    }

    /**
     * Sends a request, if that is possible without waiting. Take the reply with {@link #pollReply}, or give the call up with
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
        return calls.tryCall(request);
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
    public @Nullable Message pollReply(long ticket) {
        return calls.tryTake(ticket, true);
    }

    /**
     * Gives up a call: its reply is dropped. Does nothing if no open call has the ticket.
     *
     * @param ticket the ticket from {@link #tryCall}
     */
    public void forget(long ticket) {
        calls.forget(ticket);
    }

    /**
     * Sends a request, and returns a future of the reply to it. This never waits: a request that lacks a credit or an open
     * call waits in the channel, and is sent before those of threads that wait. Later messages may overtake it.
     *
     * {@snippet file="CallSnippets.java" region="future"}
     *
     * <p>When this method throws, the request still belongs to the program. When it returns, the request belongs to the
     * channel, and the reply will belong to the program, which closes it after use. A future that the program completes
     * first, with {@code cancel} or {@code orTimeout} for example, gives the call up: a request that was not sent is given
     * back, and a reply is dropped when it comes. Cancelling a future that depends on this one does not do that.
     *
     * <p>The future ends with the channel. A {@link CallException}, a {@link ChannelException}, or the
     * {@link IllegalStateException} of a channel that this side has closed is then the cause of the
     * {@link java.util.concurrent.ExecutionException}. Without {@code orTimeout}, the call lasts as long as the peer does
     * not answer.
     *
     * <p>Actions that depend on the future, such as that of {@code thenAccept}, run as handlers do: on the node's thread, or
     * with {@link NodeOptions.Progress#CALLER} in a thread that makes progress, one after the other. They may wait in methods
     * of channels and of such futures. Meanwhile messages travel, but no other action or handler of the node is called: use
     * the methods of {@code CompletableFuture} whose names end with {@code Async} for long work.
     *
     * @param request a message of this channel
     * @return the future of the reply
     * @throws ChannelException if the channel has ended
     * @throws IllegalArgumentException if the message belongs to another channel
     * @throws IllegalStateException if the message was sent, closed or received, if one of the nodes allows no calls, or if
     *     the channel is closed
     */
    public CompletableFuture<Message> callAsync(Message request) {
        return calls.call(request);
    }

    // The peer's memory

    /**
     * Finds memory that the peer's node exports. The value can be used on this channel until the peer closes the export. It
     * needs a call: see {@link NodeOptions#calls}.
     *
     * @param name the name of the export
     * @param timeout the longest time to wait
     * @return the memory, for {@link #read} and the other methods; {@link RemoteMemory#slice} makes parts
     * @throws CallException if no export has the name, if the peer allows this side no more exports, or if the channel is
     *     protected and the export is not for it: see {@link Export#inTheClear}
     * @throws ChannelException if the channel has ended, also while waiting
     * @throws VerbsTimeoutException if no reply came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalArgumentException if the name has no bytes or more than 64 in UTF-8
     * @throws IllegalStateException if the channel is closed, also while waiting, or has no calls
     */
    public RemoteMemory remote(String name, Duration timeout) throws InterruptedException {
        byte[] bytes = Exports.bytes(name);
        Deadline deadline = Deadline.after(timeout);
        Message request = message(timeout).length(bytes.length);
        try (request) { // gives the message back if it was not sent
            request.segment().copyFrom(MemorySegment.ofArray(bytes));
            try (Message reply = calls.call(request, Wire.LOOKUP, null, deadline.left())) {
                if (reply.length() != session.descriptionBytes()
                        || reply.segment().get(ValueLayout.JAVA_BYTE, 12) < 0) {
                    throw new CallException(session.toText(), "The description of the export is malformed");
                }
                return session.operations.found(reply.segment());
            }
        }
    }

    /**
     * Reads memory of the peer. On a {@linkplain Protection#SEALED sealed} channel, this and the other operations can use
     * only memory that {@link #remote} has found on this channel, and move it as it is: see {@link Export#inTheClear}.
     *
     * {@snippet file="ExportSnippets.java" region="read"}
     *
     * <p>When this method ends without success, the adapter may still write into the memory until the channel is closed.
     *
     * @param into memory that was registered with this channel's node, with {@code LOCAL_WRITE}
     * @param from memory of the peer, of at least the same length
     * @param timeout the longest time to wait
     * @throws IllegalArgumentException if the channel is sealed, and {@code remote} has not found the memory
     * @throws ChannelException if the channel has ended, also while waiting; with {@link EndReason#ACCESS_DENIED} because the
     *     peer's adapter has refused an operation
     * @throws VerbsTimeoutException if the data did not come in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    public void read(LocalMemory into, RemoteMemory from, Duration timeout) throws InterruptedException {
        operations.finish(OperationKind.READ, Objects.requireNonNull(into, "into"), from, 0, 0, "read", timeout);
    }

    /**
     * Writes memory of the peer. When this method returns, the peer's adapter has the data; on iWARP, it may still be on its
     * way. The peer's program sees it when it gets a message that was sent afterwards: see {@link #writeAndNotify}.
     *
     * @param data memory that was registered with this channel's node
     * @param to memory of the peer, of at least the same length
     * @param timeout the longest time to wait
     * @throws ChannelException if the channel has ended, as in {@link #read}
     * @throws VerbsTimeoutException if the data was not acknowledged in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    public void write(LocalMemory data, RemoteMemory to, Duration timeout) throws InterruptedException {
        operations.finish(OperationKind.WRITE, Objects.requireNonNull(data, "data"), to, 0, 0, "write", timeout);
    }

    /**
     * Writes memory of the peer, and then wakes the peer's program with a number. The number arrives as a message does, in the
     * same order, and takes a credit: {@link #receive} returns a {@link Message#notice}, and a handler gets {@link
     * Handler#written}. The peer's program then sees the data of this write, and of all that were begun before on this channel,
     * on each transport.
     *
     * {@snippet file="ExportSnippets.java" region="notify"}
     *
     * @param data memory that was registered with this channel's node
     * @param to memory of the peer, of at least the same length
     * @param number a number for the peer's program: which part of the memory has changed, for example
     * @param timeout the longest time to wait, until the peer has room for the number and has acknowledged the write
     * @throws ChannelException if the channel has ended, as in {@link #read}
     * @throws VerbsTimeoutException if the peer made no room in time, and nothing was written; or if the write was not
     *     acknowledged in time, and the number may still arrive
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    public void writeAndNotify(LocalMemory data, RemoteMemory to, long number, Duration timeout)
            throws InterruptedException {
        operations.writeAndNotify(Objects.requireNonNull(data, "data"), to, number, timeout);
    }

    /**
     * Writes a number into memory of the peer, as {@link #write} does. The number needs no memory of the program.
     *
     * @param to 8 bytes of the peer, which get the number in the byte order of this machine
     * @param value the number
     * @param timeout the longest time to wait
     * @throws ChannelException if the channel has ended, as in {@link #read}
     * @throws VerbsTimeoutException if the number was not acknowledged in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    public void writeLong(RemoteMemory to, long value, Duration timeout) throws InterruptedException {
        operations.finish(OperationKind.WRITE, null, to, value, 0, "writeLong", timeout);
    }

    /**
     * Adds to a number in the peer's memory, which other channels can do at the same time.
     *
     * @param at 8 bytes of the peer, at an address that is a multiple of 8
     * @param value the number to add
     * @param timeout the longest time to wait
     * @return the number before
     * @throws ChannelException if the channel has ended, as in {@link #read}
     * @throws VerbsTimeoutException if the answer did not come in time
     * @throws InterruptedException if the thread was interrupted
     * @throws dev.verbena.UnsupportedVerbException if the device is one of iWARP, which has no atomics
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    public long fetchAndAdd(RemoteMemory at, long value, Duration timeout) throws InterruptedException {
        return operations.finish(OperationKind.FETCH_AND_ADD, null, at, value, 0, "fetchAndAdd", timeout);
    }

    /**
     * Replaces a number in the peer's memory if it is the expected one.
     *
     * @param at 8 bytes of the peer, at an address that is a multiple of 8
     * @param expected the number that is replaced
     * @param value the new number
     * @param timeout the longest time to wait
     * @return the number before, which is the expected one if it was replaced
     * @throws ChannelException if the channel has ended, as in {@link #read}
     * @throws VerbsTimeoutException if the answer did not come in time
     * @throws InterruptedException if the thread was interrupted
     * @throws dev.verbena.UnsupportedVerbException if the device is one of iWARP, which has no atomics
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    public long compareAndSwap(RemoteMemory at, long expected, long value, Duration timeout)
            throws InterruptedException {
        return operations.finish(OperationKind.COMPARE_AND_SWAP, null, at, expected, value, "compareAndSwap", timeout);
    }

    /**
     * Begins to read memory of the peer, if that is possible without waiting. Nothing is allocated, but see
     * {@link Node#register}.
     *
     * {@snippet file="ExportSnippets.java" region="ticket"}
     *
     * @param into memory that was registered with this channel's node, with {@code LOCAL_WRITE}
     * @param from memory of the peer, of at least the same length
     * @return a ticket for {@link #isDone} and {@link #await}; 0 if as many operations are under way as
     *     {@link NodeOptions#operations} allows
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if the channel is closed
     */
    public long tryRead(LocalMemory into, RemoteMemory from) {
        return operations.post(OperationKind.READ, Objects.requireNonNull(into, "into"), from, 0, 0);
    }

    /**
     * Begins to write memory of the peer, if that is possible without waiting. Nothing is allocated.
     *
     * @param data memory that was registered with this channel's node
     * @param to memory of the peer, of at least the same length
     * @return a ticket, or 0, as in {@link #tryRead}
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if the channel is closed
     */
    public long tryWrite(LocalMemory data, RemoteMemory to) {
        return operations.post(OperationKind.WRITE, Objects.requireNonNull(data, "data"), to, 0, 0);
    }

    /**
     * Begins to write memory of the peer, and then to wake the peer's program with a number, if that is possible without waiting.
     * Nothing is allocated.
     *
     * @param data memory that was registered with this channel's node
     * @param to memory of the peer, of at least the same length
     * @param number a number for the peer's program, as in {@link #writeAndNotify}
     * @return the ticket of the write; 0 if as many operations or messages are under way as may be, or if the peer has to
     *     receive and close earlier messages first. Nothing was written then
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if the channel is closed
     */
    public long tryWriteAndNotify(LocalMemory data, RemoteMemory to, long number) {
        return operations.tryWriteAndNotify(Objects.requireNonNull(data, "data"), to, number);
    }

    /**
     * Begins to write a number into memory of the peer, if that is possible without waiting. Nothing is allocated.
     *
     * @param to 8 bytes of the peer, which get the number in the byte order of this machine
     * @param value the number
     * @return a ticket, or 0, as in {@link #tryRead}
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if the channel is closed
     */
    public long tryWriteLong(RemoteMemory to, long value) {
        return operations.post(OperationKind.WRITE, null, to, value, 0);
    }

    /**
     * Reads memory of the peer, and returns a future. This never waits: a read for which as many operations are under way as
     * {@link NodeOptions#operations} allows waits in the channel, and begins before those of threads that wait. As many again
     * may wait. Later operations may overtake those that wait.
     *
     * {@snippet file="ExportSnippets.java" region="future"}
     *
     * <p>The future ends as that of {@link #future} does. If the program completes it first, a read that waits is not begun.
     *
     * @param into memory that was registered with this channel's node, with {@code LOCAL_WRITE}
     * @param from memory of the peer, of at least the same length
     * @return the future, whose result is 0
     * @throws ChannelException if the channel has ended
     * @throws VerbsTimeoutException if as many operations wait as may
     * @throws IllegalArgumentException if the channel is sealed, and {@link #remote} has not found the memory
     * @throws IllegalStateException if the channel is closed
     */
    public CompletableFuture<Long> readAsync(LocalMemory into, RemoteMemory from) {
        return postLater(OperationKind.READ, Objects.requireNonNull(into, "into"), from, "readAsync");
    }

    /**
     * Writes memory of the peer, and returns a future. This never waits, as {@link #readAsync}.
     *
     * @param data memory that was registered with this channel's node. It must not change before the future is complete
     * @param to memory of the peer, of at least the same length
     * @return the future, whose result is 0. It completes when {@link #write} would return
     * @throws ChannelException if the channel has ended
     * @throws VerbsTimeoutException if as many operations wait as may
     * @throws IllegalArgumentException if the channel is sealed, and {@link #remote} has not found the memory
     * @throws IllegalStateException if the channel is closed
     */
    public CompletableFuture<Long> writeAsync(LocalMemory data, RemoteMemory to) {
        return postLater(OperationKind.WRITE, Objects.requireNonNull(data, "data"), to, "writeAsync");
    }

    private CompletableFuture<Long> postLater(OperationKind kind, LocalMemory local, RemoteMemory remote, String what) {
        return inTime(operations.postLater(kind, local, remote), what, Duration.ZERO, Operations.NO_ROOM);
    }

    /**
     * Begins to add to a number in the peer's memory, if that is possible without waiting.
     *
     * @param at 8 bytes of the peer, at an address that is a multiple of 8
     * @param value the number to add
     * @return a ticket, or 0, as in {@link #tryRead}
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if the channel is closed
     */
    public long tryFetchAndAdd(RemoteMemory at, long value) {
        return operations.post(OperationKind.FETCH_AND_ADD, null, at, value, 0);
    }

    /**
     * Begins to replace a number in the peer's memory, if that is possible without waiting.
     *
     * @param at 8 bytes of the peer, at an address that is a multiple of 8
     * @param expected the number that is replaced
     * @param value the new number
     * @return a ticket, or 0, as in {@link #tryRead}
     * @throws ChannelException if the channel has ended
     * @throws IllegalStateException if the channel is closed
     */
    public long tryCompareAndSwap(RemoteMemory at, long expected, long value) {
        return operations.post(OperationKind.COMPARE_AND_SWAP, null, at, expected, value);
    }

    /**
     * Returns true if an operation is done. The ticket does not end with that.
     *
     * @param ticket a ticket of this channel
     * @return true if {@link #await} returns at once
     * @throws ChannelException if the channel has ended before
     * @throws IllegalArgumentException if no operation has the ticket
     * @throws IllegalStateException if the channel is closed
     */
    public boolean isDone(long ticket) {
        return operations.isDone(ticket);
    }

    /**
     * Waits until an operation is done. The ticket ends when this method returns or throws.
     *
     * @param ticket a ticket of this channel
     * @param timeout the longest time to wait
     * @return the number before, of an operation that adds to it or replaces it; else 0
     * @throws ChannelException if the channel has ended, as in {@link #read}
     * @throws VerbsTimeoutException if the operation was not done in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalArgumentException if no operation has the ticket
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    public long await(long ticket, Duration timeout) throws InterruptedException {
        return operations.await(ticket, timeout);
    }

    /**
     * Returns a future of an operation's result, and ends the ticket. Its actions run as those of {@link #callAsync} do. A
     * future that the program completes first, with {@code cancel} for example, does not end the operation: the adapter may
     * still write into the memory until the channel is closed.
     *
     * @param ticket a ticket of this channel
     * @return the future of the result of {@link #await}. It ends with the channel, as that of {@link #callAsync} does
     * @throws IllegalArgumentException if no operation has the ticket
     * @throws IllegalStateException if the channel is closed
     */
    public CompletableFuture<Long> future(long ticket) {
        return operations.future(ticket);
    }

    // Transfers

    /**
     * Offers data of any size to the peer, and waits until the peer's program has taken it. The peer gets a message,
     * accepts its {@link Message#transfer}, and its adapter reads the data. Many threads can do that at once. An offer is a
     * call: see {@link NodeOptions#calls}.
     *
     * {@snippet file="TransferSnippets.java" region="sender"}
     *
     * <p>The peer can read the data only until this method ends. If it ends while the peer is reading, the channel ends too.
     *
     * @param data the data: native memory is registered meanwhile, an array is copied
     * @param about bytes about the data for the peer's program, at least 20 less than {@link #maxMessageSize}, and at least
     *     52 less on a sealed channel
     * @param timeout the longest time to wait
     * @throws CallException if the peer's program refuses the data, or the peer's node because it is too large
     * @throws ChannelException if the channel has ended, also while waiting
     * @throws VerbsTimeoutException if the peer did not take the data in time
     * @throws VerbsException if the memory could not be registered
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalArgumentException if there are too many bytes about the data
     * @throws IllegalStateException if the channel is closed, also while waiting, or has no calls
     */
    public void offer(MemorySegment data, byte[] about, Duration timeout) throws InterruptedException {
        StackRoom.forLinking();
        Deadline deadline = Deadline.after(timeout);
        checkAbout(about);
        if (data.byteSize() == 0) {
            offer(NOTHING, about, deadline);
            return;
        }
        if (engine.options.isSealed()) {
            try {
                offer(
                        data.byteSize(),
                        (from, into, length) -> MemorySegment.copy(data, ValueLayout.JAVA_BYTE, from, into, 0, length),
                        about,
                        deadline);
            } catch (IOException e) {
                throw new UncheckedIOException(e); // memory has none
            }
            return;
        }
        try (TransferMemory memory = TransferMemory.sending(engine, session.rail.with(), data)) {
            offer(memory, about, deadline);
        }
    }

    /**
     * Offers a part of a file to the peer, and waits until the peer's program has taken it, as {@link #offer(MemorySegment,
     * byte[], Duration)} does with memory. The file may be read-only. It is mapped where the kernel allows that: Linux 6.2
     * or later. Otherwise the part is read into memory first. A device pins the whole part in memory. So offer a file that is
     * larger than the memory in parts.
     *
     * {@snippet file="TransferSnippets.java" region="file"}
     *
     * @param file a file that is open for reading
     * @param position the place of the first byte in the file
     * @param size the number of bytes
     * @param about bytes about the data for the peer's program, at least 20 less than {@link #maxMessageSize}, and at least
     *     52 less on a sealed channel
     * @param timeout the longest time to wait
     * @throws IOException if the file can't be read, or ends before
     * @throws CallException if the peer's program refuses the data, or the peer's node because it is too large
     * @throws ChannelException if the channel has ended, also while waiting
     * @throws VerbsTimeoutException if the peer did not take the data in time
     * @throws VerbsException if the memory could not be registered
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalArgumentException if the range is negative or there are too many bytes about the data
     * @throws IllegalStateException if the channel is closed, also while waiting, or has no calls
     */
    public void offer(FileChannel file, long position, long size, byte[] about, Duration timeout)
            throws IOException, InterruptedException {
        StackRoom.forLinking();
        Deadline deadline = Deadline.after(timeout);
        checkAbout(about);
        FileMemory range = new FileMemory(file, position, size);
        if (size == 0) {
            offer(NOTHING, about, deadline);
            return;
        }
        if (engine.options.isSealed()) {
            range.checkReadable();
            try {
                offer(size, range::read, about, deadline);
            } catch (UncheckedIOException failed) {
                throw failed.getCause();
            }
            return;
        }
        try (TransferMemory memory = TransferMemory.sending(engine, session.rail.with(), range)) {
            offer(memory, about, deadline);
        }
    }

    private void checkAbout(byte[] about) {
        int most = maxMessageSize() - offerBytes();
        if (about.length > most) {
            throw new IllegalArgumentException(
                    "about must have at most " + most + " bytes on this channel, got " + about.length);
        }
    }

    /** Offers memory to the peer of this channel. With protection, its key is of no use to others. */
    private void offer(TransferMemory memory, byte[] about, Deadline deadline) throws InterruptedException {
        if (memory.region().access().contains(AccessFlag.REMOTE_READ)) {
            offer(session.checkCanSend().shown(memory.region()), about, deadline);
            return;
        }
        try (Export only = engine.exports.unnamed(memory.region(), memory.arena())) {
            offer(session.grant(only), about, deadline);
        }
    }

    private void offer(Link.Shown data, byte[] about, Deadline deadline) throws InterruptedException {
        try (Message request = message(deadline.left()).length(about.length + offerBytes())) {
            data.writeTo(describe(request, about));
            calls.call(request, Wire.OFFER, null, deadline.left()).close();
            messages.countTaken(data.memory().length());
        }
    }

    private void offer(long size, SealedOffer.Source source, byte[] about, Deadline deadline)
            throws IOException, InterruptedException {
        try (SealedOffer data = new SealedOffer(engine, session.rail.with(), size, source);
                Message request = message(deadline.left()).length(about.length + offerBytes())) {
            data.describe(describe(request, about), session.checkCanSend());
            calls.call(request, Wire.OFFER, data, deadline.left()).close();
            data.taken();
            messages.countTaken(size);
        }
    }

    /** Returns the number of bytes behind those of the program in an offer. */
    private int offerBytes() {
        return engine.options.offerBytes(session.rail.with().carrier.devices());
    }

    /** Writes the bytes of the program into an offer. Returns the memory for the rest. */
    private static MemorySegment describe(Message request, byte[] about) {
        MemorySegment bytes = request.segment();
        bytes.asSlice(0, about.length).copyFrom(MemorySegment.ofArray(about));
        return bytes.asSlice(about.length).fill((byte) 0);
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
        session.checkNotClosed();
        if (!messages.listening.begin(handler)) {
            throw new IllegalStateException("The " + this + " has a handler already");
        }
        engine.handlers.ready(session);
    }

    /**
     * Attaches an object of the program to this channel, in place of the one before: what a handler has to know of a peer, for
     * example. It stays attached when the channel ends and is closed.
     *
     * @param object the object; null for none
     * @return the object that was attached before; null if there was none
     */
    public @Nullable Object attach(@Nullable Object object) {
        return attachment.getAndSet(object);
    }

    /**
     * Returns the object that the program has attached to this channel.
     *
     * @return the object; null if there is none
     */
    public @Nullable Object attachment() {
        return attachment.get();
    }

    /** Returns the result of a wait. Throws if there is none, because the time is over. */
    <T> T inTime(@Nullable T found, String call, Duration timeout, String hint) {
        if (found == null) {
            throw new VerbsTimeoutException("channel", call + ", " + this, timeout, hint);
        }
        return found;
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
        return session.peer;
    }

    /**
     * Returns the transport of this channel.
     *
     * @return {@link Transport#RDMA} or {@link Transport#TCP}
     */
    public Transport transport() {
        return session.rail.transport();
    }

    /**
     * Returns the protection of this channel, which is that of both nodes.
     *
     * @return the protection
     */
    public Protection protection() {
        return engine.options.protection();
    }

    /**
     * Returns true until the channel ends or this side closes it.
     *
     * @return true if messages can be sent
     */
    public boolean isOpen() {
        return session.isOpen();
    }

    /**
     * Returns the reason why the channel has ended, also after {@link #close}.
     *
     * @return the exception with the reason, which is a {@link ChannelException}; empty while the channel is open, and if
     *     this side has closed it
     */
    public Optional<VerbsException> cause() {
        return Optional.ofNullable(session.cause());
    }

    /**
     * Returns counters of this channel, also after it has ended and was closed.
     *
     * @return the counters
     */
    public ChannelStatistics statistics() {
        return session.statistics();
    }

    /**
     * Returns the times of the calls that this side has made, from the time when a request is sent until its reply has come.
     * Offers and questions for exports are not among them. The time to wait for a credit is that of
     * {@link ChannelStatistics#stalledNanos}.
     *
     * @return the times since the channel was opened
     */
    public Latency latency() {
        return messages.latency(false);
    }

    /**
     * Returns the times that the handler of this channel has taken for messages, requests, offers and notices.
     *
     * @return the times since the channel was opened
     */
    public Latency handlerLatency() {
        return messages.latency(true);
    }

    /**
     * Returns the queue pair of this channel, for its numbers and counters. A program that posts to it breaks the channel.
     *
     * @return the queue pair, closed with this channel
     * @throws UnsupportedOperationException if the {@link #transport} is TCP
     * @throws IllegalStateException if the channel is closed
     */
    public QueuePair queuePair() {
        return session.queuePair();
    }

    /** Waits until the channel is open; throws if it ends first. Returns false when the time is over. */
    boolean awaitOpen(Duration timeout) throws InterruptedException {
        Attempt attempt = new Attempt() {
            @Override
            boolean succeeds() {
                return session.isOpenOrThrow();
            }
        };
        return engine.await(session.changes, attempt, timeout) != null;
    }

    /**
     * Closes this channel. Messages that were accepted for sending are delivered first. Then both sides say goodbye, and the
     * connection ends. This takes as long as the peer's node needs to answer, at most {@link NodeOptions#closeTimeout}.
     *
     * <p>Messages that have arrived and were not received are dropped, and messages that the program still holds can't be
     * read any more. Threads that wait in a method of this channel get an {@link IllegalStateException}. An interrupted
     * thread does not wait for the peer. Closing a channel twice does nothing, unless memory was missing the first time.
     *
     * @throws ChannelException if it is not sure that the peer's node has got all messages. The channel is closed
     * @throws VerbsException if C refused to destroy an object. Its memory stays allocated until the node is closed
     */
    @Override
    public void close() {
        // No lock: a thread that waits here may call code of the program, which may close the node.
        boolean reports = unfinished;
        try {
            reports |= session.beginClose();
            ChannelException lost;
            try {
                lost = session.finishClose(engine.options.closeTimeout());
            } finally {
                engine.serveUnlessLoop();
            }
            unfinished = false;
            if (lost != null && reports) {
                throw lost;
            }
        } catch (OutOfMemoryError | StackOverflowError shortage) {
            unfinished = true;
            throw shortage;
        }
    }

    /** Returns for example {@code channel to 10.9.9.1:7174 (open, 32 credits, 0 under way, 0 arrived)}. */
    @Override
    public String toString() {
        return session.toString();
    }
}

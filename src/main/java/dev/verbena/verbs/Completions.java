package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Driver;
import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_wc;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A cursor over the completions of a queue (an array of {@code struct ibv_wc}). One poll fetches many completions, and
 * nothing is allocated. {@link CompletionQueue#completions} and {@link CompletionQueue#extendedCompletions} make cursors.
 *
 * {@snippet file="CompletionSnippets.java" region="poll"}
 *
 * <p>A cursor belongs to the first thread that uses it; other threads get a {@link WrongThreadException}. The cursor ends
 * when its queue is closed.
 */
public sealed class Completions extends ThreadBound permits ExtendedCompletions {
    static final long SIZE = ibv_wc.sizeof();
    static final long ID = ibv_wc.wr_id$offset();
    static final long STATUS = ibv_wc.status$offset();
    private static final int STATUS_INT = (int) STATUS / Integer.BYTES;
    private static final int LENGTH_INT = (int) ibv_wc.byte_len$offset() / Integer.BYTES;
    static final long OPCODE = ibv_wc.opcode$offset();
    static final long VENDOR_ERROR = ibv_wc.vendor_err$offset();
    static final long BYTE_LENGTH = ibv_wc.byte_len$offset();
    static final long IMMEDIATE = ibv_wc.imm_data$offset();
    static final long INVALIDATED_KEY = ibv_wc.invalidated_rkey$offset();
    static final long QP_NUMBER = ibv_wc.qp_num$offset();
    static final long SOURCE_QP = ibv_wc.src_qp$offset();
    static final long FLAGS = ibv_wc.wc_flags$offset();
    static final long PKEY_INDEX = ibv_wc.pkey_index$offset();
    static final long SOURCE_LID = ibv_wc.slid$offset();
    static final long SERVICE_LEVEL = ibv_wc.sl$offset();
    static final long PATH_BITS = ibv_wc.dlid_path_bits$offset();

    /**
     * The number of polls that find nothing, less 1, between two looks at the clock: a power of two less 1. With 63, an empty poll
     * of 4 ns took 0.3 ns more.
     */
    private static final int IDLE_POLLS = 1023;

    private static final long LOOK_NANOS = 1_000_000_000;

    /** In place of the number of fetched completions. */
    private static final int RARELY = Integer.MIN_VALUE; // no poll returns it

    final CompletionQueue queue;
    final int max;
    /** The fields that the queue reports: the bits of {@link CompletionField}. */
    private final int reported;
    /** An array of {@code struct ibv_wc}. The queue keeps it as long as C may use it, and this object after that. */
    final long address;

    private final MemorySegment memory;
    private final Driver driver;
    private final long cq;

    /** The poll of {@link #await}, made for the first one. */
    private @Nullable Supplier<@Nullable Completions> attempt;

    /** The address before the memory. */
    private final long before;
    /** The distance between completions. By a constant, C2 multiplies in six steps. */
    private final long stride;
    /** The address of the current completion; before the memory if there is none. */
    private long base;
    /** The address of the last fetched completion; before the memory if there is none. */
    private long last;
    /**
     * The number of completions up to {@link #last}. A poll that finds as many as the one before leaves both as they are.
     * {@link #RARELY} if each poll is to look at the two fields below.
     */
    private int fetched;

    /** The number of polls that have found nothing. */
    private int idlePolls;

    private long lookedAt = System.nanoTime();

    private volatile boolean tellsLoss;
    private volatile boolean counts;

    /** Makes a cursor that polls with {@code ibv_poll_cq}, which reports all standard fields. */
    Completions(CompletionQueue queue, int max) {
        this(queue, rdma_h.IBV_WC_STANDARD_FLAGS, max);
    }

    /** Makes a cursor without completions, whose queue reports some fields. */
    Completions(CompletionQueue queue, int reported, int max) {
        super(queue);
        this.queue = queue;
        this.reported = reported;
        this.memory = Arena.ofAuto().allocate(max * SIZE, 64);
        this.address = memory.address();
        this.before = address - SIZE;
        this.stride = SIZE;
        this.max = max;
        forget();
        this.driver = queue.driver();
        this.cq = queue.address();
    }

    @Override
    final void end() {
        super.end(); // first: the owner that finds nothing then finds out why
        forget();
    }

    /** Has polls throw from now on when nothing is left, because the queue has lost completions. Any thread may call this. */
    final void tellLoss() {
        tellsLoss = true;
        fetched = RARELY;
    }

    /** Has polls count the completions from now on: see {@link SendSlots}. Any thread may call this. */
    final void countFromNowOn() {
        counts = true;
        fetched = RARELY;
    }

    /** Drops all fetched completions, so that there is no current one. */
    private void forget() {
        base = before;
        last = before;
        fetched = tellsLoss || counts ? RARELY : 0;
    }

    /**
     * Fetches completions ({@code ibv_poll_cq}), and drops those that were fetched before.
     *
     * @return the number of completions; 0 if there are none
     * @throws IllegalStateException if the queue is closed
     */
    @CName("ibv_poll_cq")
    public final int poll() {
        checkUser();
        if (base < last) {
            leave();
        }
        int count = fetch();
        if (count != 0) {
            if (count != fetched) {
                fetchedIs(count);
            }
            base = before;
        } else {
            if (fetched != 0) {
                forget();
                if (tellsLoss) {
                    throw queue.loss();
                }
            }
            if ((++idlePolls & IDLE_POLLS) == 0) {
                lookForLoss();
            }
        }
        return count;
    }

    /** Looks about once a second for reports of the device: a program that only polls learns of a loss by nothing else. */
    private void lookForLoss() {
        long now = System.nanoTime();
        if (now - lookedAt > LOOK_NANOS) {
            lookedAt = now;
            queue.looksLossy(); // the next poll throws after a loss
        }
    }

    /** Returns the number of fetched completions. */
    private int fetchedCount() {
        return (int) ((last - before) / SIZE);
    }

    /** Notes the number of fetched completions, which most often stays the same. */
    private void fetchedIs(int count) {
        if (count < 0) {
            forget();
            throw queue.broken(count);
        }
        fetched = tellsLoss || counts ? RARELY : count;
        last = before + count * stride;
        if (counts) {
            queue.count(address, count);
        }
    }

    private Supplier<@Nullable Completions> attempt() {
        Supplier<@Nullable Completions> made = attempt;
        if (made == null) {
            attempt = made = this::pollOrNull;
        }
        return made;
    }

    /** Fills the memory from its beginning. Returns the number of completions, or less than 0 if the poll failed. */
    int fetch() {
        return driver.poll(cq, max, address);
    }

    /**
     * Waits until there are completions, and fetches them as {@link #poll} does. A queue with a channel sleeps until then;
     * a queue without one polls with pauses.
     *
     * @param timeout the time to wait
     * @return the number of completions, at least 1
     * @throws VerbsTimeoutException if there are none in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the queue is closed, also while waiting
     * @throws VerbsException if the device was removed; if the queue belongs to a connection that has ended, and none is left
     */
    @CName({"ibv_poll_cq", "ibv_req_notify_cq", "ibv_get_cq_event", "ibv_ack_cq_events"})
    public final int await(Duration timeout) throws InterruptedException {
        queue.await(attempt(), false, timeout);
        return fetchedCount();
    }

    /**
     * Waits as {@link #await} does, but sleeps through receives that were sent without {@link SendBatch#solicited}. By the
     * rules of InfiniBand, a failure ends the wait too. Soft-RoCE of newer kernels raises no event for a failure: the wait
     * finds it when the time is over. Fetches all completions that there are by then.
     *
     * @param timeout the time to wait
     * @return the number of completions, at least 1
     * @throws VerbsTimeoutException if there are none in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the queue is closed, also while waiting
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_poll_cq", "ibv_req_notify_cq", "ibv_get_cq_event", "ibv_ack_cq_events"})
    public final int awaitSolicited(Duration timeout) throws InterruptedException {
        queue.await(attempt(), true, timeout);
        return fetchedCount();
    }

    private @Nullable Completions pollOrNull() {
        if (poll() != 0) {
            return this;
        }
        VerbsException end = queue.connectionEnd();
        if (end == null) {
            return null;
        }
        if (poll() == 0) { // all that completed before the end is in the queue by now
            throw end;
        }
        return this;
    }

    /**
     * Notes the failures among the completions that the user did not look at. The bounds of the loop are local, so that it
     * ends also when another thread closes the queue meanwhile, which drops everything.
     */
    private void leave() {
        long end = last;
        for (long at = base; at < end; ) {
            at += SIZE;
            base = at;
            if (Memory.getInt(at + STATUS) != 0) {
                noteFailure();
            }
        }
    }

    /** Hands a failure to its queue pair, whose first failure explains the flushes that follow it. */
    private void noteFailure() {
        QueuePair queuePair = numbered();
        if (queuePair != null) {
            queuePair.states.noteFailure(this);
        }
    }

    /**
     * Returns the open queue pair with the number of the current completion, or null if there is none. Without the number, the
     * failures of queue pairs are not noted.
     */
    private @Nullable QueuePair numbered() {
        return reports(CompletionField.QUEUE_PAIR_NUMBER) ? queue.context.queuePair(word(QP_NUMBER)) : null;
    }

    /** Returns the queue pair whose failed request the current completion reports, or null if it is not known. */
    private @Nullable QueuePair failed() {
        QueuePair queuePair = numbered();
        return queuePair != null && queuePair.states.ownsFailures() ? queuePair : null;
    }

    /** Steps to the first completion after a poll that found one, and returns it as a value. */
    final WorkCompletion first() {
        next();
        return completion();
    }

    /**
     * Steps to the next fetched completion.
     *
     * @return false if there are no more: poll again
     * @throws IllegalStateException if the queue is closed
     * @throws WrongThreadException if another thread used this cursor first
     */
    public final boolean next() {
        checkUser(); // costs nothing where at() follows: the compiler sees that both checks are one
        long next = base + SIZE;
        if (next > last) {
            return false;
        }
        base = next;
        if ((int) Memory.INT_AT.get(Memory.ALL, Memory.atInt(Memory.word(next), STATUS_INT)) != 0) {
            noteFailure();
        }
        return true;
    }

    /** Returns the address of a field of the current completion. */
    final long at(long field) {
        checkUser();
        long at = base;
        if (at < address) {
            throw unreadable();
        }
        return at + field;
    }

    private IllegalStateException unreadable() {
        checkUser(); // another thread may have closed the queue since the first check
        return new IllegalStateException("There is no current completion: call next() before reading one");
    }

    private int opcodeNumber() {
        return word(OPCODE);
    }

    /** Returns the index of the current completion, from 0. */
    final int index() {
        return (int) ((at(0) - address) / SIZE);
    }

    final boolean reports(CompletionField field) {
        return (reported & field.bit) != 0;
    }

    /** Checks that the queue reports a field. */
    final void require(CompletionField field) {
        if (!reports(field)) {
            throw new UnsupportedVerbException(
                    field.toString(),
                    queue.toString(),
                    0,
                    "The queue was made without this field: name " + field + " in CompletionQueueOptions.fields()");
        }
    }

    /** Returns an {@code int} field of the current completion. */
    final int word(long field) {
        int word = Memory.getInt(at(field));
        Reference.reachabilityFence(this);
        return word;
    }

    /**
     * Returns the id that the work request was posted with ({@code wr_id}).
     *
     * @return the id
     */
    public final long id() {
        long id = (long) Memory.LONG_AT.get(Memory.ALL, Memory.at(Memory.word(at(0)), 0));
        Reference.reachabilityFence(this);
        return id;
    }

    /**
     * Returns whether the work request succeeded.
     *
     * @return true for {@link WorkStatus#SUCCESS}
     */
    public final boolean isSuccess() {
        // As statusCode() does, with one frame less: see Memory.LONG_AT.
        int status = (int) Memory.INT_AT.get(Memory.ALL, Memory.atInt(Memory.word(at(0)), STATUS_INT));
        Reference.reachabilityFence(this);
        return status == 0;
    }

    /**
     * Returns the status of the work request ({@code status}).
     *
     * @return the status
     */
    public final WorkStatus status() {
        return WorkStatus.of(statusCode());
    }

    /**
     * Returns the status as C's number, also when {@link #status} does not know it.
     *
     * @return the number
     */
    public final int statusCode() {
        int status = (int) Memory.INT_AT.get(Memory.ALL, Memory.atInt(Memory.word(at(0)), STATUS_INT));
        Reference.reachabilityFence(this);
        return status;
    }

    /**
     * Returns the operation that completed ({@code opcode}). Undefined unless {@link #isSuccess}.
     *
     * @return the opcode
     */
    public final WorkCompletion.Opcode opcode() {
        return WorkCompletion.Opcode.of(opcodeNumber());
    }

    /**
     * Returns whether a receive completed. Undefined unless {@link #isSuccess}.
     *
     * @return true for all opcodes with the bit {@code IBV_WC_RECV}
     */
    public final boolean isReceive() {
        return (opcodeNumber() & WorkCompletion.Opcode.RECEIVE.code()) != 0;
    }

    /**
     * Returns the device's own number of a failure ({@code vendor_err}).
     *
     * @return the number
     */
    public final int vendorError() {
        return word(VENDOR_ERROR);
    }

    /**
     * Returns the number of bytes that arrived, for receives, reads and atomics ({@code byte_len}).
     *
     * @return the length
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#BYTE_LENGTH}
     */
    @CName("ibv_wc_read_byte_len")
    public final int byteLength() {
        require(CompletionField.BYTE_LENGTH);
        int length = (int) Memory.INT_AT.get(Memory.ALL, Memory.atInt(Memory.word(at(0)), LENGTH_INT)); // as id() does
        Reference.reachabilityFence(this);
        return length;
    }

    /**
     * Returns whether immediate data arrived. Not all devices report this for anything but receives, so it is false for
     * all else.
     *
     * @return true if {@link #immediate} is defined
     */
    public final boolean hasImmediate() {
        return isReceive() && (word(FLAGS) & WorkCompletion.Flag.WITH_IMMEDIATE.bit()) != 0;
    }

    /**
     * Returns whether the first 40 bytes of the receive hold a {@linkplain Grh routing header}.
     *
     * @return true for all datagrams on RoCE
     */
    public final boolean hasRoutingHeader() {
        return isReceive() && (word(FLAGS) & WorkCompletion.Flag.GRH.bit()) != 0;
    }

    /**
     * Returns whether the peer's send invalidated a key of this side. Soft-RoCE sets {@link WorkCompletion.Flag#IP_CSUM_OK}
     * instead.
     *
     * @return true if {@link #invalidatedKey} is defined
     */
    public final boolean hasInvalidated() {
        return isReceive() && (word(FLAGS) & WorkCompletion.Flag.WITH_INVALIDATE.bit()) != 0;
    }

    /**
     * Returns the immediate data ({@code imm_data}): the {@code int} that the peer sent, whatever either side's byte order.
     *
     * @return the immediate data
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#IMMEDIATE}
     */
    @CName("ibv_wc_read_imm_data")
    public final int immediate() {
        require(CompletionField.IMMEDIATE);
        return Integer.reverseBytes(word(IMMEDIATE));
    }

    /**
     * Returns the key that the peer's send invalidated ({@code invalidated_rkey}).
     *
     * @return the remote key
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#IMMEDIATE}
     */
    @CName("ibv_wc_read_invalidated_rkey")
    public final int invalidatedKey() {
        require(CompletionField.IMMEDIATE);
        return word(INVALIDATED_KEY);
    }

    /**
     * Returns the number of the queue pair ({@code qp_num}).
     *
     * @return the number
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#QUEUE_PAIR_NUMBER}
     */
    @CName("ibv_wc_read_qp_num")
    public final int queuePairNumber() {
        require(CompletionField.QUEUE_PAIR_NUMBER);
        return word(QP_NUMBER);
    }

    /**
     * Returns the queue pair that the work request was posted to. With a queue that many queue pairs share, this tells
     * whose request failed. Nothing is allocated.
     *
     * @return the queue pair; null if it is closed, if it was not made by this context, or if the queue does not report
     *     {@link CompletionField#QUEUE_PAIR_NUMBER}
     */
    public final @Nullable QueuePair queuePair() {
        return isSuccess() ? numbered() : failed();
    }

    /**
     * Returns the operation of a failed work request, which the queue pair remembers. Nothing is allocated.
     *
     * @return the operation; null after a success, and when {@link #queuePair} is null or can't tell the operation
     */
    public final @Nullable Operation operation() {
        WorkStatus status = status();
        QueuePair queuePair = status == WorkStatus.SUCCESS ? null : failed();
        return queuePair == null ? null : queuePair.posted.operationOf(id(), status, queue);
    }

    /**
     * Returns the number of the peer's queue pair that sent a datagram ({@code src_qp}).
     *
     * @return the number
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#SOURCE_QUEUE_PAIR}
     */
    @CName("ibv_wc_read_src_qp")
    public final int sourceQueuePair() {
        require(CompletionField.SOURCE_QUEUE_PAIR);
        return word(SOURCE_QP);
    }

    /**
     * Returns the index of the partition key ({@code pkey_index}), of a datagram to a special queue pair.
     *
     * @return the index
     * @throws UnsupportedVerbException if this is a cursor of an extended queue's own fields: they lack the index
     */
    public int pkeyIndex() {
        return Short.toUnsignedInt(Memory.getShort(at(PKEY_INDEX)));
    }

    /**
     * Returns the sender's local identifier ({@code slid}), of a datagram on InfiniBand.
     *
     * @return the identifier
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#SOURCE_LID}
     */
    @CName("ibv_wc_read_slid")
    public final int sourceLid() {
        require(CompletionField.SOURCE_LID);
        return sourceLidIfKnown();
    }

    /**
     * Returns the service level ({@code sl}), of a datagram.
     *
     * @return the level
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#SERVICE_LEVEL}
     */
    @CName("ibv_wc_read_sl")
    public final int serviceLevel() {
        require(CompletionField.SERVICE_LEVEL);
        return Byte.toUnsignedInt(Memory.getByte(at(SERVICE_LEVEL)));
    }

    /**
     * Returns the low bits of the destination's local identifier ({@code dlid_path_bits}), of a datagram.
     *
     * @return the bits
     * @throws UnsupportedVerbException if the queue was made without {@link CompletionField#PATH_BITS}
     */
    @CName("ibv_wc_read_dlid_path_bits")
    public final int pathBits() {
        require(CompletionField.PATH_BITS);
        return Byte.toUnsignedInt(Memory.getByte(at(PATH_BITS)));
    }

    /** Returns the sender's local identifier, or 0 if the queue does not report it. */
    int sourceLidIfKnown() {
        return reports(CompletionField.SOURCE_LID) ? Short.toUnsignedInt(Memory.getShort(at(SOURCE_LID))) : 0;
    }

    /** Clears the fields of the current completion that the queue does not report. */
    void clearUnreported() {}

    /**
     * Returns the flags ({@code wc_flags}).
     *
     * @return bits of {@link WorkCompletion.Flag}
     */
    public final int flagBits() {
        return word(FLAGS);
    }

    /**
     * Copies the current completion to a value that can be kept. This allocates. Fields that the queue does not report are
     * 0.
     *
     * @return a copy of all fields
     */
    public final WorkCompletion completion() {
        WorkStatus status = status();
        QueuePair queuePair = status == WorkStatus.SUCCESS ? null : failed();
        clearUnreported();
        boolean flushed = status == WorkStatus.WORK_REQUEST_FLUSHED;
        WorkCompletion first = queuePair == null || !flushed ? null : queuePair.states.firstFailure();
        WorkCompletion copy = new WorkCompletion(
                at(0),
                sourceLidIfKnown(),
                queuePair == null ? null : queuePair.posted.operationOf(id(), status, queue),
                first,
                queuePair == null || !flushed || first != null ? null : queuePair.states.connectionEnd());
        Reference.reachabilityFence(this);
        return copy;
    }

    /**
     * Checks that the work request succeeded.
     *
     * @return this cursor
     * @throws WorkCompletionException if it failed
     */
    public final Completions orThrow() {
        if (!isSuccess()) {
            throw new WorkCompletionException(completion());
        }
        return this;
    }

    /** Describes the current completion, or the cursor if there is none. */
    @Override
    public final String toString() {
        boolean readable = base >= address && isUser();
        return readable ? completion().toString() : "cursor over " + queue + ", " + fetchedCount() + " fetched";
    }
}

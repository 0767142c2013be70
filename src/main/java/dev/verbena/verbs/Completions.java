package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsException;
import dev.verbena.internal.DataPathCalls;
import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_wc;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A cursor over the completions of a queue: one poll fetches many, and nothing is allocated.
 *
 * <pre>{@code
 * Completions done = cq.completions(16);
 * while (done.poll() == 0) Thread.onSpinWait();
 * while (done.next()) handle(done.id(), done.status());
 * }</pre>
 *
 * <p>A cursor belongs to the first thread that uses it.
 */
public sealed class Completions extends ThreadBound permits ExtendedCompletions {
    static final long SIZE = ibv_wc.sizeof();
    private static final long ID = ibv_wc.wr_id$offset();
    private static final long STATUS = ibv_wc.status$offset();
    private static final long OPCODE = ibv_wc.opcode$offset();
    private static final long VENDOR_ERROR = ibv_wc.vendor_err$offset();
    private static final long BYTE_LENGTH = ibv_wc.byte_len$offset();
    private static final long IMMEDIATE = ibv_wc.imm_data$offset();
    private static final long INVALIDATED_KEY = ibv_wc.invalidated_rkey$offset();
    private static final long QP_NUMBER = ibv_wc.qp_num$offset();
    private static final long SOURCE_QP = ibv_wc.src_qp$offset();
    private static final long FLAGS = ibv_wc.wc_flags$offset();
    private static final long PKEY_INDEX = ibv_wc.pkey_index$offset();
    private static final long SOURCE_LID = ibv_wc.slid$offset();
    private static final long SERVICE_LEVEL = ibv_wc.sl$offset();
    private static final long PATH_BITS = ibv_wc.dlid_path_bits$offset();

    final CompletionQueue queue;
    final int most;
    /** An array of {@code struct ibv_wc}. The queue keeps it as long as C may use it, and this object after that. */
    final long address;

    private final MemorySegment memory;
    private final @Nullable Thread owner;
    /** How the queue is polled without asking it, where one thread only may. */
    private final long function;

    private final long cq;
    private final boolean direct;
    private final Supplier<@Nullable Completions> attempt = this::pollOrNull;
    /** Where the completion is that this stands at: before the memory when at none. */
    private long base;
    /** Where what was found ends. */
    private long end;

    Completions(CompletionQueue queue, int most) {
        super(queue);
        this.queue = queue;
        this.memory = Arena.ofAuto().allocate(most * SIZE, 64);
        this.address = memory.address();
        this.most = most;
        forget();
        this.owner = queue.onlyThread();
        this.function = queue.pollFunction();
        this.cq = queue.address();
        this.direct = owner != null && queue.pollsCritically();
    }

    @Override
    final void end() {
        forget();
        super.end();
    }

    /** Nothing was found, and nothing is stood at. */
    private void forget() {
        base = address - SIZE;
        end = address;
    }

    /**
     * Fetches what has completed ({@code ibv_poll_cq}), and forgets what was fetched before.
     *
     * @return how many were found; 0 when nothing has completed
     * @throws IllegalStateException if the queue is closed
     */
    @CName("ibv_poll_cq")
    public int poll() {
        checkUser();
        return pollAny();
    }

    /**
     * Waits until something has completed, and fetches it as {@link #poll} does. A queue with a channel sleeps until
     * then; one without polls with pauses.
     *
     * @param timeout how long to wait
     * @return how many were found; 0 when the time is over
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the queue is closed, also while waiting
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_poll_cq", "ibv_req_notify_cq", "ibv_get_cq_event", "ibv_ack_cq_events"})
    public int await(Duration timeout) throws InterruptedException {
        return queue.await(attempt, false, timeout) == null ? 0 : found();
    }

    /**
     * As {@link #await}, but does not wake up for receives that were sent without {@link SendFlag#SOLICITED}. A failure
     * wakes it too by InfiniBand's rules, but not on every device: soft-RoCE of newer kernels raises no event for it,
     * and it is found when the time is over. Fetches whatever has completed when it looks.
     *
     * @param timeout how long to wait
     * @return how many were found; 0 when the time is over
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the queue is closed, also while waiting
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_poll_cq", "ibv_req_notify_cq", "ibv_get_cq_event", "ibv_ack_cq_events"})
    public int awaitSolicited(Duration timeout) throws InterruptedException {
        return queue.await(attempt, true, timeout) == null ? 0 : found();
    }

    private int found() {
        return (int) ((end - address) / SIZE);
    }

    private @Nullable Completions pollOrNull() {
        return poll() == 0 ? null : this;
    }

    /** As {@link #poll}, for a caller that has made sure that it is alone. */
    final int pollAny() {
        if (end != address) {
            leave(); // also when the poll throws
        }
        int count = fetch();
        if (count > 0) {
            end = address + count * SIZE;
        }
        return count;
    }

    /** Fills the memory from its beginning; answers how many. */
    int fetch() {
        if (direct) { // whoever polls has made sure that the queue is open
            int found = DataPathCalls.pollCritical(function, cq, most, address);
            return found < 0 ? queue.broken(found) : found;
        }
        return queue.fill(most, address);
    }

    /** Leaves what was found before. Failures count, whether the user looked at them or not. */
    private void leave() {
        while (next()) {
            continue; // it takes note of them; and it ends whatever a thread does that closes the queue meanwhile
        }
        forget();
    }

    /** The first failure of a queue pair explains the flushes that follow it. */
    private void noteFailure() {
        QueuePair queuePair = queuePair();
        if (queuePair != null) {
            queuePair.noteFailure(completion());
        }
    }

    @Nullable
    QueuePair queuePair() {
        return queue.contextEvenIfClosed().queuePair(queuePairNumber());
    }

    /** The first completion as a value, after a poll that found one. */
    WorkCompletion first() {
        next();
        return completion();
    }

    /**
     * Steps to the next completion.
     *
     * @return false when there is none left: poll again
     */
    public boolean next() {
        long next = base + SIZE;
        if (next >= end) {
            return false;
        }
        base = next;
        if (Memory.getInt(next + STATUS) != 0) {
            noteFailure();
        }
        return true;
    }

    private long at(long field) {
        long at = base;
        if (at < address || owner != null && owner != Thread.currentThread()) {
            throw unreadable();
        }
        return at + field;
    }

    private IllegalStateException unreadable() {
        queue.checkUsable(); // a closed queue or the wrong thread is the better reason
        return new IllegalStateException("Call next() before asking for a completion");
    }

    /** Which completion it stands at, from 0. */
    final int index() {
        return (int) ((at(0) - address) / SIZE);
    }

    private int word(long field) {
        int word = Memory.getInt(at(field));
        Reference.reachabilityFence(this);
        return word;
    }

    /**
     * The number that the work request was posted with ({@code wr_id}).
     *
     * @return the id
     */
    public long id() {
        long id = Memory.getLong(at(ID));
        Reference.reachabilityFence(this);
        return id;
    }

    /**
     * Whether the work was done.
     *
     * @return true for {@link WorkStatus#SUCCESS}
     */
    public boolean isSuccess() {
        return word(STATUS) == 0;
    }

    /**
     * How the work request ended ({@code status}).
     *
     * @return the status
     */
    public WorkStatus status() {
        return WorkStatus.of(word(STATUS));
    }

    /**
     * The status as C's number, also when {@link #status} does not know it.
     *
     * @return the number
     */
    public int statusCode() {
        return word(STATUS);
    }

    /**
     * What completed ({@code opcode}). It means nothing unless {@link #isSuccess}.
     *
     * @return the opcode
     */
    public WorkOpcode opcode() {
        return WorkOpcode.of(word(OPCODE));
    }

    /**
     * Whether this is the end of a receive. It means nothing unless {@link #isSuccess}.
     *
     * @return true for all opcodes with the bit {@code IBV_WC_RECV}
     */
    public boolean isReceive() {
        return (word(OPCODE) & WorkOpcode.RECEIVE.code()) != 0;
    }

    /**
     * The device's own number for what went wrong ({@code vendor_err}).
     *
     * @return the number
     */
    public int vendorError() {
        return word(VENDOR_ERROR);
    }

    /**
     * How many bytes arrived, for receives, reads and atomics ({@code byte_len}).
     *
     * @return the length
     */
    public int byteLength() {
        return word(BYTE_LENGTH);
    }

    /**
     * Whether immediate data arrived with it: only of receives can this be told on all devices.
     *
     * @return true if {@link #immediate} means something
     */
    public boolean hasImmediate() {
        return isReceive() && (word(FLAGS) & CompletionFlag.WITH_IMMEDIATE.bit()) != 0;
    }

    /**
     * Whether the first 40 bytes of the receive hold a {@linkplain Grh routing header}.
     *
     * @return true for all datagrams on RoCE
     */
    public boolean hasRoutingHeader() {
        return isReceive() && (word(FLAGS) & CompletionFlag.GRH.bit()) != 0;
    }

    /**
     * Whether the peer's send invalidated a key of this side. Soft-RoCE sets {@link CompletionFlag#IP_CSUM_OK} instead.
     *
     * @return true if {@link #invalidatedKey} means something
     */
    public boolean hasInvalidated() {
        return isReceive() && (word(FLAGS) & CompletionFlag.WITH_INVALIDATE.bit()) != 0;
    }

    /**
     * The immediate data ({@code imm_data}): the {@code int} that the peer sent, whatever either side's byte order.
     *
     * @return the immediate data
     */
    public int immediate() {
        return Integer.reverseBytes(word(IMMEDIATE));
    }

    /**
     * The key that the peer's send invalidated ({@code invalidated_rkey}).
     *
     * @return the remote key
     */
    public int invalidatedKey() {
        return word(INVALIDATED_KEY);
    }

    /**
     * The number of the queue pair ({@code qp_num}).
     *
     * @return the number
     */
    public int queuePairNumber() {
        return word(QP_NUMBER);
    }

    /**
     * The number of the peer's queue pair that sent a datagram ({@code src_qp}).
     *
     * @return the number
     */
    public int sourceQueuePair() {
        return word(SOURCE_QP);
    }

    /**
     * The index of the partition key ({@code pkey_index}), of a datagram to a special queue pair.
     *
     * @return the index
     */
    public int pkeyIndex() {
        return Short.toUnsignedInt(Memory.getShort(at(PKEY_INDEX)));
    }

    /**
     * The sender's local identifier ({@code slid}), of a datagram on InfiniBand.
     *
     * @return the identifier
     */
    public int sourceLid() {
        return Short.toUnsignedInt(Memory.getShort(at(SOURCE_LID)));
    }

    /**
     * The service level ({@code sl}), of a datagram.
     *
     * @return the level
     */
    public int serviceLevel() {
        return Byte.toUnsignedInt(Memory.getByte(at(SERVICE_LEVEL)));
    }

    /**
     * The low bits of the destination's local identifier ({@code dlid_path_bits}), of a datagram.
     *
     * @return the bits
     */
    public int pathBits() {
        return Byte.toUnsignedInt(Memory.getByte(at(PATH_BITS)));
    }

    /**
     * What else it says ({@code wc_flags}).
     *
     * @return bits of {@link CompletionFlag}
     */
    public int flagBits() {
        return word(FLAGS);
    }

    /**
     * The completion as a value that can be kept. This allocates.
     *
     * @return a copy of all that the completion says
     */
    public WorkCompletion completion() {
        WorkStatus status = status();
        QueuePair queuePair = status == WorkStatus.SUCCESS ? null : queuePair();
        return new WorkCompletion(
                id(),
                status,
                statusCode(),
                opcode(),
                word(OPCODE),
                vendorError(),
                byteLength(),
                immediate(),
                invalidatedKey(),
                queuePairNumber(),
                sourceQueuePair(),
                flagBits(),
                pkeyIndex(),
                sourceLid(),
                serviceLevel(),
                pathBits(),
                queuePair == null ? null : queuePair.operationOf(id(), status, queue),
                queuePair == null || status != WorkStatus.WORK_REQUEST_FLUSHED ? null : queuePair.firstFailure());
    }

    /**
     * Goes on when the work was done.
     *
     * @return this
     * @throws WorkCompletionException if it failed
     */
    public Completions orThrow() {
        if (!isSuccess()) {
            throw new WorkCompletionException(completion());
        }
        return this;
    }

    /** The completion it stands at. */
    @Override
    public String toString() {
        boolean readable = base >= address && (owner == null || owner == Thread.currentThread());
        return readable ? completion().toString() : "cursor over " + queue + ", " + found() + " found";
    }
}

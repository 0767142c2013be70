package dev.verbena.verbs;

import dev.verbena.internal.ExtendedCalls;
import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_cq_ex;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;

/**
 * The functions of an extended completion queue ({@code struct ibv_cq_ex}), read once. A function that the queue was not
 * made for is a null pointer, which C calls without a check: {@link #missing} finds those.
 */
final class CompletionReaders {
    private static final int STATUS_INT = (int) (ibv_cq_ex.status$offset() % Long.BYTES) / Integer.BYTES;

    private final long queue;
    private final long idAddress;
    /** The address of the word with the status, which is its {@code int} of the number {@link #STATUS_INT}. */
    private final long statusAddress;

    private final ExtendedCalls reads;
    private final ExtendedCalls starts;
    private final ExtendedCalls steps;
    private final MemorySegment start;
    private final MemorySegment next;
    private final MemorySegment end;

    final Reader opcode;
    final Reader vendorError;
    final Reader flags;
    private final Reader[] optional = new Reader[CompletionField.values().length];

    /** A function {@code ibv_wc_read_...} of the queue. */
    static final class Reader {
        private final ExtendedCalls calls;
        private final long queue;
        private final MemorySegment function;

        private Reader(CompletionReaders of, MemorySegment function) {
            this.calls = of.reads;
            this.queue = of.queue;
            this.function = function;
        }

        /** Returns the value of the current completion. Cut it to the width of the field. */
        long read() {
            return calls.call(function, queue);
        }

        /** Fills a struct with the value of the current completion. */
        void read(long into) {
            calls.call(function, queue, into);
        }
    }

    /**
     * Reads the functions of a queue.
     *
     * @param queue the {@code struct ibv_cq_ex}
     * @param reads calls the functions that never block
     * @param starts calls the function that takes a lock: see {@link ExtendedCalls}
     * @param steps calls the function that looks at the next completion
     */
    CompletionReaders(long queue, ExtendedCalls reads, ExtendedCalls starts, ExtendedCalls steps) {
        reads.prepare(false);
        starts.prepare(false);
        steps.prepare(false);
        this.queue = queue;
        MemorySegment struct = MemorySegment.ofAddress(queue).reinterpret(ibv_cq_ex.sizeof());
        this.idAddress = queue + ibv_cq_ex.wr_id$offset();
        this.statusAddress = queue + (ibv_cq_ex.status$offset() & -Long.BYTES);
        this.reads = reads;
        this.starts = starts;
        this.steps = steps;
        this.start = ibv_cq_ex.start_poll(struct);
        this.next = ibv_cq_ex.next_poll(struct);
        this.end = ibv_cq_ex.end_poll(struct);
        this.opcode = new Reader(this, ibv_cq_ex.read_opcode(struct));
        this.vendorError = new Reader(this, ibv_cq_ex.read_vendor_err(struct));
        this.flags = new Reader(this, ibv_cq_ex.read_wc_flags(struct));
        for (CompletionField field : CompletionField.values()) {
            optional[field.ordinal()] = switch (field) {
                case BYTE_LENGTH -> new Reader(this, ibv_cq_ex.read_byte_len(struct));
                case IMMEDIATE -> new Reader(this, ibv_cq_ex.read_imm_data(struct));
                case QUEUE_PAIR_NUMBER -> new Reader(this, ibv_cq_ex.read_qp_num(struct));
                case SOURCE_QUEUE_PAIR -> new Reader(this, ibv_cq_ex.read_src_qp(struct));
                case SOURCE_LID -> new Reader(this, ibv_cq_ex.read_slid(struct));
                case SERVICE_LEVEL -> new Reader(this, ibv_cq_ex.read_sl(struct));
                case PATH_BITS -> new Reader(this, ibv_cq_ex.read_dlid_path_bits(struct));
                case TIMESTAMP -> new Reader(this, ibv_cq_ex.read_completion_ts(struct));
                case VLAN -> new Reader(this, ibv_cq_ex.read_cvlan(struct));
                case FLOW_TAG -> new Reader(this, ibv_cq_ex.read_flow_tag(struct));
                case TAG_MATCHING -> new Reader(this, ibv_cq_ex.read_tm_info(struct));
                case WALL_CLOCK -> new Reader(this, ibv_cq_ex.read_completion_wallclock_ns(struct));
            };
        }
    }

    /** Returns the fields that the provider has no function for although it made the queue. */
    Set<CompletionField> missing(Set<CompletionField> fields) {
        EnumSet<CompletionField> missing = EnumSet.noneOf(CompletionField.class);
        for (CompletionField field : fields) {
            if (optional[field.ordinal()].function.address() == 0) {
                missing.add(field);
            }
        }
        return missing;
    }

    Reader of(CompletionField field) {
        return optional[field.ordinal()];
    }

    /** Takes the provider's lock and steps to the first completion. Returns 0, or an error number without the lock. */
    int start(long attributes) {
        return (int) starts.call(start, queue, attributes);
    }

    /** Steps to the next completion. Returns 0 or an error number; the lock stays taken either way. */
    int next() {
        return (int) steps.call(next, queue);
    }

    /** Removes the completions that were visited from the queue, and gives the lock back. */
    void end() {
        reads.call(end, queue);
    }

    long id() {
        return (long) Memory.LONG_AT.get(Memory.ALL, Memory.at(Memory.word(idAddress), 0));
    }

    int status() {
        return (int) Memory.INT_AT.get(Memory.ALL, Memory.atInt(Memory.word(statusAddress), STATUS_INT));
    }
}

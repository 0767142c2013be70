package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_wc;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A completion of a work request, as a value that can be kept ({@code struct ibv_wc}). It never changes, so all threads
 * can use it.
 *
 * <p>When the work request failed, the device defines only the id, the status, the vendor error and the queue pair
 * number. The queue pair remembers the operation: see {@link #operation}.
 */
public final class WorkCompletion {
    /** The struct, in heap memory. The sender's LID and the padding are 0, so that equal completions have equal structs. */
    private final MemorySegment struct;

    private final int sourceLid;
    private final @Nullable Operation operation;
    private final @Nullable WorkCompletion firstFailure;
    private final @Nullable VerbsException end;

    /**
     * Copies a completion.
     *
     * @param address the {@code struct ibv_wc}
     * @param sourceLid the sender's LID, which an extended queue may not report
     * @param operation the operation of a failed request, or null
     * @param firstFailure the failure that a flushed request follows, or null
     * @param end the end of the queue pair's connection, or null while it goes on
     */
    WorkCompletion(
            long address,
            int sourceLid,
            @Nullable Operation operation,
            @Nullable WorkCompletion firstFailure,
            @Nullable VerbsException end) {
        this.struct = MemorySegment.ofArray(new long[(int) (Completions.SIZE / Long.BYTES)]);
        MemorySegment.copy(Memory.ALL, address, struct, 0, Completions.PATH_BITS + 1); // the last field
        ibv_wc.slid(struct, (short) 0);
        this.sourceLid = sourceLid;
        this.operation = operation;
        this.firstFailure = firstFailure;
        this.end = end;
    }

    /**
     * Returns the number that the work request was posted with ({@code wr_id}).
     *
     * @return the number
     */
    public long id() {
        return struct.get(ValueLayout.JAVA_LONG, Completions.ID);
    }

    /**
     * Returns the outcome of the work request ({@code status}).
     *
     * @return {@link WorkStatus#SUCCESS}, or the reason of the failure
     */
    public WorkStatus status() {
        return WorkStatus.of(statusCode());
    }

    /**
     * Returns the outcome of the work request as C's number ({@code status}).
     *
     * @return the number; 0 for success
     */
    public int statusCode() {
        return struct.get(ValueLayout.JAVA_INT, Completions.STATUS);
    }

    /**
     * Returns the kind of work that completed ({@code opcode}).
     *
     * @return the opcode; meaningless when the work request failed
     */
    public Opcode opcode() {
        return Opcode.of(opcodeNumber());
    }

    /**
     * Returns the kind of work that completed as C's number ({@code opcode}).
     *
     * @return the number; meaningless when the work request failed
     */
    public int opcodeNumber() {
        return struct.get(ValueLayout.JAVA_INT, Completions.OPCODE);
    }

    /**
     * Returns the device's own number for a failure ({@code vendor_err}).
     *
     * @return the number; 0 when the device has none
     */
    public int vendorError() {
        return struct.get(ValueLayout.JAVA_INT, Completions.VENDOR_ERROR);
    }

    /**
     * Returns the number of bytes that arrived, for receives, reads and atomics ({@code byte_len}).
     *
     * @return the number of bytes
     */
    public int byteLength() {
        return struct.get(ValueLayout.JAVA_INT, Completions.BYTE_LENGTH);
    }

    /**
     * Returns the immediate data ({@code imm_data}).
     *
     * @return the {@code int} that the peer sent; meaningless without {@link #hasImmediate}
     */
    public int immediate() {
        return Integer.reverseBytes(struct.get(ValueLayout.JAVA_INT, Completions.IMMEDIATE));
    }

    /**
     * Returns the key that the peer's send invalidated ({@code invalidated_rkey}).
     *
     * @return the key; meaningless without {@link #hasInvalidated}
     */
    public int invalidatedKey() {
        return struct.get(ValueLayout.JAVA_INT, Completions.INVALIDATED_KEY);
    }

    /**
     * Returns the number of the queue pair ({@code qp_num}).
     *
     * @return 24 bits
     */
    public int queuePairNumber() {
        return struct.get(ValueLayout.JAVA_INT, Completions.QP_NUMBER);
    }

    /**
     * Returns the number of the queue pair that sent a datagram ({@code src_qp}).
     *
     * @return 24 bits
     */
    public int sourceQueuePair() {
        return struct.get(ValueLayout.JAVA_INT, Completions.SOURCE_QP);
    }

    /**
     * Returns the flags as C's bits ({@code wc_flags}).
     *
     * @return bits of {@link Flag}
     */
    public int flagBits() {
        return struct.get(ValueLayout.JAVA_INT, Completions.FLAGS);
    }

    /**
     * Returns the index of the partition key ({@code pkey_index}).
     *
     * @return the index in the port's table
     */
    public int pkeyIndex() {
        return Short.toUnsignedInt(struct.get(ValueLayout.JAVA_SHORT, Completions.PKEY_INDEX));
    }

    /**
     * Returns the sender's local identifier, of a datagram ({@code slid}).
     *
     * @return 16 bits
     */
    public int sourceLid() {
        return sourceLid;
    }

    /**
     * Returns the service level, of a datagram ({@code sl}).
     *
     * @return 0 to 15
     */
    public int serviceLevel() {
        return Byte.toUnsignedInt(struct.get(ValueLayout.JAVA_BYTE, Completions.SERVICE_LEVEL));
    }

    /**
     * Returns the low bits of the destination's local identifier, of a datagram ({@code dlid_path_bits}).
     *
     * @return 0 to 127
     */
    public int pathBits() {
        return Byte.toUnsignedInt(struct.get(ValueLayout.JAVA_BYTE, Completions.PATH_BITS));
    }

    /**
     * Returns the operation of a failed work request, which the queue pair remembers.
     *
     * @return the operation; null after a success, and when the queue pair can't tell it
     */
    public @Nullable Operation operation() {
        return operation;
    }

    /**
     * Returns the first failure of the queue pair, which explains a flushed work request.
     *
     * @return the completion; null when the work request was not flushed, and when nothing has failed
     */
    public @Nullable WorkCompletion firstFailure() {
        return firstFailure;
    }

    /** Returns the end of the queue pair's connection; null if it had not ended, or the work request succeeded. */
    @Nullable
    VerbsException end() {
        return end;
    }

    /**
     * Returns whether the work request succeeded.
     *
     * @return true for {@link WorkStatus#SUCCESS}
     */
    public boolean isSuccess() {
        return statusCode() == 0;
    }

    /**
     * Returns whether this is a receive that succeeded.
     *
     * @return true for all opcodes with the bit {@code IBV_WC_RECV}
     */
    public boolean isReceive() {
        return isSuccess() && (opcodeNumber() & Opcode.RECEIVE.code()) != 0;
    }

    /**
     * Returns whether immediate data arrived.
     *
     * @return true if {@link #immediate} is defined
     */
    public boolean hasImmediate() {
        return isReceive() && flags().contains(Flag.WITH_IMMEDIATE);
    }

    /**
     * Returns whether the first 40 bytes of the receive hold a routing header: {@link Grh#from} reads it.
     *
     * @return true for all datagrams on RoCE
     */
    public boolean hasRoutingHeader() {
        return isReceive() && flags().contains(Flag.GRH);
    }

    /**
     * Returns whether the peer's send invalidated a key of this side. Soft-RoCE sets {@link Flag#IP_CSUM_OK}
     * instead.
     *
     * @return true if {@link #invalidatedKey} is defined
     */
    public boolean hasInvalidated() {
        return isReceive() && flags().contains(Flag.WITH_INVALIDATE);
    }

    /**
     * Returns the flags ({@code wc_flags}).
     *
     * @return the flags that this release knows
     */
    public Set<Flag> flags() {
        return EnumCodec.flags(Flag.class, Flag::bit, flagBits());
    }

    /**
     * Checks that the work request succeeded.
     *
     * @return this completion
     * @throws WorkCompletionException if it failed; its cause is the end of the connection, if that has flushed the request
     */
    public WorkCompletion orThrow() {
        if (!isSuccess()) {
            throw new WorkCompletionException(this);
        }
        return this;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof WorkCompletion completion
                && struct.mismatch(completion.struct) == -1
                && sourceLid == completion.sourceLid
                && operation == completion.operation
                && Objects.equals(firstFailure, completion.firstFailure);
    }

    @Override
    public int hashCode() {
        return Objects.hash(id(), statusCode(), queuePairNumber(), byteLength());
    }

    /** Describes the completion, for example {@code #7 RDMA_READ on QP 17: success, 64 bytes}. */
    @Override
    public String toString() {
        String on = "#" + id() + " ";
        if (isSuccess()) {
            return on + opcode() + " on QP " + queuePairNumber() + ": success"
                    + (byteLength() == 0 ? "" : ", " + byteLength() + " bytes")
                    + (hasImmediate() ? ", immediate 0x" + Integer.toHexString(immediate()) : "");
        }
        StringBuilder text = new StringBuilder(on)
                .append(operation == null ? "work request" : operation.toString())
                .append(" on QP ")
                .append(queuePairNumber())
                .append(" failed: ");
        WorkStatus status = status();
        text.append(status == WorkStatus.UNKNOWN ? "status " + statusCode() : status + ", " + status.meaning());
        if (vendorError() != 0) {
            text.append(" (vendor error 0x")
                    .append(Integer.toHexString(vendorError()))
                    .append(')');
        }
        if (firstFailure != null) {
            text.append(". The queue pair's first failure was ").append(firstFailure);
        } else if (end != null) {
            text.append(". The connection has ended: ").append(end.getMessage());
        } else if (!status.hint().isEmpty()) {
            text.append(". To try: ").append(status.hint());
        }
        return text.toString();
    }

    /** A flag of a completion ({@code enum ibv_wc_flags}). */
    public enum Flag {
        /** The first 40 bytes of the receive hold a global routing header ({@code IBV_WC_GRH}). */
        GRH(rdma_h.IBV_WC_GRH),
        /** Immediate data arrived ({@code IBV_WC_WITH_IMM}). */
        WITH_IMMEDIATE(rdma_h.IBV_WC_WITH_IMM),
        /** The adapter found the checksums right ({@code IBV_WC_IP_CSUM_OK}). */
        IP_CSUM_OK(rdma_h.IBV_WC_IP_CSUM_OK),
        /** A key was invalidated ({@code IBV_WC_WITH_INV}). */
        WITH_INVALIDATE(rdma_h.IBV_WC_WITH_INV),
        /** The list of tags must be synchronised ({@code IBV_WC_TM_SYNC_REQ}). */
        TM_SYNC_REQUEST(rdma_h.IBV_WC_TM_SYNC_REQ),
        /** A tag matched ({@code IBV_WC_TM_MATCH}). */
        TM_MATCH(rdma_h.IBV_WC_TM_MATCH),
        /** The data of tag matching is valid ({@code IBV_WC_TM_DATA_VALID}). */
        TM_DATA_VALID(rdma_h.IBV_WC_TM_DATA_VALID);

        private final int bit;

        Flag(int bit) {
            this.bit = bit;
        }

        /**
         * Returns the bit in C.
         *
         * @return a number with one bit set
         */
        public int bit() {
            return bit;
        }
    }

    /** An opcode of a completion ({@code enum ibv_wc_opcode}). The opcode of a failed completion has no meaning. */
    public enum Opcode {
        /** A send ({@code IBV_WC_SEND}). */
        SEND(rdma_h.IBV_WC_SEND),
        /** An RDMA write ({@code IBV_WC_RDMA_WRITE}). */
        RDMA_WRITE(rdma_h.IBV_WC_RDMA_WRITE),
        /** An RDMA read ({@code IBV_WC_RDMA_READ}). */
        RDMA_READ(rdma_h.IBV_WC_RDMA_READ),
        /** A compare-and-swap ({@code IBV_WC_COMP_SWAP}). */
        COMPARE_AND_SWAP(rdma_h.IBV_WC_COMP_SWAP),
        /** A fetch-and-add ({@code IBV_WC_FETCH_ADD}). */
        FETCH_AND_ADD(rdma_h.IBV_WC_FETCH_ADD),
        /** The binding of a memory window ({@code IBV_WC_BIND_MW}). */
        BIND_MW(rdma_h.IBV_WC_BIND_MW),
        /** The invalidation of a local key ({@code IBV_WC_LOCAL_INV}). */
        LOCAL_INVALIDATE(rdma_h.IBV_WC_LOCAL_INV),
        /** A segmented TCP send ({@code IBV_WC_TSO}). */
        TSO(rdma_h.IBV_WC_TSO),
        /** A flush ({@code IBV_WC_FLUSH}). */
        FLUSH(rdma_h.IBV_WC_FLUSH),
        /** An atomic write ({@code IBV_WC_ATOMIC_WRITE}). */
        ATOMIC_WRITE(rdma_h.IBV_WC_ATOMIC_WRITE),
        /** A receive ({@code IBV_WC_RECV}). */
        RECEIVE(rdma_h.IBV_WC_RECV),
        /** A receive that an RDMA write with immediate data used up ({@code IBV_WC_RECV_RDMA_WITH_IMM}). */
        RECEIVE_RDMA_WITH_IMMEDIATE(rdma_h.IBV_WC_RECV_RDMA_WITH_IMM),
        /** The addition of a tag to the list of tag matching ({@code IBV_WC_TM_ADD}). */
        TM_ADD(rdma_h.IBV_WC_TM_ADD),
        /** The removal of a tag ({@code IBV_WC_TM_DEL}). */
        TM_DEL(rdma_h.IBV_WC_TM_DEL),
        /** The synchronisation of the list of tags ({@code IBV_WC_TM_SYNC}). */
        TM_SYNC(rdma_h.IBV_WC_TM_SYNC),
        /** A tagged receive ({@code IBV_WC_TM_RECV}). */
        TM_RECEIVE(rdma_h.IBV_WC_TM_RECV),
        /** A receive without a tag ({@code IBV_WC_TM_NO_TAG}). */
        TM_NO_TAG(rdma_h.IBV_WC_TM_NO_TAG),
        /** A driver's own operation ({@code IBV_WC_DRIVER1}). */
        DRIVER1(rdma_h.IBV_WC_DRIVER1),
        /** A driver's own operation ({@code IBV_WC_DRIVER2}). */
        DRIVER2(rdma_h.IBV_WC_DRIVER2),
        /** A driver's own operation ({@code IBV_WC_DRIVER3}). */
        DRIVER3(rdma_h.IBV_WC_DRIVER3),
        /** A number that this release does not know. */
        UNKNOWN(-1);

        private static final Opcode[] VALUES = values();

        private final int code;

        Opcode(int code) {
            this.code = code;
        }

        /**
         * Returns the number in C.
         *
         * @return the value of the C constant
         */
        public int code() {
            return code;
        }

        /**
         * Returns the opcode with a number.
         *
         * @param code the number in C
         * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
         */
        public static Opcode of(int code) {
            for (Opcode opcode : VALUES) {
                if (opcode.code == code) {
                    return opcode;
                }
            }
            return UNKNOWN;
        }
    }
}

package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.verbs.address.Grh;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How a work request ended, as a value ({@code struct ibv_wc}).
 *
 * <p>When it failed, the device leaves all fields undefined but the id, the status, the vendor error and the queue pair
 * number. What the request was is remembered by the queue pair then: see {@link #operation}.
 *
 * @param id the number that the work request was posted with ({@code wr_id})
 * @param status how it ended
 * @param statusCode the status as C's number
 * @param opcode what completed; meaningless when it failed
 * @param opcodeNumber the opcode as C's number
 * @param vendorError the device's own number for what went wrong ({@code vendor_err})
 * @param byteLength how many bytes arrived, for receives, reads and atomics ({@code byte_len})
 * @param immediate the immediate data, as the {@code int} that the peer sent; see {@link #hasImmediate}
 * @param invalidatedKey the key that the peer's send invalidated
 * @param queuePairNumber the number of the queue pair ({@code qp_num})
 * @param sourceQueuePair the number of the queue pair that sent a datagram ({@code src_qp})
 * @param flagBits bits of {@link CompletionFlag}
 * @param pkeyIndex the index of the partition key
 * @param sourceLid the sender's local identifier, of a datagram
 * @param serviceLevel the service level, of a datagram
 * @param pathBits the low bits of the destination's local identifier, of a datagram ({@code dlid_path_bits})
 * @param operation what a failed request was, remembered by the queue pair; null when it succeeded, or when that can't
 *     be told
 * @param firstFailure of a flushed request: the first failure of its queue pair, which explains it; null otherwise, and
 *     when nothing has failed
 */
public record WorkCompletion(
        long id,
        WorkStatus status,
        int statusCode,
        WorkOpcode opcode,
        int opcodeNumber,
        int vendorError,
        int byteLength,
        int immediate,
        int invalidatedKey,
        int queuePairNumber,
        int sourceQueuePair,
        int flagBits,
        int pkeyIndex,
        int sourceLid,
        int serviceLevel,
        int pathBits,
        @Nullable Operation operation,
        @Nullable WorkCompletion firstFailure) {

    /**
     * Whether the work was done.
     *
     * @return true for {@link WorkStatus#SUCCESS}
     */
    public boolean isSuccess() {
        return statusCode == 0;
    }

    /**
     * Whether this is the end of a receive that succeeded.
     *
     * @return true for all opcodes with the bit {@code IBV_WC_RECV}
     */
    public boolean isReceive() {
        return isSuccess() && (opcodeNumber & WorkOpcode.RECEIVE.code()) != 0;
    }

    /**
     * Whether immediate data arrived with it.
     *
     * @return true if {@link #immediate} means something
     */
    public boolean hasImmediate() {
        return isReceive() && flags().contains(CompletionFlag.WITH_IMMEDIATE);
    }

    /**
     * Whether the first 40 bytes of the receive hold a routing header: {@link Grh#read} reads it.
     *
     * @return true for all datagrams on RoCE
     */
    public boolean hasRoutingHeader() {
        return isReceive() && flags().contains(CompletionFlag.GRH);
    }

    /**
     * Whether the peer's send invalidated a key of this side. Soft-RoCE sets {@link CompletionFlag#IP_CSUM_OK} instead.
     *
     * @return true if {@link #invalidatedKey} means something
     */
    public boolean hasInvalidated() {
        return isReceive() && flags().contains(CompletionFlag.WITH_INVALIDATE);
    }

    /**
     * What else it says ({@code wc_flags}).
     *
     * @return the flags that this release knows
     */
    public Set<CompletionFlag> flags() {
        return NativeFlag.of(CompletionFlag.class, flagBits);
    }

    /**
     * Goes on when the work was done.
     *
     * @return this
     * @throws WorkCompletionException if it failed
     */
    public WorkCompletion orThrow() {
        if (!isSuccess()) {
            throw new WorkCompletionException(this);
        }
        return this;
    }

    /** For example {@code #7 RDMA_READ on QP 17: success, 64 bytes}, or what failed and why. */
    @Override
    public String toString() {
        String on = "#" + id + " ";
        if (isSuccess()) {
            return on + opcode + " on QP " + queuePairNumber + ": success"
                    + (byteLength == 0 ? "" : ", " + byteLength + " bytes")
                    + (hasImmediate() ? ", immediate 0x" + Integer.toHexString(immediate) : "");
        }
        StringBuilder text = new StringBuilder(on)
                .append(operation == null ? "work request" : operation.toString())
                .append(" on QP ")
                .append(queuePairNumber)
                .append(" failed: ");
        text.append(status == WorkStatus.UNKNOWN ? "status " + statusCode : status + ", " + status.meaning());
        if (vendorError != 0) {
            text.append(" (vendor error 0x")
                    .append(Integer.toHexString(vendorError))
                    .append(')');
        }
        if (firstFailure != null) {
            text.append(". The queue pair's first failure was ").append(firstFailure);
        } else if (!status.hint().isEmpty()) {
            text.append(". To try: ").append(status.hint());
        }
        return text.toString();
    }
}

package dev.verbena.cm;

import dev.verbena.internal.Checks;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/** The options of an id, which C can set and cannot read ({@code rdma_set_option}). */
final class IdOptions {
    /** Code n stands for 2 to the power of n units, but code 0 for no timeout. */
    private static final long ACK_TIMEOUT_UNIT_NANOS = 4_096;

    private static final int MAX_ACK_TIMEOUT_CODE = 31;

    private final CmId id;

    IdOptions(CmId id) {
        this.id = id;
    }

    void typeOfService(int value) {
        Checks.checkRange("type of service", value, 255);
        set(rdma_h.RDMA_OPTION_ID_TOS(), value, 1, "type of service " + value);
    }

    void reuseAddress(boolean on) {
        set(rdma_h.RDMA_OPTION_ID_REUSEADDR(), on ? 1 : 0, Integer.BYTES, "reuse address " + on);
    }

    void addressFamilyOnly(boolean on) {
        set(rdma_h.RDMA_OPTION_ID_AFONLY(), on ? 1 : 0, Integer.BYTES, "address family only " + on);
    }

    void ackTimeout(Duration timeout) {
        ackTimeoutCode(ackTimeoutCodeOf(timeout));
    }

    void ackTimeoutCode(int code) {
        Checks.checkRange("acknowledgement timeout code", code, MAX_ACK_TIMEOUT_CODE);
        set(rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT(), code, 1, "acknowledgement timeout code " + code);
    }

    /** Returns the smallest code whose timeout is not shorter. */
    static int ackTimeoutCodeOf(Duration timeout) {
        Duration longest = Duration.ofNanos(ACK_TIMEOUT_UNIT_NANOS << MAX_ACK_TIMEOUT_CODE);
        if (!timeout.isPositive() || timeout.compareTo(longest) > 0) {
            throw new IllegalArgumentException("acknowledgement timeout must be longer than 0 and at most " + longest
                    + ", got " + timeout + "; code 0 stands for no timeout");
        }
        int code = 1;
        while (ACK_TIMEOUT_UNIT_NANOS << code < timeout.toNanos()) {
            code++;
        }
        return code;
    }

    private void set(int option, int value, int size, String text) {
        id.call(RdmaCm.SET_OPTION, id + ", " + text, scratch -> {
            MemorySegment memory = scratch.allocateFrom(ValueLayout.JAVA_INT, value);
            if (size == 1) {
                memory.set(ValueLayout.JAVA_BYTE, 0, (byte) value);
            }
            return RdmaCm.SET_OPTION.call(id.address, rdma_h.RDMA_OPTION_ID(), option, memory.address(), size);
        });
    }
}

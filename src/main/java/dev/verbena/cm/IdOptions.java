package dev.verbena.cm;

import dev.verbena.internal.Checks;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.WireTime;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/** The options of an id, which C can set and cannot read ({@code rdma_set_option}). */
final class IdOptions {
    private final CmId id;

    IdOptions(CmId id) {
        this.id = id;
    }

    void typeOfService(int value) {
        Checks.checkRange("type of service", value, 255);
        set(rdma_h.RDMA_OPTION_ID_TOS, value, 1, "type of service " + value);
    }

    void reuseAddress(boolean on) {
        set(rdma_h.RDMA_OPTION_ID_REUSEADDR, on ? 1 : 0, Integer.BYTES, "reuse address " + on);
    }

    void addressFamilyOnly(boolean on) {
        set(rdma_h.RDMA_OPTION_ID_AFONLY, on ? 1 : 0, Integer.BYTES, "address family only " + on);
    }

    void ackTimeout(Duration timeout) {
        ackTimeoutCode(WireTime.acknowledgementCode(timeout));
    }

    void ackTimeoutCode(int code) {
        WireTime.checkCode("acknowledgement timeout code", code);
        set(rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT, code, 1, "acknowledgement timeout code " + code);
    }

    private void set(int option, int value, int size, String text) {
        id.call(RdmaCm.SET_OPTION, id + ", " + text, scratch -> {
            MemorySegment memory = scratch.allocateFrom(ValueLayout.JAVA_INT, value);
            if (size == 1) {
                memory.set(ValueLayout.JAVA_BYTE, 0, (byte) value);
            }
            return new long[] {rdma_h.RDMA_OPTION_ID, option, memory.address(), size};
        });
    }
}

package dev.verbena.verbs.device;

import dev.verbena.CName;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** The logical state of a port ({@code enum ibv_port_state}). */
public enum PortState {
    /** Not defined ({@code IBV_PORT_NOP}). */
    NOP(rdma_h.IBV_PORT_NOP, "no state change (NOP)"),
    /** No link ({@code IBV_PORT_DOWN}). */
    DOWN(rdma_h.IBV_PORT_DOWN, "down"),
    /** The link is up, but the subnet manager has not configured the port yet ({@code IBV_PORT_INIT}). */
    INIT(rdma_h.IBV_PORT_INIT, "init"),
    /** The port is configured, but not active yet ({@code IBV_PORT_ARMED}). */
    ARMED(rdma_h.IBV_PORT_ARMED, "armed"),
    /** The port works ({@code IBV_PORT_ACTIVE}). */
    ACTIVE(rdma_h.IBV_PORT_ACTIVE, "active"),
    /** The link is temporarily down ({@code IBV_PORT_ACTIVE_DEFER}). */
    ACTIVE_DEFER(rdma_h.IBV_PORT_ACTIVE_DEFER, "active defer"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "unknown");

    private final int code;
    private final String meaning;

    PortState(int code, String meaning) {
        this.code = code;
        this.meaning = meaning;
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
     * Returns the description that the C tools print ({@code ibv_port_state_str}).
     *
     * @return a description, such as {@code no state change (NOP)}
     */
    @CName("ibv_port_state_str")
    public String meaning() {
        return meaning;
    }

    static PortState of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}

package dev.verbena.verbs.device;

import dev.verbena.CName;
import dev.verbena.NativeValue;

/** The logical state of a port ({@code enum ibv_port_state}). */
public enum PortState implements NativeValue {
    /** Not defined ({@code IBV_PORT_NOP}). */
    NOP(0, "IBV_PORT_NOP", "no state change (NOP)"),
    /** No link ({@code IBV_PORT_DOWN}). */
    DOWN(1, "IBV_PORT_DOWN", "down"),
    /** The link is up, but the subnet manager has not configured the port yet ({@code IBV_PORT_INIT}). */
    INIT(2, "IBV_PORT_INIT", "init"),
    /** The port is configured, but not active yet ({@code IBV_PORT_ARMED}). */
    ARMED(3, "IBV_PORT_ARMED", "armed"),
    /** The port works ({@code IBV_PORT_ACTIVE}). */
    ACTIVE(4, "IBV_PORT_ACTIVE", "active"),
    /** The link is temporarily down ({@code IBV_PORT_ACTIVE_DEFER}). */
    ACTIVE_DEFER(5, "IBV_PORT_ACTIVE_DEFER", "active defer"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "", "unknown");

    private static final PortState[] VALUES = values();

    private final int code;
    private final String cName;
    private final String meaning;

    PortState(int code, String cName, String meaning) {
        this.code = code;
        this.cName = cName;
        this.meaning = meaning;
    }

    @Override
    public int code() {
        return code;
    }

    @Override
    public String cName() {
        return cName;
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

    /**
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static PortState of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}

package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** The kind of a memory window ({@code enum ibv_mw_type}). */
public enum MemoryWindowType implements NativeValue {
    /** The adapter chooses the key; all queue pairs of the protection domain may use the window ({@code IBV_MW_TYPE_1}). */
    TYPE_1(1, "IBV_MW_TYPE_1"),
    /** The program chooses part of the key; the program or the peer can invalidate the window ({@code IBV_MW_TYPE_2}). */
    TYPE_2(2, "IBV_MW_TYPE_2"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final MemoryWindowType[] VALUES = values();

    private final int code;
    private final String cName;

    MemoryWindowType(int code, String cName) {
        this.code = code;
        this.cName = cName;
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
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static MemoryWindowType of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}

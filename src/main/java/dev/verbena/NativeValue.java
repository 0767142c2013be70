package dev.verbena;

/** An enum constant that stands for a number in C. */
public interface NativeValue {
    /**
     * The number in C.
     *
     * @return the value of the C constant
     */
    int code();

    /**
     * The constant's name in C.
     *
     * @return for example {@code IBV_QPS_RTS}; empty for the constant that stands for unknown numbers
     */
    String cName();

    /**
     * Finds the constant for a number.
     *
     * @param <E> the enum
     * @param values its constants
     * @param code the number in C
     * @param unknown what to answer for a number that none of them has
     * @return the constant
     */
    static <E extends NativeValue> E find(E[] values, int code, E unknown) {
        for (E value : values) {
            if (value.code() == code && value != unknown) {
                return value;
            }
        }
        return unknown;
    }
}

package dev.verbena;

/** An enum constant that stands for a number in C. */
public interface NativeValue {
    /**
     * Returns the number in C.
     *
     * @return the value of the C constant
     */
    int code();

    /**
     * Returns the constant's name in C.
     *
     * @return a name, such as {@code IBV_QPS_RTS}; empty for the constant of unknown numbers
     */
    String cName();

    /**
     * Returns the constant for a number.
     *
     * @param <E> the enum
     * @param values the constants of the enum
     * @param code the number in C
     * @param unknown the constant to return when no other constant has the number
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

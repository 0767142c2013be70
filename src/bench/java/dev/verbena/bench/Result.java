package dev.verbena.bench;

import java.util.Locale;

/**
 * The figures of one JVM, in nanoseconds per operation.
 *
 * @param of the row and its setting
 * @param c the minimum in C
 * @param cMedian the median in C
 * @param java the minimum in Java
 * @param javaMedian the median in Java
 * @param bytes allocated per operation
 */
record Result(Case of, double c, double cMedian, double java, double javaMedian, double bytes) {
    double ratio() {
        return java / c;
    }

    double over() {
        return java - c;
    }

    /** Tells whether bytes are allocated in a row that should allocate none. */
    boolean allocates() {
        return bytes > 0 && !of.row().allocates();
    }

    /** Tells whether the result is a failure on any machine. */
    boolean isFarOff() {
        return allocates() || of.target().isFarOff(ratio(), over());
    }

    String json() {
        return String.format(
                Locale.ROOT,
                "{\"profile\": \"%s\", \"row\": \"%s\", \"arena\": \"%s\", \"calls\": \"%s\", "
                        + "\"c\": %.2f, \"cMedian\": %.2f, \"java\": %.2f, \"javaMedian\": %.2f, \"over\": %.2f, \"ratio\": %.3f, "
                        + "\"bytes\": %.2f, \"target\": \"%s\"}",
                of.profile().key(),
                of.row().key(),
                of.arena().key(),
                of.calls().key(),
                c,
                cMedian,
                java,
                javaMedian,
                over(),
                ratio(),
                bytes,
                of.target());
    }
}

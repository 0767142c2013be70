package dev.verbena.bench;

/**
 * The figures of one JVM, in nanoseconds per operation.
 *
 * @param c the minimum in C
 * @param cMedian the median in C
 * @param java the minimum in Java
 * @param javaMedian the median in Java
 * @param bytes allocated per operation
 */
record Figures(double c, double cMedian, double java, double javaMedian, double bytes) {
    double ratio() {
        return java / c;
    }
}

package dev.verbena.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * The figures of one row in several JVMs.
 *
 * @param of the row and its setting
 * @param verbena the figures of the public API, one of each JVM
 * @param bare the figures of bare calls, or none
 * @param domain the figures of C with a thread domain, or none
 */
record Result(Case of, List<Figures> verbena, List<Figures> bare, List<Figures> domain) {
    Result(Case of) {
        this(of, new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    }

    /** Returns the least time in C of all JVMs. */
    double c() {
        return Math.min(least(verbena, Figures::c), least(bare, Figures::c));
    }

    double cMedian() {
        return least(verbena, Figures::cMedian);
    }

    double java() {
        return least(verbena, Figures::java);
    }

    double javaMedian() {
        return least(verbena, Figures::javaMedian);
    }

    /** Returns the bytes of the JVM that allocated most. */
    double bytes() {
        return verbena.stream().mapToDouble(Figures::bytes).max().orElseThrow();
    }

    /** Returns the least time of bare calls, or NaN if the row has none. */
    double bareJava() {
        return bare.isEmpty() ? Double.NaN : least(bare, Figures::java);
    }

    /** Returns the least time in C with a thread domain, or NaN if the row has none. */
    double inDomain() {
        return domain.isEmpty() ? Double.NaN : least(domain, Figures::java);
    }

    double ratio() {
        return java() / c();
    }

    double over() {
        return java() - c();
    }

    /** Returns the ratios of the best JVM and of the worst one. */
    String spread() {
        return String.format(
                Locale.ROOT,
                "%.2f-%.2f",
                least(verbena, Figures::ratio),
                verbena.stream().mapToDouble(Figures::ratio).max().orElseThrow());
    }

    /** Tells whether bytes are allocated. No row should allocate any. */
    boolean allocates() {
        return bytes() > 0;
    }

    /** Tells whether the target is met. */
    boolean meetsTarget(List<Result> others) {
        return of.target().isMet(figure(others));
    }

    /** Tells whether the result is a failure on any machine. */
    boolean isFarOff(List<Result> others) {
        return allocates() || of.target().isFarOff(figure(others), this);
    }

    /** Returns what the target bounds, or 0 if the case with which this one is compared was not measured. */
    double figure(List<Result> others) {
        return switch (of.target().measure()) {
            case NONE -> 0;
            case RATIO -> ratio();
            case OVER -> over();
            case OVER_CONFINED -> compared(others, other -> over() - other.over());
            case TO_ONE_DRIVER -> compared(others, other -> java() / other.java());
        };
    }

    private double compared(List<Result> others, ToDoubleFunction<Result> figure) {
        return others.stream()
                .filter(other -> of.isComparedWith(other.of))
                .mapToDouble(figure)
                .findFirst()
                .orElse(0);
    }

    String json() {
        return String.format(
                Locale.ROOT,
                "{\"profile\": \"%s\", \"row\": \"%s\", \"arena\": \"%s\", \"calls\": \"%s\", \"frames\": %d, "
                        + "\"c\": %.2f, \"cMedian\": %.2f, \"java\": %.2f, \"javaMedian\": %.2f, \"over\": %.2f, "
                        + "\"ratio\": %.3f, \"spread\": \"%s\", \"bare\": %s, \"domain\": %s, \"bytes\": %.2f, \"target\": \"%s\"}",
                of.profile().key(),
                of.row().key(),
                of.arena().key(),
                of.calls().key(),
                of.frames(),
                c(),
                cMedian(),
                java(),
                javaMedian(),
                over(),
                ratio(),
                spread(),
                orNull(bareJava()),
                orNull(inDomain()),
                bytes(),
                of.target());
    }

    private static String orNull(double figure) {
        return Double.isNaN(figure) ? "null" : String.format(Locale.ROOT, "%.2f", figure);
    }

    private static double least(List<Figures> of, ToDoubleFunction<Figures> figure) {
        return of.stream().mapToDouble(figure).min().orElse(Double.POSITIVE_INFINITY);
    }
}

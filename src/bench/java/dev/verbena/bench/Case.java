package dev.verbena.bench;

import java.util.List;

/**
 * One row in one setting: a provider, an arena, and a way to call C.
 *
 * @param profile the stub provider
 * @param row the row
 * @param arena confined or shared
 * @param calls critical or plain
 * @param frames the number of frames between the program's loop and the library
 * @param target the target of the library
 */
record Case(Profile profile, Row row, ArenaKind arena, Calls calls, int frames, Target target) {
    /** A variant of the stub provider. */
    enum Profile {
        LEAN,
        MLX5;

        String key() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /** A kind of arena. */
    enum ArenaKind {
        CONFINED,
        SHARED;

        String key() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /** A kind of downcall: critical calls do not change the thread's state. */
    enum Calls {
        CRITICAL("critical", "-Ddev.verbena.critical=post"),
        PLAIN("plain", "-Ddev.verbena.critical=none"),
        /** Plain calls in a virtual machine that leaves the fence of each change to the kernel. */
        PLAIN_BARRIER("plain, barrier", "-Ddev.verbena.critical=none", "-XX:+UseSystemMemoryBarrier");

        private final String key;
        private final List<String> options;

        Calls(String key, String... options) {
            this.key = key;
            this.options = List.of(options);
        }

        /** Returns the options of the virtual machine. */
        List<String> options() {
            return options;
        }

        String key() {
            return key;
        }
    }

    /**
     * An upper bound for Java's time.
     *
     * @param ratio ratio to the minimum in C, or NaN
     * @param over nanoseconds above C, or NaN
     * @param overConfined nanoseconds above the same with a confined arena, or NaN
     */
    record Target(double ratio, double over, double overConfined) {
        /** What no ratio of two figures of a few nanoseconds can tell from chance. */
        private static final double FEW_NANOS = 3.5;

        private static final double FAR = 1.5;
        private static final double FAR_FROM_BARE = 1.4;
        static final Target NONE = new Target(Double.NaN, Double.NaN, Double.NaN);

        static Target ratio(double most) {
            return new Target(most, Double.NaN, Double.NaN);
        }

        static Target over(double most) {
            return new Target(Double.NaN, most, Double.NaN);
        }

        static Target overConfined(double most) {
            return new Target(Double.NaN, Double.NaN, most);
        }

        /** Tells whether figures meet the target. */
        boolean isMet(double ratioFound, double overFound, double overConfinedFound) {
            return !(ratioFound > ratio) && !(overFound > over) && !(overConfinedFound > overConfined);
        }

        /**
         * Tells whether figures exceed the target by half, and those of bare calls by two fifths. Where bare calls alone are
         * far beyond the target, the cause is the machine, and not the library.
         *
         * @param bareRatio the ratio of bare calls, or NaN if they were not measured
         */
        boolean isFarOff(double ratioFound, double overFound, double overConfinedFound, double bareRatio) {
            boolean nearBare = ratioFound <= FAR_FROM_BARE * bareRatio;
            boolean beyond = ratioFound > FAR * ratio || overConfinedFound > FAR * overConfined;
            return beyond && !nearBare && overFound > FEW_NANOS;
        }

        @Override
        public String toString() {
            return format("<= %.2fx", ratio)
                    + format("<= +%.0f ns", over)
                    + format("<= +%.1f to confined", overConfined);
        }

        private static String format(String form, double most) {
            return Double.isNaN(most) ? "" : String.format(java.util.Locale.ROOT, form, most);
        }
    }

    /** Returns whether this is another case with a confined arena. */
    boolean isConfined(Case other) {
        return arena == ArenaKind.CONFINED
                && profile == other.profile
                && row == other.row
                && calls == other.calls
                && frames == other.frames;
    }

    String settings() {
        return arena.key() + ", " + calls.key() + (frames == 1 ? "" : ", " + frames + " deep");
    }
}

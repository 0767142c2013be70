package dev.verbena.bench;

import java.util.List;
import java.util.Locale;

/**
 * One row in one setting: a provider, an arena, and a way to call C.
 *
 * @param profile what is below the calls
 * @param row the row
 * @param arena confined or shared
 * @param calls critical or plain
 * @param frames the number of frames between the program's loop and the library
 * @param target the target of the library
 */
record Case(Profile profile, Row row, ArenaKind arena, Calls calls, int frames, Target target) {
    /** The layer below the calls. */
    enum Profile {
        /** The stub provider, which completes requests as they are posted. */
        LEAN,
        /** The system's libmlx5, and an adapter without hardware on another processor. */
        MLX5;

        String key() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** A kind of arena. */
    enum ArenaKind {
        CONFINED,
        SHARED;

        String key() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** A kind of downcall: critical calls do not change the thread's state. */
    enum Calls {
        CRITICAL("critical", "-Ddev.verbena.critical=post"),
        /** As the library chooses them for a driver. */
        BY_DRIVER("by driver"),
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

    /** What a target bounds. */
    enum Measure {
        NONE(""),
        /** The ratio to C. */
        RATIO("%.2fx"),
        /** Nanoseconds more than in C. */
        OVER("+%.0f ns"),
        /** How many nanoseconds more than in C are added to those with a confined arena. */
        OVER_CONFINED("%+.1f to confined"),
        /** The ratio to the same row with one driver. */
        TO_ONE_DRIVER("%.2fx of one driver");

        private final String form;

        Measure(String form) {
            this.form = form;
        }

        /** Tells whether another case is needed for the figure, which is not in a column of its own then. */
        boolean isRelative() {
            return this == OVER_CONFINED || this == TO_ONE_DRIVER;
        }

        String format(double figure) {
            return String.format(Locale.ROOT, form, figure);
        }
    }

    /**
     * An upper bound for Java's time.
     *
     * @param measure what is bounded
     * @param most the bound
     */
    record Target(Measure measure, double most) {
        /** What no ratio of two figures of a few nanoseconds can tell from chance. */
        private static final double FEW_NANOS = 3.5;

        private static final double FAR = 1.5;
        private static final double FAR_FROM_BARE = 1.4;
        static final Target NONE = new Target(Measure.NONE, Double.POSITIVE_INFINITY);

        static Target ratio(double most) {
            return new Target(Measure.RATIO, most);
        }

        boolean isMet(double figure) {
            return figure <= most;
        }

        /**
         * Tells whether a result exceeds the target by half, and that of bare calls by two fifths. Where bare calls alone
         * are far beyond the target, the cause is the machine, and not the library.
         *
         * @param figure what the target bounds
         * @param result the result, whose bare calls may not be measured
         */
        boolean isFarOff(double figure, Result result) {
            boolean nearBare = result.java() <= FAR_FROM_BARE * result.bareJava();
            return measure != Measure.OVER && figure > FAR * most && !nearBare && result.over() > FEW_NANOS;
        }

        @Override
        public String toString() {
            return measure == Measure.NONE ? "" : "<= " + measure.format(most);
        }
    }

    /** Returns whether this case is compared with another one: with a confined arena, or with one driver. */
    boolean isComparedWith(Case other) {
        return !equals(other)
                && other.arena == ArenaKind.CONFINED
                && other.row == row.base()
                && profile == other.profile
                && calls == other.calls
                && frames == other.frames;
    }

    /**
     * Returns true if posts and polls are measured apart, while the adapter does nothing, which works in between. Otherwise
     * its work on another processor would be the longest part.
     */
    boolean isHeld() {
        return profile == Profile.MLX5 && !row.is(Row.Kind.STEADY) && row != Row.EMPTY_POLL;
    }

    String settings() {
        return arena.key() + ", " + calls.key() + (frames == 1 ? "" : ", " + frames + " deep");
    }
}

package dev.verbena.bench;

/**
 * One row in one setting: which provider, which arena, and how C is called.
 *
 * @param profile the stub provider
 * @param row the loops
 * @param arena for one thread or for all
 * @param calls critical ones, or plain
 * @param target what the library is to reach
 */
record Case(Profile profile, Row row, ArenaKind arena, Calls calls, Target target) {
    /** The provider that is imitated. */
    enum Profile {
        LEAN,
        MLX5;

        String key() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /** Who may use the objects. */
    enum ArenaKind {
        CONFINED,
        SHARED;

        String key() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /** Whether a call into C changes the thread's state. */
    enum Calls {
        CRITICAL("post"),
        PLAIN("none");

        private final String setting;

        Calls(String setting) {
            this.setting = setting;
        }

        /** The value of the library's system property. */
        String setting() {
            return setting;
        }

        String key() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /**
     * The most that Java may take.
     *
     * @param ratio of the minimum in C; not a number where there is no such target
     * @param over nanoseconds more than C, or than the confined arena; not a number where there is no such target
     */
    record Target(double ratio, double over) {
        private static final double FEW_NANOS = 5;
        static final Target NONE = new Target(Double.NaN, Double.NaN);

        static Target ratio(double most) {
            return new Target(most, Double.NaN);
        }

        static Target over(double most) {
            return new Target(Double.NaN, most);
        }

        /** Whether figures meet it. */
        boolean isMet(double ratioFound, double overFound) {
            return !(ratioFound > ratio) && !(overFound > over);
        }

        /**
         * Whether a ratio is beyond twice the target, and more than the few nanoseconds that any call costs. This is for
         * machines that are slow or busy, and so looks at no other figure.
         */
        boolean isFarOff(double ratioFound, double overFound) {
            return ratioFound > 2 * ratio && overFound > FEW_NANOS;
        }

        @Override
        public String toString() {
            String text = Double.isNaN(ratio) ? "" : String.format(java.util.Locale.ROOT, "<= %.2fx", ratio);
            if (!Double.isNaN(over)) {
                text += (text.isEmpty() ? "" : ", ") + String.format(java.util.Locale.ROOT, "<= +%.0f ns", over);
            }
            return text;
        }
    }

    String settings() {
        return arena.key() + ", " + calls.key();
    }
}

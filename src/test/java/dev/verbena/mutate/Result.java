package dev.verbena.mutate;

/**
 * The fate of a mutant.
 *
 * @param mutant the mutant
 * @param outcome the outcome
 * @param by the test that has found the mutant, and how, or ""
 */
record Result(Mutant mutant, Outcome outcome, String by) {

    /** The outcomes. */
    enum Outcome {
        /** A test fails with the mutant, and passes without. */
        KILLED,
        /** A test does not end, or the JVM crashes. */
        TIMED_OUT,
        /** All tests that run the line pass. */
        SURVIVED,
        /** No test runs the line. */
        NOT_COVERED,
        /** The mutant changes nothing that a program can see, for a reason that is written down. */
        EQUIVALENT
    }
}

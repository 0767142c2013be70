package dev.verbena.bench;

import java.util.Objects;

/** The work of a row: a loop that calls the library itself, and one turn of it for callers that are further away. */
final class Work {
    /** Runs a number of operations and returns the number of errors. */
    interface Loop {
        long run(int operations);
    }

    /** Runs the operations of one turn, of which the first has an id, and returns the number of errors. */
    interface Step {
        long once(long id);
    }

    private final Loop loop;
    private final Step step;

    Work(Loop loop) {
        this(loop, null);
    }

    Work(Loop loop, Step step) {
        this.loop = loop;
        this.step = step;
    }

    Loop loop() {
        return loop;
    }

    /** Returns the turn of a row that is measured with callers of several frames. */
    Step step() {
        return Objects.requireNonNull(step, "a step of this row");
    }
}

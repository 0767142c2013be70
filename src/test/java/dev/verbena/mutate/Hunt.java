package dev.verbena.mutate;

import dev.verbena.mutate.Result.Outcome;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Runs tests on mutants, one after the other, in a {@link Worker} that is replaced when a mutant crashes it, hangs in it
 * or leaves something behind. A kill counts only if the test passes without the mutant in the same JVM or in a new one.
 */
final class Hunt implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(120);
    private static final int MOST_IN_ONE_JVM = 120;

    private final Setup setup;
    private final Coverage coverage;
    private final long budgetMillis;
    private final Set<String> unreliable = new HashSet<>();
    private @Nullable Minion minion;
    private int inThisJvm;

    /**
     * Makes a hunt.
     *
     * @param budgetMillis the time of processors for the tests of a mutant; the cheapest tests are run
     */
    Hunt(Setup setup, Coverage coverage, long budgetMillis) {
        this.setup = setup;
        this.coverage = coverage;
        this.budgetMillis = budgetMillis;
    }

    /** Returns the tests that failed without a mutant. */
    Set<String> unreliable() {
        return unreliable;
    }

    private Minion minion() {
        if (minion == null) {
            minion = new Minion(setup);
            inThisJvm = 0;
        }
        return minion;
    }

    private void replaceMinion() {
        if (minion != null) {
            minion.close();
            minion = null;
        }
    }

    @Override
    public void close() {
        replaceMinion();
    }

    /** Runs the tests that cover a mutant until one of them fails. */
    Result hunt(Mutant mutant) throws InterruptedException {
        List<Coverage.Test> tests = coverage.covering(mutant);
        boolean once = tests.isEmpty(); // the line runs when its class is initialized, so each try needs a new JVM
        if (once) {
            tests = coverage.coveringInitializer(mutant);
        }
        if (tests.isEmpty()) {
            return new Result(mutant, Outcome.NOT_COVERED, "");
        }
        if (once || inThisJvm++ > MOST_IN_ONE_JVM) {
            replaceMinion();
        }
        Result result = hunt(mutant, tests, once);
        if (once) {
            replaceMinion();
        }
        return result;
    }

    private Result hunt(Mutant mutant, List<Coverage.Test> tests, boolean once) throws InterruptedException {
        seed(mutant);
        long spent = 0;
        for (Coverage.Test test : tests) {
            if (unreliable.contains(test.id())) {
                continue;
            }
            spent += test.processorMillis();
            if (spent > budgetMillis) {
                return new Result(mutant, Outcome.SURVIVED, "(not all tests ran)");
            }
            String answer = run(test, once ? START : limit(test));
            if (answer == null && !once) {
                answer = repeat(mutant, test);
            }
            if (answer == null || answer.equals(Minion.CRASHED)) {
                replaceMinion();
                return new Result(mutant, Outcome.TIMED_OUT, test.name() + (answer == null ? " hung" : " crashed"));
            }
            if (answer.startsWith(Worker.FAILED)) {
                if (passesWithout(test, once)) {
                    return new Result(mutant, Outcome.KILLED, test.name());
                }
                replaceMinion();
                if (!passesWithout(test, false)) { // also in a new JVM
                    unreliable.add(test.id());
                    replaceMinion();
                } else {
                    if (once) {
                        replaceMinion();
                    }
                    seed(mutant);
                    String again = run(test, START);
                    if (again == null || !again.equals(Worker.PASSED)) {
                        replaceMinion();
                        return new Result(mutant, Outcome.KILLED, test.name());
                    }
                    continue;
                }
                seed(mutant);
            }
        }
        restore();
        return new Result(mutant, Outcome.SURVIVED, "");
    }

    private boolean passesWithout(Coverage.Test test, boolean inNewJvm) throws InterruptedException {
        if (inNewJvm) {
            replaceMinion();
        } else {
            restore();
        }
        String answer = run(test, START);
        return answer != null && answer.equals(Worker.PASSED);
    }

    private void seed(Mutant mutant) throws InterruptedException {
        command("seed " + mutant.id());
    }

    private void restore() throws InterruptedException {
        if (!Objects.equals(minion().ask("restore", START), Worker.DONE)) {
            replaceMinion(); // the mutant has left a JVM that hangs
        }
    }

    private void command(String command) throws InterruptedException {
        String answer = minion().ask(command, START);
        if (!Objects.equals(answer, Worker.DONE)) {
            throw new IllegalStateException(command + ": " + answer);
        }
    }

    private Duration limit(Coverage.Test test) {
        return setup.patience().plusMillis(8 * test.millis());
    }

    /** Repeats a test that has not ended in time: a JVM that has just started is slow, and so is a busy machine. */
    private @Nullable String repeat(Mutant mutant, Coverage.Test test) throws InterruptedException {
        replaceMinion();
        long began = System.nanoTime();
        if (!passesWithout(test, false)) {
            return Worker.FAILED;
        }
        Duration needed = Duration.ofNanos(System.nanoTime() - began);
        seed(mutant);
        return run(test, limit(test).plus(needed.multipliedBy(2)));
    }

    private @Nullable String run(Coverage.Test test, Duration limit) throws InterruptedException {
        return minion().ask("run " + test.id(), limit);
    }
}

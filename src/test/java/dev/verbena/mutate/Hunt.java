package dev.verbena.mutate;

import dev.verbena.mutate.Result.Outcome;
import java.time.Duration;
import java.util.BitSet;
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
    private static final int MOST_IN_ONE_JVM = 200;
    private static final String FRESH = "fresh ";
    private static final String PASSED = Worker.PASSED;

    /** A remark for a survivor that other tests might kill. */
    static final String NOT_ALL = "(not all tests ran)";

    private final Setup setup;
    private final Coverage coverage;
    private final long budgetMillis;
    private final Costs costs;
    private final Set<String> unreliable = new HashSet<>();
    private final Set<String> alone = new HashSet<>();
    private long spentMillis;
    private @Nullable Minion minion;
    private int inThisJvm;

    /**
     * Makes a hunt.
     *
     * @param costs the prices of tests, which all hunts share
     * @param budgetMillis the time of processors for the tests of a mutant; the most promising tests are run
     */
    Hunt(Setup setup, Coverage coverage, Costs costs, long budgetMillis) {
        this.setup = setup;
        this.coverage = coverage;
        this.costs = costs;
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
        boolean once = tests.isEmpty(); // the line runs when its class is initialized, so each try needs new classes
        if (once) {
            tests = coverage.coveringInitializer(mutant);
        }
        if (tests.isEmpty()) {
            return new Result(mutant, Outcome.NOT_COVERED, "");
        }
        BitSet ofClass = coverage.linesOfClass(mutant);
        inThisJvm += once ? 4 : 1;
        if (inThisJvm > MOST_IN_ONE_JVM) {
            replaceMinion();
        }
        Result result = hunt(mutant, costs.inOrder(tests, mutant, once ? ofClass : null), once ? FRESH : "run ");
        List<Coverage.Test> again = coverage.coveringInitializer(mutant);
        if (once || again.isEmpty() || result.outcome() != Outcome.SURVIVED) {
            return result;
        }
        return hunt(mutant, costs.inOrder(again, mutant, ofClass), FRESH); // it may show only in what classes keep
    }

    private Result hunt(Mutant mutant, List<Coverage.Test> tests, String command) throws InterruptedException {
        seed(mutant);
        long end = spentMillis + (command.equals(FRESH) ? 3 * budgetMillis : budgetMillis); // loading takes time
        for (Coverage.Test test : tests) {
            if (unreliable.contains(command + test.id())) {
                continue;
            }
            if (spentMillis > end) {
                restore();
                return new Result(mutant, Outcome.SURVIVED, NOT_ALL);
            }
            String answer = run(command, test);
            if (answer.equals(PASSED)) {
                continue;
            }
            boolean goesOn = answer.equals(Worker.FAILED) || answer.equals(Minion.HUNG);
            if (goesOn) {
                restore();
            }
            if (!goesOn || !run(command, test).equals(PASSED)) {
                replaceMinion(); // the mutant has left something behind
                if (!passesAlone(command, test)) {
                    replaceMinion();
                    seed(mutant);
                    continue;
                }
            }
            costs.killed(test, mutant);
            return answer.equals(Worker.FAILED)
                    ? new Result(mutant, Outcome.KILLED, test.name())
                    : new Result(mutant, Outcome.TIMED_OUT, test.name() + " " + answer);
        }
        restore();
        return new Result(mutant, Outcome.SURVIVED, "");
    }

    /** Returns true if a test passes in a new JVM without a mutant, where no other test has run before. */
    private boolean passesAlone(String command, Coverage.Test test) throws InterruptedException {
        if (alone.contains(command + test.id())) {
            return true;
        }
        boolean passes = run(command, test).equals(PASSED);
        (passes ? alone : unreliable).add(command + test.id());
        return passes;
    }

    /** Puts a mutant into the classes. A JVM that an earlier mutant has damaged is replaced. */
    private void seed(Mutant mutant) throws InterruptedException {
        String command = "seed " + mutant.id();
        if (!Objects.equals(minion().ask(command, START), Worker.DONE)) {
            replaceMinion();
            command(command);
        }
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

    /** Runs a test: the answer is {@link #PASSED} or another one. */
    private String run(String command, Coverage.Test test) throws InterruptedException {
        boolean isFirst = minion == null;
        Duration sleep = setup.patience().plusMillis(2 * test.millis());
        Duration work = setup.patience().multipliedBy(2).plusMillis(8 * costs.millis(test));
        String answer = minion().run(command + test.id(), sleep, isFirst ? work.plus(START) : work);
        String[] part = answer.split("\t", 3);
        if (part.length > 1) {
            long millis = Long.parseLong(part[1]);
            spentMillis += millis;
            if (part[0].equals(PASSED) && !isFirst) {
                costs.passed(test, millis);
            }
        }
        return part[0];
    }
}

package dev.verbena.ledger;

import dev.verbena.ledger.Calls.Refusal;
import java.io.Serializable;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What a test run found out. Several runs at once, each in a guest, make one ledger. */
final class Findings implements Serializable {
    private static final long serialVersionUID = 1;

    /** What is known of one function. */
    static final class Known implements Serializable {
        private static final long serialVersionUID = 1;

        final TreeSet<String> tests = new TreeSet<>();
        boolean ran;
        boolean computed;

        @Nullable
        Refusal refusal;
    }

    /**
     * What became of a test that stands for something: for one of rdma-core's Python tests, or for a fault.
     *
     * @param test its name
     * @param outcome passed, failed or left out
     * @param why the reason, unless it passed
     */
    record Outcome(String test, String outcome, String why) implements Serializable {}

    /** Where the tests ran. */
    String where = "";

    final TreeMap<String, Known> functions = new TreeMap<>();
    final TreeMap<String, Map<String, Outcome>> twins = new TreeMap<>();
    final TreeMap<String, Map<String, Outcome>> faults = new TreeMap<>();
    final TreeMap<String, String> leftOut = new TreeMap<>();
    final TreeMap<String, Integer> outcomes = new TreeMap<>();

    /** Adds what another run found out. */
    void add(Findings other) {
        where = other.where;
        other.functions.forEach((function, theirs) -> {
            Known known = functions.computeIfAbsent(function, name -> new Known());
            known.tests.addAll(theirs.tests);
            known.ran |= theirs.ran;
            known.computed |= theirs.computed;
            if (theirs.refusal != null) {
                known.refusal = theirs.refusal;
            }
        });
        other.twins.forEach((python, tests) ->
                twins.computeIfAbsent(python, name -> new TreeMap<>()).putAll(tests));
        other.faults.forEach((fault, tests) ->
                faults.computeIfAbsent(fault, name -> new TreeMap<>()).putAll(tests));
        leftOut.putAll(other.leftOut);
        other.outcomes.forEach((outcome, count) -> outcomes.merge(outcome, count, Integer::sum));
    }

    /** A test made a function's counts grow by so much. It ran if a call was not followed by a refusal. */
    void called(String function, String test, int calls, int refusals, @Nullable Refusal last) {
        if (calls == 0 && refusals == 0) {
            return;
        }
        Known known = functions.computeIfAbsent(function, name -> new Known());
        known.tests.add(test);
        known.ran |= calls > refusals;
        if (refusals > 0) {
            known.refusal = last;
        }
    }

    void computed(String function, String test) {
        Known known = functions.computeIfAbsent(function, name -> new Known());
        known.tests.add(test);
        known.computed = true;
    }

    void twin(String python, String test, String outcome, String why) {
        twins.computeIfAbsent(python, name -> new TreeMap<>()).put(test, new Outcome(test, outcome, why));
    }

    void fault(String fault, String test, String outcome, String why) {
        faults.computeIfAbsent(fault, name -> new TreeMap<>()).put(test, new Outcome(test, outcome, why));
    }

    void leftOut(String test, String reason) {
        leftOut.put(test, reason);
    }

    void finished(String outcome) {
        outcomes.merge(outcome, 1, Integer::sum);
    }
}

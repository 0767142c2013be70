package dev.verbena.mutate;

import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The prices of tests, which say in what order they are run on a mutant. A test that has killed mutants nearby is cheap,
 * and so is a test of the mutant's class.
 */
final class Costs {
    private static final double SAME_LINE = 16;
    private static final double SAME_METHOD = 4;
    private static final double SAME_CLASS = 1;
    private static final double INITIALIZER = 0.5;
    private static final double OF_CLASS = 4;
    private static final double NEW = 50;

    private final Set<String> former;
    private final Map<String, Long> measured = new ConcurrentHashMap<>();
    private final Map<String, Integer> kills = new ConcurrentHashMap<>();

    /**
     * Makes prices.
     *
     * @param former the tests of a former run, which have not killed its survivors; empty if all mutants are tested
     */
    Costs(Set<String> former) {
        this.former = former;
    }

    /**
     * Returns tests, the most promising first.
     *
     * @param ofClass the lines of the mutant's class if each test runs in new classes
     */
    List<Coverage.Test> inOrder(List<Coverage.Test> tests, Mutant mutant, @Nullable BitSet ofClass) {
        Map<Coverage.Test, Double> prices = new IdentityHashMap<>();
        tests.forEach(test -> prices.put(test, price(test, mutant, ofClass)));
        return tests.stream().sorted(Comparator.comparingDouble(prices::get)).toList();
    }

    private double price(Coverage.Test test, Mutant mutant, @Nullable BitSet ofClass) {
        double near = 1
                + SAME_LINE * kills(test, mutant.probe())
                + SAME_METHOD * kills(test, mutant.type() + "#" + mutant.method())
                + SAME_CLASS * kills(test, mutant.type())
                + INITIALIZER * kills(test, initializer(mutant))
                + (test.name().startsWith(mutant.simpleName()) ? OF_CLASS : 0)
                + (former.isEmpty() || former.contains(test.id()) ? 0 : NEW);
        double price = ofClass == null ? test.price(millis(test)) : test.priceInNewClasses(millis(test), ofClass);
        return price / near;
    }

    /** Returns a place that all static initializers share: some tests look at the tables of many classes. */
    private static String initializer(Mutant mutant) {
        return mutant.method().equals("<clinit>") ? "<clinit>" : mutant.probe();
    }

    private int kills(Coverage.Test test, String place) {
        return kills.getOrDefault(test.id() + "\t" + place, 0);
    }

    /** Returns the time of processors that a test needs. */
    long millis(Coverage.Test test) {
        return measured.getOrDefault(test.id(), test.processorMillis());
    }

    /** Remembers the time of a test: its first run also compiles code. */
    void passed(Coverage.Test test, long millis) {
        measured.merge(test.id(), millis, Math::min);
    }

    /** Remembers the kills of a former run. */
    void remember(Collection<Result> results, List<Coverage.Test> tests) {
        Map<String, Coverage.Test> byName = new HashMap<>();
        tests.forEach(test -> byName.put(test.name(), test));
        for (Result result : results) {
            Coverage.Test test = byName.get(result.by().replaceAll(" .*", ""));
            if (test != null) {
                killed(test, result.mutant());
            }
        }
    }

    /** Remembers that a test has killed a mutant. */
    void killed(Coverage.Test test, Mutant mutant) {
        for (String place :
                List.of(mutant.probe(), mutant.type() + "#" + mutant.method(), mutant.type(), initializer(mutant))) {
            kills.merge(test.id() + "\t" + place, 1, Integer::sum);
        }
    }
}

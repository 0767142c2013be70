package dev.verbena.mutants;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.pitest.classinfo.ClassName;
import org.pitest.classpath.CodeSource;
import org.pitest.coverage.BlockLocation;
import org.pitest.coverage.CoverageDatabase;
import org.pitest.coverage.TestInfo;
import org.pitest.mutationtest.build.TestPrioritiser;
import org.pitest.mutationtest.build.TestPrioritiserFactory;
import org.pitest.mutationtest.engine.Location;
import org.pitest.mutationtest.engine.MutationDetails;

/**
 * Limits the tests that look for a mutant, as long as the time allows. Those that are named after its class have half of it.
 * Then those come that run what few tests of the mutated method run, and those that run the least of the library. What all of
 * a node's messages pass would be tried by a thousand tests.
 */
public final class NearestTests implements TestPrioritiserFactory {
    private static final int BUDGET_MILLIS = Integer.getInteger("dev.verbena.mutants.budget", Integer.MAX_VALUE);

    /** More blocks than a method has. */
    private static final int MOST_BLOCKS = 256;

    @Override
    public String description() {
        return "The nearest tests, for a limited time";
    }

    @Override
    public TestPrioritiser makeTestPrioritiser(Properties properties, CodeSource code, CoverageDatabase coverage) {
        return mutant -> nearest(mutant, coverage);
    }

    private static List<TestInfo> nearest(MutationDetails mutant, CoverageDatabase coverage) {
        Location method = mutant.getId().getLocation();
        Set<TestInfo> all = new LinkedHashSet<>();
        for (int block : mutant.getBlocks()) {
            all.addAll(coverage.getTestsForBlockLocation(new BlockLocation(method, block)));
        }
        Map<TestInfo, Double> rareness = new HashMap<>();
        for (int block = 0; block < MOST_BLOCKS; block++) {
            Collection<TestInfo> running = coverage.getTestsForBlockLocation(new BlockLocation(method, block));
            running.forEach(test -> rareness.merge(test, 1.0 / running.size(), Double::sum));
        }
        ClassName type = mutant.getClassName();
        Map<Boolean, List<TestInfo>> byName = all.stream()
                .sorted(Comparator.<TestInfo>comparingDouble(test -> -rareness.getOrDefault(test, 0.0))
                        .thenComparing(TestInfo::getNumberOfBlocksCovered)
                        .thenComparing(TestInfo::getName))
                .collect(Collectors.partitioningBy(test -> isNamedAfter(test, type)));
        List<TestInfo> chosen = new ArrayList<>();
        int left = BUDGET_MILLIS - add(chosen, byName.get(true), BUDGET_MILLIS / 2);
        add(chosen, byName.get(false), left);
        return chosen;
    }

    /** Adds tests that take no longer than a time, or one. Returns their time. */
    private static int add(List<TestInfo> chosen, List<TestInfo> tests, int most) {
        int time = 0;
        for (TestInfo test : tests) {
            if (chosen.isEmpty() || time + test.getTime() <= most) {
                chosen.add(test);
                time += test.getTime();
            }
        }
        return time;
    }

    private static boolean isNamedAfter(TestInfo test, ClassName type) {
        String name = type.getNameWithoutPackage().asJavaName();
        int inner = name.indexOf('$');
        return test.getName().contains('.' + (inner < 0 ? name : name.substring(0, inner)) + "Test");
    }
}

package dev.verbena.mutants;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.pitest.classinfo.ClassName;
import org.pitest.classpath.CodeSource;
import org.pitest.coverage.BlockLocation;
import org.pitest.coverage.CoverageDatabase;
import org.pitest.coverage.TestInfo;
import org.pitest.mutationtest.build.TestPrioritiser;
import org.pitest.mutationtest.build.TestPrioritiserFactory;
import org.pitest.mutationtest.engine.MutationDetails;

/**
 * Limits the tests that look for a mutant: those that are named after its class first, then those that run the least of the
 * library, as long as the time allows. What all of a node's messages pass would be tried by a thousand tests.
 */
public final class NearestTests implements TestPrioritiserFactory {
    private static final int BUDGET_MILLIS = Integer.getInteger("dev.verbena.mutants.budget", Integer.MAX_VALUE);

    @Override
    public String description() {
        return "The nearest tests, for a limited time";
    }

    @Override
    public TestPrioritiser makeTestPrioritiser(Properties properties, CodeSource code, CoverageDatabase coverage) {
        return mutant -> nearest(mutant, coverage);
    }

    private static List<TestInfo> nearest(MutationDetails mutant, CoverageDatabase coverage) {
        Set<TestInfo> all = new LinkedHashSet<>();
        for (int block : mutant.getBlocks()) {
            all.addAll(coverage.getTestsForBlockLocation(
                    new BlockLocation(mutant.getId().getLocation(), block)));
        }
        ClassName type = mutant.getClassName();
        Comparator<TestInfo> order = Comparator.<TestInfo, Boolean>comparing(each -> !isNamedAfter(each, type))
                .thenComparing(TestInfo::getNumberOfBlocksCovered)
                .thenComparing(TestInfo::getName);
        List<TestInfo> chosen = new ArrayList<>();
        long time = 0;
        for (TestInfo test : all.stream().sorted(order).toList()) {
            if (chosen.isEmpty() || time + test.getTime() <= BUDGET_MILLIS) {
                chosen.add(test);
                time += test.getTime();
            }
        }
        return chosen;
    }

    private static boolean isNamedAfter(TestInfo test, ClassName type) {
        String name = type.getNameWithoutPackage().asJavaName();
        int inner = name.indexOf('$');
        return test.getName().contains('.' + (inner < 0 ? name : name.substring(0, inner)) + "Test");
    }
}

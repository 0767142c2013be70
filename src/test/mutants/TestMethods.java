package dev.verbena.mutants;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.pitest.classinfo.ClassByteArraySource;
import org.pitest.extension.common.NoTestSuiteFinder;
import org.pitest.help.PitHelpError;
import org.pitest.testapi.AbstractTestUnit;
import org.pitest.testapi.Configuration;
import org.pitest.testapi.Description;
import org.pitest.testapi.ResultCollector;
import org.pitest.testapi.TestGroupConfig;
import org.pitest.testapi.TestPluginFactory;
import org.pitest.testapi.TestSuiteFinder;
import org.pitest.testapi.TestUnit;
import org.pitest.testapi.TestUnitExecutionListener;
import org.pitest.testapi.TestUnitFinder;

/**
 * Tells PIT the test methods of a class, and runs one of them. PIT's own plugin for JUnit runs all tests of a class to find them,
 * in each of its processes: for the classes of {@code net}, that took a minute and more for six mutants.
 */
public final class TestMethods implements TestPluginFactory {
    @Override
    public Configuration createTestFrameworkConfiguration(
            TestGroupConfig groups,
            ClassByteArraySource source,
            Collection<String> runners,
            Collection<String> methods) {
        return new Methods(groups.getExcludedGroups());
    }

    @Override
    public String name() {
        return "junit5";
    }

    @Override
    public String description() {
        return "Test methods of JUnit, found without running them";
    }

    private record Methods(List<String> excludedTags) implements Configuration, TestUnitFinder {
        @Override
        public TestUnitFinder testUnitFinder() {
            return this;
        }

        @Override
        public TestSuiteFinder testSuiteFinder() {
            return new NoTestSuiteFinder();
        }

        @Override
        public Optional<PitHelpError> verifyEnvironment() {
            return Optional.empty();
        }

        @Override
        public List<TestUnit> findTestUnits(Class<?> type, TestUnitExecutionListener listener) {
            if (type.getEnclosingClass() != null) {
                return List.of(); // found with the class around it
            }
            Launcher launcher = LauncherFactory.create();
            TestPlan plan = launcher.discover(LauncherDiscoveryRequestBuilder.request()
                    .selectors(DiscoverySelectors.selectClass(type))
                    .filters(TagFilter.excludeTags(excludedTags))
                    .build());
            List<TestUnit> found = new ArrayList<>();
            for (TestIdentifier root : plan.getRoots()) {
                for (TestIdentifier each : plan.getDescendants(root)) {
                    if (each.getSource().orElse(null) instanceof MethodSource) {
                        found.add(new Method(launcher, new Description(each.getUniqueId(), type)));
                    }
                }
            }
            return found;
        }
    }

    /** A test method, with all of its arguments. */
    private static final class Method extends AbstractTestUnit {
        private final Launcher launcher;

        Method(Launcher launcher, Description description) {
            super(description);
            this.launcher = launcher;
        }

        @Override
        public void execute(ResultCollector results) {
            Description mine = getDescription();
            LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                    .selectors(DiscoverySelectors.selectUniqueId(mine.getName()))
                    .build();
            List<Throwable> failures = new ArrayList<>();
            results.notifyStart(mine);
            launcher.execute(request, new TestExecutionListener() {
                @Override
                public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                    if (result.getStatus() == TestExecutionResult.Status.FAILED) {
                        failures.add(result.getThrowable().orElseGet(AssertionError::new));
                    }
                }
            });
            if (failures.isEmpty()) {
                results.notifyEnd(mine);
            } else {
                results.notifyEnd(mine, failures.getFirst());
            }
        }
    }
}

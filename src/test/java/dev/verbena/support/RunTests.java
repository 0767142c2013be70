package dev.verbena.support;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClasspathRoots;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.platform.engine.discovery.ClassNameFilter;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * Runs tests with the options of JUnit's console that the scripts use. The console's parser of options has classes of so
 * old a version that no archive of classes can hold them, which costs an emulated processor seconds.
 */
public final class RunTests {
    private RunTests() {}

    /**
     * Runs tests, prints the failures, and exits with status 1 if there are some, or no tests.
     *
     * @param options pairs of a name and a value: {@code --select-class}, {@code --scan-classpath},
     *     {@code --include-classname}, {@code --include-tag}, {@code --exclude-tag}, {@code --results}
     */
    public static void main(String... options) {
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request();
        List<String> names = new ArrayList<>();
        List<String> selected = new ArrayList<>();
        List<String> included = new ArrayList<>();
        List<String> excluded = new ArrayList<>();
        Launcher launcher = LauncherFactory.create();
        SummaryGeneratingListener summary = new SummaryGeneratingListener();
        launcher.registerTestExecutionListeners(summary);
        PrintWriter out = new PrintWriter(System.out, true);
        for (int i = 0; i < options.length; i += 2) {
            String value = options[i + 1];
            switch (options[i]) {
                case "--select-class" -> {
                    request.selectors(selectClass(value));
                    selected.add(Pattern.quote(value)); // of any name
                }
                case "--scan-classpath" -> request.selectors(selectClasspathRoots(Set.of(Path.of(value))));
                case "--include-classname" -> names.add(value);
                case "--include-tag" -> included.add(value);
                case "--exclude-tag" -> excluded.add(value);
                case "--results" -> launcher.registerTestExecutionListeners(new Results(Path.of(value)));
                default -> throw new IllegalArgumentException("no option " + options[i]);
            }
        }
        if (names.isEmpty()) {
            names.add(ClassNameFilter.STANDARD_INCLUDE_PATTERN);
        }
        names.addAll(selected);
        request.filters(ClassNameFilter.includeClassNamePatterns(names.toArray(String[]::new)));
        if (!included.isEmpty()) {
            request.filters(TagFilter.includeTags(included));
        }
        if (!excluded.isEmpty()) {
            request.filters(TagFilter.excludeTags(excluded));
        }
        launcher.execute(request.build());
        TestExecutionSummary end = summary.getSummary();
        end.printFailuresTo(out, 20);
        System.exit(end.getTestsFoundCount() > 0 && end.getTotalFailureCount() == 0 ? 0 : 1);
    }
}

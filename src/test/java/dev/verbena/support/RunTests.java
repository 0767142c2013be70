package dev.verbena.support;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClasspathRoots;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.ClassDescriptor;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.ClassOrdererContext;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.ClassNameFilter;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
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

    /** Orders the test classes by name, those that are {@link Last} at the end. */
    public static final class ByName implements ClassOrderer {
        @Override
        public void orderClasses(ClassOrdererContext context) {
            context.getClassDescriptors()
                    .sort(Comparator.<ClassDescriptor, Boolean>comparing(type -> type.isAnnotated(Last.class))
                            .thenComparing(type -> type.getTestClass().getName()));
        }

        /** Tests that run last, to find objects that other tests left open. */
        @Target(ElementType.TYPE)
        @Retention(RetentionPolicy.RUNTIME)
        public @interface Last {}
    }

    /**
     * Writes the result of each test as a line with four columns: passed, failed or skipped; the class; the name; and the reason, for
     * those that have not passed. A class that fails or is left out as a whole has a line for each of its tests. The file gets its name
     * when all tests have run: without it, the run ended early.
     */
    static final class Results implements TestExecutionListener {
        private static final int LONGEST = 300;

        private final Path file;
        private final Path unfinished;
        private final PrintWriter out;
        private final Set<String> written = new HashSet<>();
        private TestPlan plan;

        Results(Path folder) {
            file = folder.resolve("results");
            unfinished = folder.resolve("results.new");
            try {
                Files.createDirectories(folder);
                out = new PrintWriter(Files.newBufferedWriter(unfinished));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void testPlanExecutionStarted(TestPlan started) {
            plan = started;
        }

        @Override
        public void executionSkipped(TestIdentifier test, String reason) {
            writeAll("skipped", test, reason);
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            switch (result.getStatus()) {
                case SUCCESSFUL -> {
                    if (test.isTest()) {
                        write("passed", test, "");
                    }
                }
                case ABORTED -> writeAll("skipped", test, reason(result));
                case FAILED -> writeAll("failed", test, reason(result));
            }
        }

        @Override
        public void testPlanExecutionFinished(TestPlan finished) {
            out.close();
            if (out.checkError()) {
                return;
            }
            try {
                Files.move(unfinished, file, StandardCopyOption.REPLACE_EXISTING);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static String reason(TestExecutionResult result) {
            return result.getThrowable()
                    .map(thrown -> thrown.getMessage() == null ? thrown.toString() : thrown.getMessage())
                    .orElse("no reason");
        }

        /** Writes a test, or the tests of a class that have no result yet, or where there are none, the class itself. */
        private void writeAll(String result, TestIdentifier test, String reason) {
            if (test.isTest()) {
                write(result, test, reason);
                return;
            }
            long before = written.size();
            plan.getDescendants(test).stream()
                    .filter(each -> each.isTest() && !written.contains(each.getUniqueId()))
                    .forEach(each -> write(result, each, reason));
            if (written.size() == before) {
                write(result, test, reason);
            }
        }

        private void write(String result, TestIdentifier test, String reason) {
            written.add(test.getUniqueId());
            out.println(result + "\t" + Progress.classOf(test) + "\t" + name(test) + "\t" + oneLine(reason));
        }

        private static String oneLine(String text) {
            String line = text.strip().replaceAll("\\s+", " ");
            return line.substring(0, Math.min(LONGEST, line.length()));
        }

        /** Returns the method, with the name that is shown if that says more. */
        private static String name(TestIdentifier test) {
            String shown = oneLine(test.getDisplayName());
            return test.getSource()
                    .filter(MethodSource.class::isInstance)
                    .map(source -> ((MethodSource) source).getMethodName())
                    .filter(method -> !shown.startsWith(method + "("))
                    .map(method -> method + " " + shown)
                    .orElse(shown);
        }
    }
}

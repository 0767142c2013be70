package dev.verbena.support;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashSet;
import java.util.Set;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Writes the result of each test as a line with four columns: passed, failed or skipped; the class; the name; and the reason, for
 * those that have not passed. A class that fails or is left out as a whole has a line for each of its tests. The file gets its name
 * when all tests have run: without it, the run ended early.
 */
final class Results implements TestExecutionListener {
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

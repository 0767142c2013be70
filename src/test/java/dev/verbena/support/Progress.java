package dev.verbena.support;

import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Prints what {@code scripts/test} shows of a run, in lines that begin with two colons, because tests print too: each failed test
 * with its trace, the counts so far at most once a second, the counts of each finished test class with its seconds and those of the
 * processor, and the tests that are left out with the reason.
 * Enabled by {@code -Ddev.verbena.progress=true}.
 */
public final class Progress implements TestExecutionListener {
    private static final boolean SHOWN = Boolean.getBoolean("dev.verbena.progress");
    private static final long SECOND = 1_000_000_000;

    private static final class Sum {
        private final long since = System.nanoTime();
        private final long processor = processorTicks();
        private int passed;
        private int failed;
        private int skipped;
    }

    private final Map<String, Sum> sums = new HashMap<>();
    private final PrintStream out = System.out;
    private final Sum all = new Sum();
    private long shown = System.nanoTime();

    @Override
    public void executionStarted(TestIdentifier test) {
        if (SHOWN && isClass(test)) {
            sums.put(classOf(test), new Sum());
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        if (SHOWN) {
            out.println("::left out: " + name(test) + ": " + reason);
            sumOf(test).skipped++;
            all.skipped++;
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (!SHOWN) {
            return;
        }
        Sum sum = sumOf(test);
        switch (result.getStatus()) {
            case SUCCESSFUL -> {
                if (test.isTest()) {
                    sum.passed++;
                    all.passed++;
                }
            }
            case ABORTED -> {
                out.println("::left out: " + name(test) + ": "
                        + result.getThrowable().map(Throwable::getMessage).orElse("no reason"));
                sum.skipped++;
                all.skipped++;
            }
            case FAILED -> {
                out.println("::FAILED: " + name(test));
                result.getThrowable().ifPresent(this::printTrace);
                sum.failed++;
                all.failed++;
            }
        }
        if (isClass(test)) {
            print("class " + classOf(test), sums.getOrDefault(classOf(test), sum));
        }
        if (System.nanoTime() - shown > SECOND) {
            shown = System.nanoTime();
            print("count", all);
        }
    }

    @Override
    public void testPlanExecutionFinished(TestPlan plan) {
        if (SHOWN) {
            print("count", all);
        }
    }

    private void print(String what, Sum sum) {
        out.printf(
                Locale.ROOT,
                "::%s %d %d %d %.1f %.1f%n",
                what,
                sum.passed,
                sum.failed,
                sum.skipped,
                (System.nanoTime() - sum.since) / 1e9,
                (processorTicks() - sum.processor) / 100.0);
    }

    /** Returns the processor time of this process and of those that it started and that have ended, in hundredths of a second. */
    private static long processorTicks() {
        try {
            String stat = Files.readString(Path.of("/proc/self/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            long ticks = 0;
            for (int i = 11; i < 15; i++) { // utime, stime, cutime, cstime of proc(5)
                ticks += Long.parseLong(fields[i]);
            }
            return ticks;
        } catch (IOException e) {
            return 0; // no time, where a test has taken all open files
        }
    }

    private void printTrace(Throwable failure) {
        StringWriter trace = new StringWriter();
        failure.printStackTrace(new PrintWriter(trace));
        trace.toString().lines().forEach(line -> out.println("::|" + line));
    }

    private Sum sumOf(TestIdentifier test) {
        return sums.getOrDefault(classOf(test), new Sum());
    }

    private static boolean isClass(TestIdentifier test) {
        return test.getSource().filter(ClassSource.class::isInstance).isPresent();
    }

    /** Returns the name of the class of a test; empty for what has none. */
    static String classOf(TestIdentifier test) {
        return test.getSource()
                .map(source -> switch (source) {
                    case ClassSource type -> type.getClassName();
                    case MethodSource method -> method.getClassName();
                    default -> "";
                })
                .orElse("");
    }

    /** Returns the name of a test with its method, for parameterized tests. */
    private static String name(TestIdentifier test) {
        String method = test.getSource()
                .filter(MethodSource.class::isInstance)
                .map(MethodSource.class::cast)
                .map(source -> source.getClassName() + "." + source.getMethodName())
                .orElse("");
        return method + " " + test.getDisplayName();
    }
}

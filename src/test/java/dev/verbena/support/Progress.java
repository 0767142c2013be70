package dev.verbena.support;

import java.io.PrintStream;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * Prints a line for each finished test class, and each failed or skipped test with the reason. Enabled by
 * {@code -Ddev.verbena.progress=true}.
 */
public final class Progress implements TestExecutionListener {
    private static final boolean SHOWN = Boolean.getBoolean("dev.verbena.progress");

    private static final class Sum {
        private final long since = System.nanoTime();
        private int passed;
        private int failed;
        private int skipped;
    }

    private final Map<String, Sum> sums = new HashMap<>();
    private final PrintStream out = System.out;

    @Override
    public void executionStarted(TestIdentifier test) {
        if (SHOWN && isClass(test)) {
            sums.put(classOf(test), new Sum());
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        if (SHOWN) {
            out.println("  left out: " + name(test) + ": " + reason);
            Sum sum = sums.get(classOf(test));
            if (sum != null) {
                sum.skipped++;
            }
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (!SHOWN) {
            return;
        }
        Sum sum = sums.get(classOf(test));
        switch (result.getStatus()) {
            case SUCCESSFUL -> {
                if (test.isTest()) {
                    sum.passed++;
                }
            }
            case ABORTED -> {
                out.println("  left out: " + name(test) + ": "
                        + result.getThrowable().map(Throwable::getMessage).orElse("no reason"));
                sum.skipped++;
            }
            case FAILED -> {
                out.println("  FAILED: " + name(test));
                result.getThrowable().ifPresent(failure -> failure.printStackTrace(out));
                if (sum != null) {
                    sum.failed++;
                }
            }
        }
        if (isClass(test)) {
            out.printf(
                    "%s: %d passed, %d failed, %d skipped (%d s)%n",
                    test.getDisplayName(),
                    sum.passed,
                    sum.failed,
                    sum.skipped,
                    Duration.ofNanos(System.nanoTime() - sum.since).toSeconds());
        }
    }

    private static boolean isClass(TestIdentifier test) {
        return test.getSource().filter(ClassSource.class::isInstance).isPresent();
    }

    private static String classOf(TestIdentifier test) {
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

package dev.verbena.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestTag;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Ends the JVM when a test hangs, and prints the test and the stacks. An interrupt would not end a call in C, which is
 * the usual reason for a test to hang.
 */
public final class Watchdog implements TestExecutionListener {
    /** The property with the time limit of a test, in a JVM that a test starts for tests which take long. */
    public static final String SECONDS = "dev.verbena.watchdog.seconds";

    /** Time limit far beyond that of the slowest test on a slow emulator. */
    private static final Duration LIMIT = Duration.ofSeconds(Long.getLong(SECONDS, 540));

    /** Time limit of tests that take long on purpose. They have limits of their own for each wait. */
    private static final Duration LONG = Duration.ofHours(3);

    private static final List<TestTag> LONG_TAGS =
            Stream.of("long", "walk", "engine").map(TestTag::create).toList();

    private static final int HUNG = 70;
    private static final int FRAMES = 30;

    private record Running(String name, long since, Duration limit) {}

    private final Map<String, Running> running = new ConcurrentHashMap<>();

    @Override
    public void testPlanExecutionStarted(TestPlan plan) {
        Executors.newSingleThreadScheduledExecutor(
                        Thread.ofPlatform().name("watchdog").daemon().factory())
                .scheduleWithFixedDelay(this::watch, 1, 1, TimeUnit.SECONDS);
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (test.isTest()) {
            boolean takesLong = LONG_TAGS.stream().anyMatch(test.getTags()::contains);
            running.put(
                    test.getUniqueId(), new Running(test.getUniqueId(), System.nanoTime(), takesLong ? LONG : LIMIT));
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        running.remove(test.getUniqueId());
    }

    private void watch() {
        for (Running each : running.values()) {
            if (System.nanoTime() - each.since > each.limit.toNanos()) {
                bite(each);
            }
        }
    }

    private static void bite(Running test) {
        StringBuilder report = new StringBuilder();
        report.append("This test hangs, so the run ends here after ")
                .append(test.limit.toSeconds())
                .append(" s: ")
                .append(test.name)
                .append('\n');
        for (ThreadInfo thread : ManagementFactory.getThreadMXBean().dumpAllThreads(true, true)) {
            report.append('"').append(thread.getThreadName()).append("\" ").append(thread.getThreadState());
            if (thread.getLockName() != null) {
                report.append(" on ")
                        .append(thread.getLockName())
                        .append(", owned by ")
                        .append(thread.getLockOwnerName());
            }
            report.append('\n');
            Stream.of(thread.getStackTrace())
                    .limit(FRAMES)
                    .forEach(frame -> report.append("    at ").append(frame).append('\n'));
        }
        report.append(inTheKernel());
        System.out.println(report);
        System.out.flush();
        Runtime.getRuntime().halt(HUNG);
    }

    /** Returns the kernel stack of each thread of this process, if readable. */
    private static String inTheKernel() {
        StringBuilder text = new StringBuilder();
        try (Stream<Path> tasks = Files.list(Path.of("/proc/self/task"))) {
            for (Path task : tasks.toList()) {
                text.append(read(task.resolve("comm")).strip())
                        .append(": ")
                        .append(read(task.resolve("wchan")).strip())
                        .append('\n')
                        .append(read(task.resolve("stack")).indent(4));
            }
        } catch (IOException | UncheckedIOException e) {
            text.append(e).append('\n');
        }
        return text.toString();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return ""; // the thread has ended, or its stack is not readable
        }
    }
}

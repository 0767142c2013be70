package dev.verbena.mutate;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A {@link Worker} as {@link Mutate} sees it: a process that is given commands, and that may crash or hang. */
final class Minion implements AutoCloseable {
    /** An answer that stands for the end of the process. */
    static final String CRASHED = "crashed";

    /** An answer that stands for a test that has ended when it was interrupted. */
    static final String HUNG = "hung";

    /** An answer that stands for a test that does not end. */
    static final String ENDLESS = "hung for ever";

    private static final Duration AFTER_INTERRUPT = Duration.ofSeconds(2);

    private static final int STEP_MILLIS = 200;

    /** The number of processes so far: they are most of the price of a run. */
    static final AtomicInteger STARTED = new AtomicInteger();

    private final Process process;
    private final PrintStream commands;
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

    Minion(Setup setup) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-javaagent:" + setup.agent(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:-BytecodeVerificationRemote",
                "-Xmx768m",
                "-XX:-CreateCoredumpOnCrash",
                "-XX:ErrorFile=/dev/null",
                "-cp",
                System.getProperty("java.class.path"),
                Worker.class.getName(),
                setup.classes().toString(),
                setup.tests().toString()));
        if (Runtime.version().feature() >= 24) {
            command.add(2, "--illegal-native-access=deny");
        }
        Path library = setup.library();
        if (library != null) {
            command.addAll(
                    2,
                    List.of(
                            "-Ddev.verbena.libibverbs=" + library,
                            "-Ddev.verbena.librdmacm=" + library,
                            "-Ddev.verbena.fenced=true"));
        }
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
        if (library != null) {
            builder.environment().put("LD_PRELOAD", library.toString());
        }
        try {
            process = builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        STARTED.incrementAndGet();
        commands = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
        Thread.ofVirtual().name("answers").start(this::read);
    }

    private void read() {
        try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (line.startsWith(Worker.ANSWER)) { // C may write, too
                    answers.add(line.substring(Worker.ANSWER.length()));
                }
            }
        } catch (IOException e) {
            // the process has been ended
        }
        answers.add(CRASHED);
    }

    /** Gives a command and returns the answer, or null if none comes in time. */
    @Nullable
    String ask(String command, Duration limit) throws InterruptedException {
        tell(command);
        return answer(limit);
    }

    /**
     * Gives a command and returns the answer, or {@link #HUNG} if the process has slept or worked for too long. The time
     * that the process waits for a processor does not count.
     *
     * @param sleep the time that all threads may sleep
     * @param work the time of processors
     */
    String run(String command, Duration sleep, Duration work) throws InterruptedException {
        long worked = processorMillis();
        long slept = 0;
        tell(command);
        while (true) {
            String answer = answers.poll(STEP_MILLIS, TimeUnit.MILLISECONDS);
            if (answer != null) {
                return answer;
            }
            if (isAsleep()) {
                slept += STEP_MILLIS;
            }
            if (slept > sleep.toMillis() || processorMillis() - worked > work.toMillis()) {
                return ask("interrupt", AFTER_INTERRUPT) == null ? ENDLESS : HUNG;
            }
        }
    }

    private long processorMillis() {
        try {
            String[] part =
                    Files.readString(proc().resolve("stat")).split("\\) ")[1].split(" ");
            return 10 * (Long.parseLong(part[11]) + Long.parseLong(part[12])); // ticks of 10 ms
        } catch (IOException e) {
            return 0; // the process has ended, and the answer is on its way
        }
    }

    private boolean isAsleep() {
        try (Stream<Path> threads = Files.list(proc().resolve("task"))) {
            return threads.allMatch(Minion::isAsleep);
        } catch (IOException | UncheckedIOException e) {
            return true;
        }
    }

    private static boolean isAsleep(Path thread) {
        try {
            return Files.readString(thread.resolve("stat")).contains(") S ");
        } catch (IOException e) {
            return false; // it has just ended
        }
    }

    private Path proc() {
        return Path.of("/proc", Long.toString(process.pid()));
    }

    /** Gives a command. */
    void tell(String command) {
        commands.println(command);
    }

    /** Returns the next answer, or null if none comes in time. */
    @Nullable
    String answer(Duration limit) throws InterruptedException {
        return answers.poll(limit.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Ends the process and those that it has started. */
    @Override
    public void close() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        commands.close();
        try {
            process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

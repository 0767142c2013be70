package dev.verbena.mutate;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A {@link Worker} as {@link Mutate} sees it: a process that is given commands, and that may crash or hang. */
final class Minion implements AutoCloseable {
    /** An answer that stands for the end of the process. */
    static final String CRASHED = "crashed";

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
                "-Xshare:auto",
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
            command.addAll(2, List.of("-Ddev.verbena.libibverbs=" + library, "-Ddev.verbena.fenced=true"));
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

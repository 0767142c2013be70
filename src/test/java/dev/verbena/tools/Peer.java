package dev.verbena.tools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Loopback;
import dev.verbena.support.Resources;
import dev.verbena.tools.command.Tool;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/** One end of a test: a C tool in a process, or a Java tool in a thread of this process. Closing a peer ends it. */
public abstract class Peer implements AutoCloseable {
    /** Waits for the tool to end, and returns its exit status. */
    public abstract int status() throws Exception;

    /** Returns the output so far. */
    public abstract String output();

    /** Does the same as Ctrl-C. */
    public abstract void interrupt();

    /** Waits until the tool, a server, listens on a port of the connection manager. */
    public abstract void awaitListener(int port);

    @Override
    public abstract void close();

    public final Peer assertSucceeds() throws Exception {
        int status = status();
        assertThat(status).as(this + " printed:\n" + output()).isZero();
        return this;
    }

    public final void awaitOutput(String text) {
        Await.until("'" + text + "' of " + this, () -> output().contains(text));
    }

    /** Starts a command line with unbuffered output. */
    public static Process c(String commandLine) {
        return new Process(List.of(("stdbuf -oL " + commandLine).split(" ")));
    }

    /** Starts a Java tool in another JVM. */
    public static Process childJvm(String... words) {
        return new Process(Stream.concat(jvm().stream(), Stream.of(words)).toList());
    }

    /** Starts a Java tool in another JVM, on a terminal. */
    public static Process childJvmOnTerminal(String... words) {
        String command = String.join(" ", jvm()) + " " + String.join(" ", words);
        return new Process(List.of("script", "-qefc", command, "/dev/null"));
    }

    private static List<String> jvm() {
        List<String> command = new ArrayList<>(List.of(
                "env",
                "--default-signal=INT", // a run in the background may ignore it, which is inherited
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED"));
        ChildJvm.countStart();
        command.addAll(ChildJvm.quickOptions());
        command.addAll(ChildJvm.optionsOnClassPath());
        for (String library : List.of("dev.verbena.libibverbs", "dev.verbena.librdmacm")) {
            if (System.getProperty(library) != null) { // the provider for tests
                command.add("-D" + library + "=" + System.getProperty(library));
            }
        }
        command.addAll(List.of("-cp", ChildJvm.classPath(), Main.class.getName()));
        return command;
    }

    /** Starts a Java tool in this JVM. */
    public static Peer java(Tool.Body tool, String... arguments) {
        return new Task(out -> tool.run(arguments, out));
    }

    /** Starts a Java tool in this JVM by its name, with its error messages. */
    public static Peer java(String... words) {
        return new Task(out -> Main.PROGRAM.run(words, out, out));
    }

    public static final class Process extends Peer {
        private final List<String> command;
        private final java.lang.Process process;
        private final Path file;

        private Process(List<String> command) {
            this.command = command;
            try {
                file = Files.createTempFile("verbena", ".out");
                process = new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(file.toFile())
                        .start();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public int status() throws InterruptedException {
            if (!process.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
                throw new AssertionError(this + " does not end:\n" + output());
            }
            return process.exitValue();
        }

        @Override
        public String output() {
            try {
                return Files.readString(file);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void interrupt() {
            try {
                signal("INT");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Sends a signal, by the shell's own command: the program of this name is in a package that may be missing. */
        private java.lang.Process signal(String name) throws IOException {
            return new ProcessBuilder("sh", "-c", "kill -" + name + " " + process.pid())
                    .inheritIO()
                    .start();
        }

        /** Stops the process: it does nothing until it is killed. */
        public void stop() throws IOException, InterruptedException {
            signal("STOP").waitFor();
        }

        /**
         * Looks at the kernel's list when the program has opened the connection manager and is asleep, as a server is that
         * waits for requests: each look starts a process.
         */
        @Override
        public void awaitListener(int port) {
            Await.until("use of the connection manager by " + this, () -> {
                if (!isAlive()) {
                    throw new AssertionError(this + " has ended:\n" + output());
                }
                return hasOpen("/dev/infiniband/rdma_cm") && isAsleep();
            });
            Resources.awaitListener(port);
        }

        private boolean hasOpen(String file) {
            try (Stream<Path> descriptors = Files.list(Path.of("/proc", "" + process.pid(), "fd"))) {
                return descriptors.anyMatch(descriptor -> file.equals(target(descriptor)));
            } catch (IOException | UncheckedIOException ended) {
                return false;
            }
        }

        /** Tells whether the program's first thread sleeps in the kernel. */
        private boolean isAsleep() {
            try {
                String stat = Files.readString(Path.of("/proc", "" + process.pid(), "stat"));
                return stat.startsWith("S", stat.lastIndexOf(')') + 2);
            } catch (IOException ended) {
                return false;
            }
        }

        private static String target(Path descriptor) {
            try {
                return Files.readSymbolicLink(descriptor).toString();
            } catch (IOException closed) {
                return "";
            }
        }

        public boolean isAlive() {
            return process.isAlive();
        }

        /** Types on the tool's terminal. */
        public void type(char key) throws IOException {
            process.getOutputStream().write(key);
            process.getOutputStream().flush();
        }

        /** Kills the process as {@code kill -9} does. */
        public void kill() {
            process.destroyForcibly();
        }

        @Override
        public void close() {
            process.destroyForcibly();
            try {
                process.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
                Files.deleteIfExists(file);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public String toString() {
            return String.join(" ", command);
        }
    }

    private static final class Task extends Peer {
        private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
        private final CompletableFuture<Integer> result = new CompletableFuture<>();
        private final Thread thread;

        private interface Run {
            int into(PrintStream out) throws Exception;
        }

        private Task(Run run) {
            PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
            thread = Thread.ofPlatform().daemon().name("tool").start(() -> {
                try {
                    result.complete(run.into(out));
                } catch (Throwable t) {
                    result.completeExceptionally(t);
                }
            });
        }

        @Override
        public int status() throws Exception {
            try {
                return result.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
            } catch (TimeoutException e) {
                throw stuck();
            }
        }

        @Override
        public String output() {
            return printed.toString(StandardCharsets.UTF_8);
        }

        @Override
        public void interrupt() {
            thread.interrupt();
        }

        /** A server sleeps when it waits for requests, which it does when it listens. */
        @Override
        public void awaitListener(int port) {
            Await.until("a listener on port " + port, () -> {
                if (result.isDone()) {
                    Throwable why = result.isCompletedExceptionally() ? result.exceptionNow() : null;
                    throw new AssertionError("the server has ended:\n" + output(), why);
                }
                return Await.isAsleep(thread);
            });
        }

        @Override
        public void close() {
            interrupt();
            try {
                if (!thread.join(Loopback.DEADLINE)) {
                    throw stuck();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private AssertionError stuck() {
            AssertionError stuck = new AssertionError("the tool stands here, and has printed:\n" + output());
            stuck.setStackTrace(thread.getStackTrace());
            return stuck;
        }

        @Override
        public String toString() {
            return "tool in Java";
        }
    }
}

package dev.verbena.support;

import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/** Another JVM, to test the start of a process and its options. */
public final class ChildJvm {
    /** The option that denies native access to all modules not enabled by name. */
    public static final String DENY = Runtime.version().feature() >= 24
            ? "--illegal-native-access=deny"
            : "--enable-native-access=java.base"; // before 24, naming one module refuses all others

    private static final AtomicInteger STARTS = new AtomicInteger();

    private final List<String> command = new ArrayList<>();
    private boolean optimizing;
    private Duration deadline = Loopback.DEADLINE.multipliedBy(4);

    /** The result of a process, with standard output and error in one text. */
    public record Result(int status, String output) {
        /** Returns the output, and fails if the process failed. */
        public String successfulOutput() {
            if (status != 0) {
                throw new AssertionError("the child ended with status " + status + ": " + output);
            }
            return output;
        }
    }

    private ChildJvm(List<String> prefix) {
        command.addAll(prefix);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    }

    public static ChildJvm with(String... options) {
        return new ChildJvm(List.of()).option(options);
    }

    /** Uses the provider for tests as this JVM does, and denies other native access. */
    public static ChildJvm onTheProvider(String... options) {
        String provider = System.getProperty("dev.verbena.libibverbs");
        return with(DENY, "--enable-native-access=ALL-UNNAMED", "-Ddev.verbena.fenced=true")
                .option("-Ddev.verbena.libibverbs=" + provider, "-Ddev.verbena.librdmacm=" + provider)
                .option(options);
    }

    /** Starts the JVM by another command, such as {@code setpriv}. */
    public static ChildJvm startedBy(String... prefix) {
        return new ChildJvm(List.of(prefix));
    }

    public ChildJvm option(String... options) {
        command.addAll(List.of(options));
        return this;
    }

    /** Uses the optimizing compiler too. */
    public ChildJvm optimizing() {
        optimizing = true;
        return this;
    }

    /** Sets a time limit other than the default. */
    public ChildJvm deadline(Duration longest) {
        deadline = longest;
        return this;
    }

    /** Puts library and tests on the class path. */
    public Result runOnClassPath(Class<?> main, String... arguments) {
        command.addAll(optionsOnClassPath());
        return run(classPath(), main, arguments);
    }

    /** Uses the library as a module, and puts the tests on the class path. */
    public Result runOnModulePath(Class<?> main, String... arguments) {
        option("--module-path", place(dev.verbena.Rdma.class).toString(), "--add-modules", "dev.verbena");
        return run(place(main).toString(), main, arguments);
    }

    /** Starts the JVM with library and tests on the class path, and a pipe for its output. */
    public Process startOnClassPath(Class<?> main, String... arguments) throws IOException {
        command.addAll(optionsOnClassPath());
        quickly().option("-cp", classPath(), main.getName()).option(arguments);
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** Returns the class path with the classes as they were compiled. This JVM may run changed copies of them. */
    public static String classPath() {
        return System.getProperty("dev.verbena.child.classpath", System.getProperty("java.class.path"));
    }

    /** Returns how many JVMs tests have started. */
    public static int starts() {
        return STARTS.get();
    }

    /** Counts a JVM that a test starts by itself. */
    public static void countStart() {
        STARTS.incrementAndGet();
    }

    /** Returns the options for a JVM with {@link #classPath}, such as an archive of its classes. */
    public static List<String> optionsOnClassPath() {
        return options("dev.verbena.child.options");
    }

    /** Returns the options for a JVM that ends soon: it compiles with the faster compiler, and in a guest very little. */
    public static List<String> quickOptions() {
        List<String> options = new ArrayList<>(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        options.addAll(options("dev.verbena.child.compiler"));
        return options;
    }

    private static List<String> options(String property) {
        String options = System.getProperty(property, "");
        return options.isEmpty() ? List.of() : List.of(options.split(" "));
    }

    /** Returns the folder or archive with a class as it was compiled. */
    public static Path place(Class<?> type) {
        String name = type.getName().replace('.', '/') + ".class";
        return Stream.of(classPath().split(":"))
                .map(Path::of)
                .filter(place -> contains(place, name))
                .findFirst()
                .orElseThrow();
    }

    private static boolean contains(Path place, String name) {
        if (Files.isDirectory(place)) {
            return Files.exists(place.resolve(name));
        }
        try (JarFile jar = new JarFile(place.toFile())) {
            return jar.getEntry(name) != null;
        } catch (IOException e) {
            return false; // a class path may name what does not exist
        }
    }

    /** Starts the JVM with the options given so far and nothing else on its paths. */
    public Result runAlone(String... main) {
        return quickly().option(main).run();
    }

    private Result run(String classPath, Class<?> main, String... arguments) {
        return quickly()
                .option("-cp", classPath, main.getName())
                .option(arguments)
                .run();
    }

    private ChildJvm quickly() {
        assumeFalse(Boolean.getBoolean("dev.verbena.mutants"), "a mutant is in one JVM only");
        countStart();
        return optimizing ? option("-XX:+UseSerialGC") : option(quickOptions().toArray(String[]::new));
    }

    private Result run() {
        try {
            Path output = Files.createTempFile("verbena", ".out");
            try {
                Process process = new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
                boolean ended = process.waitFor(deadline.toSeconds(), TimeUnit.SECONDS);
                if (!ended) {
                    process.destroyForcibly().waitFor();
                }
                String text = Files.readString(output);
                if (!ended) {
                    throw new AssertionError("the child did not end: " + command + "\n" + text);
                }
                return new Result(process.exitValue(), text);
            } finally {
                Files.delete(output);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}

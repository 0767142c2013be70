package dev.verbena.mutate;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.management.ManagementFactory;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestTag;
import org.junit.platform.engine.discovery.ClassNameFilter;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * A JVM that runs tests for {@link Mutate}. It is its own agent: it puts probes or a mutant into the library's classes.
 * It reads a command from each line of its input, and answers with a line that begins with {@link #ANSWER}.
 */
public final class Worker implements ClassFileTransformer {
    static final String ANSWER = "@@";
    static final String PASSED = "passed";
    static final String FAILED = "failed";
    static final String INVALID = "invalid";
    static final String DONE = "done";

    private static final OperatingSystemMXBean PROCESS =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private static @Nullable Instrumentation jvm;

    private final Path classes;
    private final Path tests;
    private final PrintStream out;
    private final Launcher launcher = LauncherFactory.create(LauncherConfig.builder()
            .enableTestExecutionListenerAutoRegistration(false)
            .build());
    private volatile @Nullable Thread tester;
    private volatile boolean probes;
    private volatile @Nullable Mutant mutant;

    private Worker(Path classes, Path tests, PrintStream out) {
        this.classes = classes;
        this.tests = tests;
        this.out = out;
    }

    /** Keeps the means to change classes. */
    public static void premain(@Nullable String nothing, Instrumentation instrumentation) {
        jvm = instrumentation;
    }

    /**
     * Carries out commands until the input ends.
     *
     * @param arguments the folder of the classes with mutants, and that of the test classes
     */
    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Worker worker = new Worker(Path.of(arguments[0]), Path.of(arguments[1]), out);
        instrumentation().addTransformer(worker, true);
        ExecutorService tester = Executors.newSingleThreadExecutor(task -> {
            worker.tester = new Thread(task, "tests");
            return worker.tester;
        });
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            int space = line.indexOf(' ');
            String argument = line.substring(space + 1);
            switch (space < 0 ? line : line.substring(0, space)) {
                case "cover" -> worker.cover(argument.split("\t", 3));
                case "seed" -> worker.answer(worker.seed(Mutant.of(argument)));
                case "restore" -> worker.answer(worker.seed(null));
                case "run" -> tester.execute(() -> worker.answer(worker.run(argument)));
                case "fresh" -> tester.execute(() -> worker.answer(worker.runInNewLoader(argument)));
                case "interrupt" -> worker.interrupt();
                default -> throw new IllegalArgumentException(line);
            }
        }
        Runtime.getRuntime().halt(0); // a test may have left threads
    }

    private static Instrumentation instrumentation() {
        if (jvm == null) {
            throw new IllegalStateException("start the JVM with the agent");
        }
        return jvm;
    }

    private void answer(String text) {
        out.println(ANSWER + text.replace('\n', ' ').replace('\r', ' '));
    }

    private byte @Nullable [] classFile(String type) throws IOException {
        Path file = classes.resolve(type + ".class");
        return Files.exists(file) ? Files.readAllBytes(file) : null;
    }

    @Override
    public byte @Nullable [] transform(
            @Nullable ClassLoader loader,
            @Nullable String name,
            @Nullable Class<?> redefined,
            @Nullable ProtectionDomain domain,
            byte[] loaded) {
        if (name == null || !name.startsWith("dev/verbena/")) {
            return null;
        }
        Mutant seeded = mutant;
        try {
            if (seeded != null && seeded.type().equals(name)) {
                return Seeder.seed(loaded, seeded);
            }
            return probes && classFile(name) != null && !name.startsWith(Mutate.GENERATED) ? Probes.into(loaded) : null;
        } catch (Throwable failure) { // the JVM would swallow it and test the class without a bug
            answer(INVALID + "\t" + failure);
            Runtime.getRuntime().halt(1);
            throw new AssertionError(failure);
        }
    }

    /** Puts a mutant in place of the last one, or takes the last one back. */
    private String seed(@Nullable Mutant next) throws IOException {
        Mutant last = mutant;
        mutant = next;
        try {
            if (last != null) {
                reload(last.type());
            }
            if (next != null) {
                reload(next.type());
            }
            return DONE;
        } catch (UnmodifiableClassException | LinkageError failure) {
            return INVALID + "\t" + failure;
        }
    }

    private static void reload(String type) throws UnmodifiableClassException {
        String name = type.replace('/', '.');
        for (Class<?> each : instrumentation().getAllLoadedClasses()) {
            if (each.getName().equals(name) && !(each.getClassLoader() instanceof Again)) {
                instrumentation().retransformClasses(each);
            }
        }
    }

    /** Interrupts the test that runs, which ends most tests that hang. */
    private void interrupt() {
        Thread running = tester;
        if (running != null) {
            running.interrupt();
        }
    }

    /** Runs a test in classes of its own, whose static initializers run again. */
    private String runInNewLoader(String test) {
        Thread thread = Thread.currentThread();
        ClassLoader usual = thread.getContextClassLoader();
        try (Again loader = new Again(classes, tests)) {
            thread.setContextClassLoader(loader);
            return run(test);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            thread.setContextClassLoader(usual);
        }
    }

    /** Loads the classes of the library and its tests once more. */
    private static final class Again extends URLClassLoader {
        Again(Path classes, Path tests) throws IOException {
            super(new URL[] {classes.toUri().toURL(), tests.toUri().toURL()}, Again.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("dev.verbena.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded != null ? loaded : findClass(name);
            }
        }
    }

    /** Runs a test method with all its invocations, and returns the result and the time of processors. */
    private String run(String test) {
        Thread.interrupted(); // the last test may have ended just before it was interrupted
        long began = PROCESS.getProcessCpuTime();
        Failures failures = new Failures();
        launcher.execute(
                LauncherDiscoveryRequestBuilder.request()
                        .selectors(DiscoverySelectors.selectUniqueId(test))
                        .build(),
                failures);
        long millis = (PROCESS.getProcessCpuTime() - began) / 1_000_000;
        return failures.first == null ? PASSED + "\t" + millis : FAILED + "\t" + millis + "\t" + failures.first;
    }

    private static final class Failures implements TestExecutionListener {
        private @Nullable Throwable first;

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (result.getStatus() == TestExecutionResult.Status.FAILED && first == null) {
                first = result.getThrowable().orElseGet(() -> new AssertionError("no reason"));
            }
        }
    }

    /**
     * Runs tests, and answers with the lines that each of them covers.
     *
     * @param patterns patterns for the class names of the tests, for the tests that are left out, and for tests for a
     *     device that are run too
     */
    private void cover(String[] patterns) {
        probes = true;
        LauncherDiscoveryRequest all = LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectClasspathRoots(Set.of(tests)))
                .filters(
                        ClassNameFilter.includeClassNamePatterns(patterns[0]),
                        choosing(Pattern.compile(patterns[1]), Pattern.compile(patterns[2])),
                        TagFilter.excludeTags("slow", "long", "pair"))
                .build();
        launcher.execute(all, new Covering());
        Hits.numbers().forEach((key, number) -> answer("line\t" + number + "\t" + key));
        answer(DONE);
    }

    private static PostDiscoveryFilter choosing(Pattern leftOut, Pattern onDevice) {
        return test -> FilterResult.includedIf(test.getSource()
                .filter(MethodSource.class::isInstance)
                .map(MethodSource.class::cast)
                .map(method -> method.getClassName() + "." + method.getMethodName())
                .filter(name -> leftOut.matcher(name).matches()
                        || test.getTags().contains(TestTag.create("device"))
                                && !onDevice.matcher(name).matches())
                .isEmpty());
    }

    /** Takes the lines that have run at the begin and the end of each test. */
    private final class Covering implements TestExecutionListener {
        private final Map<String, Long> begun = new HashMap<>();
        private long processorTime;
        private BitSet ofClass = new BitSet();
        private @Nullable Throwable failure;
        private boolean skipped;

        @Override
        public void executionStarted(TestIdentifier test) {
            if (isClass(test)) {
                Hits.take();
                ofClass = new BitSet();
            } else if (isMethod(test)) {
                ofClass.or(Hits.take());
                failure = null;
                skipped = false;
                begun.put(test.getUniqueId(), System.nanoTime());
                processorTime = PROCESS.getProcessCpuTime();
            }
        }

        @Override
        public void executionSkipped(TestIdentifier test, String reason) {
            skipped = true;
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (result.getStatus() == TestExecutionResult.Status.FAILED) {
                failure = result.getThrowable().orElseGet(() -> new AssertionError("no reason"));
            }
            if (isMethod(test) && !skipped) {
                long nanos = System.nanoTime() - begun.getOrDefault(test.getUniqueId(), 0L);
                BitSet run = Hits.take();
                run.or(ofClass);
                answer(String.join(
                        "\t",
                        "test",
                        test.getUniqueId(),
                        Long.toString(nanos / 1_000_000),
                        Long.toString((PROCESS.getProcessCpuTime() - processorTime) / 1_000_000),
                        hexadecimal(run),
                        hexadecimal(Hits.takeOfInitializers()),
                        failure == null ? PASSED : FAILED + " " + failure));
            }
        }

        private static boolean isClass(TestIdentifier test) {
            return lastSegment(test).matches("(class|nested-class):.*");
        }

        private static boolean isMethod(TestIdentifier test) {
            return lastSegment(test).matches("(method|test-template|test-factory):.*");
        }

        private static String lastSegment(TestIdentifier test) {
            return test.getUniqueIdObject().getLastSegment().getType() + ":";
        }
    }

    private static String hexadecimal(BitSet bits) {
        return HexFormat.of().formatHex(bits.toByteArray());
    }
}

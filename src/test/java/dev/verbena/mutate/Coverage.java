package dev.verbena.mutate;

import java.io.IOException;
import java.io.InputStream;
import java.io.InvalidObjectException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The lines that each test covers.
 *
 * @param stamp a text that changes with the class files
 * @param tests the tests that passed
 * @param lines the number of each line in the tests' sets
 * @param problems the tests that are left out, with the reason
 */
record Coverage(String stamp, List<Test> tests, Map<String, Integer> lines, List<String> problems)
        implements Serializable {
    private static final long serialVersionUID = 1;

    /** A hang of all tests together. */
    private static final Duration LIMIT = Duration.ofMinutes(20);

    private static final long LONGEST_MILLIS = 2_500;
    private static final double LOADING_MILLIS = 250;

    /**
     * A test method.
     *
     * @param id the unique id of JUnit
     * @param millis the time that the test took
     * @param processorMillis the time of processors, which is the same on a busy machine
     * @param run the lines that the test ran
     * @param initialized the lines that static initializers ran during the test
     */
    record Test(String id, long millis, long processorMillis, BitSet run, BitSet initialized) implements Serializable {
        private static final long serialVersionUID = 1;

        /** Returns the price of a try: a test that is short and runs little is likely to fail for its own reason. */
        double price(long millis) {
            return (millis + 8.0) * Math.sqrt(run.cardinality() + 20.0);
        }

        /**
         * Returns the price of a try that loads all classes again, for a bug in a static initializer: a test that runs much
         * of the class is likely to use what its initializer makes.
         */
        double priceInNewClasses(long millis, BitSet ofClass) {
            BitSet used = (BitSet) run.clone();
            used.and(ofClass);
            return (millis + LOADING_MILLIS) / (1.0 + used.cardinality());
        }

        /** Returns the name of the class and the method. */
        String name() {
            return id.replaceAll("^.*\\[(?:class|nested-class):(?:[a-z]+\\.)*", "")
                    .replaceAll("\\]/\\[(method|test-template|test-factory):", ".")
                    .replaceAll("\\(.*", "");
        }
    }

    /** Runs all tests once, or returns the result of a former run if no class has changed. */
    static Coverage of(Setup setup, Path file) throws IOException, InterruptedException {
        Path library = setup.library();
        String stamp =
                setup + stamp(setup.classes()) + stamp(setup.tests()) + (library == null ? 0 : Files.size(library));
        if (Files.exists(file)) {
            try (InputStream in = Files.newInputStream(file);
                    ObjectInputStream objects = new ObjectInputStream(in)) {
                if (objects.readObject() instanceof Coverage known
                        && known.stamp().equals(stamp)) {
                    return known;
                }
            } catch (InvalidObjectException | ClassNotFoundException e) {
                // written by another version
            }
        }
        Coverage measured = measure(setup, stamp);
        try (ObjectOutputStream objects = new ObjectOutputStream(Files.newOutputStream(file))) {
            objects.writeObject(measured);
        }
        return measured;
    }

    private static String stamp(Path folder) throws IOException {
        long sum = 0;
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                sum = sum * 31 + file.hashCode()
                        ^ Files.getLastModifiedTime(file).toMillis() * 7 + Files.size(file);
            }
        }
        return Long.toHexString(sum);
    }

    private static Coverage measure(Setup setup, String stamp) throws InterruptedException {
        List<Test> tests = new ArrayList<>();
        List<String> problems = new ArrayList<>();
        Map<String, Integer> lines = new HashMap<>();
        try (Minion minion = new Minion(setup)) {
            minion.tell("cover " + String.join("\t", setup.chosen(), setup.leftOut(), setup.onDevice()));
            for (String answer = ""; !answer.equals(Worker.DONE); ) {
                answer = minion.answer(LIMIT);
                if (answer == null || answer.equals(Minion.CRASHED) || answer.startsWith(Worker.INVALID)) {
                    throw new IllegalStateException("the tests did not end without a mutant: " + answer);
                }
                String[] part = answer.split("\t", -1);
                if (part[0].equals("line")) {
                    lines.put(part[2], Integer.valueOf(part[1]));
                } else if (part[0].equals("test")) {
                    Test test = new Test(
                            part[1], Long.parseLong(part[2]), Long.parseLong(part[3]), bits(part[4]), bits(part[5]));
                    if (!part[6].equals(Worker.PASSED)) {
                        problems.add(test.name() + ": " + part[6]);
                    } else if (test.processorMillis() > LONGEST_MILLIS) {
                        problems.add(test.name() + ": takes " + test.processorMillis() + " ms");
                    } else {
                        tests.add(test);
                    }
                }
            }
        }
        tests.sort(Comparator.comparingDouble(test -> test.price(test.processorMillis())));
        return new Coverage(stamp, tests, lines, problems);
    }

    /** Returns the ids of all tests. */
    String names() {
        return tests.stream().map(Test::id).collect(Collectors.joining("|"));
    }

    private static BitSet bits(String hexadecimal) {
        return BitSet.valueOf(HexFormat.of().parseHex(hexadecimal));
    }

    /** Returns the tests that run the line of a mutant, the cheapest first. */
    List<Test> covering(Mutant mutant) {
        Integer line = lines.get(mutant.probe());
        return line == null
                ? List.of()
                : tests.stream().filter(test -> test.run().get(line)).toList();
    }

    /**
     * Returns tests that run any line of a mutant's class if its line runs in a static initializer, which happens once in
     * a JVM.
     */
    List<Test> coveringInitializer(Mutant mutant) {
        Integer line = lines.get(mutant.probe());
        if (line == null || tests.stream().noneMatch(test -> test.initialized().get(line))) {
            return List.of();
        }
        BitSet ofClass = linesOfClass(mutant);
        return tests.stream()
                .filter(test ->
                        test.run().intersects(ofClass) || test.initialized().get(line))
                .toList();
    }

    /** Returns the lines of a mutant's class. */
    BitSet linesOfClass(Mutant mutant) {
        BitSet ofClass = new BitSet();
        lines.forEach((key, number) -> {
            if (key.startsWith(mutant.type() + "#")) {
                ofClass.set(number);
            }
        });
        return ofClass;
    }
}

package dev.verbena.ledger;

import dev.verbena.ledger.CFunctions.CFunction;
import dev.verbena.ledger.Findings.Known;
import dev.verbena.ledger.Findings.Outcome;
import dev.verbena.ledger.JavaPlaces.Place;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The page that a test run leaves: each function of the headers, where it is in Java, and what came of calling it. */
final class Ledger {
    private static final List<String> GROUPS = List.of("core", "common", "advanced", "rare");
    private static final int MAX_TESTS = 4;
    private static final int LONGEST_REASON = 240;

    private final Findings findings;
    private final List<Place> places = JavaPlaces.all();
    private final Map<String, String> leftOut = CFunctions.leftOut();
    private final Map<String, String> calledInstead = CFunctions.related("as");
    private final Map<String, String> needed = CFunctions.related("needs");

    /** How a function's row ends. */
    private enum Kind {
        RAN("ran"),
        UNSUPPORTED("unsupported here"),
        REFUSED("refused"),
        UNTESTED("untested"),
        LEFT_OUT("left out"),
        MISSING("not in Java yet");

        private final String words;

        Kind(String words) {
            this.words = words;
        }
    }

    private record Result(Kind kind, String text) {}

    private Ledger(Findings findings) {
        this.findings = findings;
    }

    /** The program that writes the ledger: its arguments are the ledger, and the files with the findings of each run. */
    public static void main(String[] args) throws IOException, ClassNotFoundException {
        Findings all = new Findings();
        for (String file : List.of(args).subList(1, args.length)) {
            try (ObjectInputStream in = new ObjectInputStream(Files.newInputStream(Path.of(file)))) {
                all.add((Findings) in.readObject());
            }
        }
        Files.writeString(Path.of(args[0]), new Ledger(all).write());
    }

    private String write() {
        Map<String, List<CFunction>> headers = CFunctions.all().values().stream()
                .filter(function -> !function.name().startsWith("_"))
                .collect(Collectors.groupingBy(CFunction::header, LinkedHashMap::new, Collectors.toList()));
        StringBuilder page = new StringBuilder("# Ledger\n\nWritten by a test run ")
                .append(findings.where)
                .append(".\n\n")
                .append(findings.outcomes.entrySet().stream()
                        .map(entry -> entry.getValue() + " tests " + entry.getKey())
                        .collect(Collectors.joining(", ")))
                .append(".\n\n")
                .append(inShort(headers));
        headers.forEach((header, functions) -> {
            if (functions.stream()
                    .anyMatch(function -> !placesOf(function.name()).isEmpty())) {
                section(page, header, functions);
            }
        });
        twins(page);
        faults(page);
        leftOut(page);
        return page.toString();
    }

    private void section(StringBuilder page, String header, List<CFunction> functions) {
        page.append("\n## ")
                .append(header)
                .append("\n\n")
                .append("Inline wrappers of the same name count as one with what they wrap.\n\n");
        summary(page, functions);
        page.append("\n| function | group | Java | tests | result |\n|---|---|---|---|---|\n");
        for (CFunction function : functions) {
            Known known = findings.functions.getOrDefault(function.name(), new Known());
            row(
                    page,
                    '`' + function.name() + '`',
                    function.group(),
                    String.join(
                            ", ",
                            placesOf(function.name()).stream()
                                    .map(name -> '`' + name + '`')
                                    .toList()),
                    tests(known.tests),
                    result(function).text());
        }
    }

    private void summary(StringBuilder page, List<CFunction> functions) {
        page.append("| group | functions |");
        for (Kind kind : Kind.values()) {
            page.append(' ').append(kind.words).append(" |");
        }
        page.append("\n|---|---|").append("---|".repeat(Kind.values().length)).append('\n');
        GROUPS.forEach(group -> count(
                page,
                group,
                functions.stream().filter(f -> f.group().equals(group)).toList()));
        count(page, "all", functions);
    }

    private void count(StringBuilder page, String name, Collection<CFunction> functions) {
        if (functions.isEmpty()) {
            return;
        }
        Map<Kind, Long> kinds = functions.stream()
                .collect(Collectors.groupingBy(
                        function -> result(function).kind(), TreeMap::new, Collectors.counting()));
        page.append("| ").append(name).append(" | ").append(functions.size()).append(" |");
        for (Kind kind : Kind.values()) {
            page.append(' ').append(kinds.getOrDefault(kind, 0L)).append(" |");
        }
        page.append('\n');
    }

    private Result result(CFunction function) {
        String name = function.name();
        if (placesOf(name).isEmpty()) {
            String reason = leftOut.get(name);
            return reason == null
                    ? new Result(Kind.MISSING, Kind.MISSING.words)
                    : new Result(Kind.LEFT_OUT, Kind.LEFT_OUT.words + ": " + reason);
        }
        Known known = findings.functions.getOrDefault(name, new Known());
        if (known.ran) {
            return new Result(Kind.RAN, "ran");
        }
        if (known.computed) {
            return new Result(Kind.RAN, "ran (Java does it itself)");
        }
        String instead = calledInstead.get(name);
        if (instead != null && findings.functions.getOrDefault(instead, new Known()).ran) {
            return new Result(Kind.RAN, "ran, as `" + instead + '`');
        }
        if (known.refusal != null) {
            Kind kind = known.refusal.unsupported() ? Kind.UNSUPPORTED : Kind.REFUSED;
            return new Result(kind, kind.words + ": " + shortened(known.refusal.message()));
        }
        return without(needed.get(name));
    }

    /** The result of a function that was not called, perhaps because there was nothing to call it with. */
    private Result without(@Nullable String what) {
        for (String missing = what; missing != null; missing = needed.get(missing)) {
            Known known = findings.functions.get(missing);
            if (known != null && !known.ran && known.refusal != null && known.refusal.unsupported()) {
                return new Result(Kind.UNSUPPORTED, Kind.UNSUPPORTED.words + ", as `" + missing + "` is");
            }
        }
        return new Result(Kind.UNTESTED, Kind.UNTESTED.words);
    }

    private Set<String> placesOf(String function) {
        return places.stream()
                .filter(place -> place.functions().contains(function))
                .map(Place::name)
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private static String tests(Set<String> tests) {
        String first = tests.stream().limit(MAX_TESTS).collect(Collectors.joining(", "));
        return tests.size() <= MAX_TESTS ? first : first + " and " + (tests.size() - MAX_TESTS) + " more";
    }

    private void twins(StringBuilder page) {
        page.append(
                "\n## rdma-core's Python tests\n\nThose that pass on soft-RoCE with rdma-core 44, on an older or a newer "
                        + "kernel, and their twins in Java.\n\n| Python | Java | result |\n|---|---|---|\n");
        Set<String> tests = new TreeSet<>(PythonTests.passing());
        tests.addAll(findings.twins.keySet());
        for (String python : tests) {
            outcomes(page, python, findings.twins.getOrDefault(python, Map.of()).values());
        }
    }

    private void faults(StringBuilder page) {
        page.append("\n## Faults\n\nWhat was provoked on this machine.\n\n| fault | Java | result |\n|---|---|---|\n");
        Faults.all().forEach((name, fault) -> {
            if (fault.whyLeftOut().isEmpty()) {
                outcomes(
                        page,
                        fault.words(),
                        findings.faults.getOrDefault(name, Map.of()).values());
            } else {
                row(page, fault.words(), "", fault.whyLeftOut());
            }
        });
    }

    private static void outcomes(StringBuilder page, String what, Collection<Outcome> tests) {
        row(
                page,
                what,
                tests.stream().map(Outcome::test).collect(Collectors.joining(", ")),
                tests.isEmpty()
                        ? "not run here"
                        : tests.stream()
                                .map(test -> test.why().isEmpty()
                                        ? test.outcome()
                                        : test.outcome() + ": " + shortened(test.why()))
                                .distinct()
                                .collect(Collectors.joining("; ")));
    }

    /** What a page about the library can say of this run in two sentences. */
    private String inShort(Map<String, List<CFunction>> headers) {
        List<String> tests = PythonTests.passing();
        long passed = tests.stream()
                .filter(python -> findings.twins.getOrDefault(python, Map.of()).values().stream()
                        .anyMatch(twin -> twin.outcome().equals("passed")))
                .count();
        return CFunctions.HEADERS.stream()
                        .map(header -> inShort(header, headers.getOrDefault(header, List.of())))
                        .collect(Collectors.joining())
                + "Of the " + tests.size() + " tests of rdma-core's Python suite that pass on soft-RoCE " + passed
                + " have a twin that passed here.\n";
    }

    private String inShort(String header, Collection<CFunction> functions) {
        Map<Kind, Long> kinds = functions.stream()
                .collect(Collectors.groupingBy(
                        function -> result(function).kind(), TreeMap::new, Collectors.counting()));
        return "Of the " + functions.size() + " functions of " + header + " "
                + kinds.entrySet().stream()
                        .map(entry -> entry.getValue() + " " + entry.getKey().words)
                        .collect(Collectors.joining(", "))
                + ". ";
    }

    private void leftOut(StringBuilder page) {
        page.append("\n## Left out here\n\n| test | why |\n|---|---|\n");
        findings.leftOut.forEach((test, why) -> row(page, test, shortened(why)));
    }

    private static void row(StringBuilder page, String... cells) {
        page.append("| ").append(String.join(" | ", cells)).append(" |\n");
    }

    private static String shortened(@Nullable String reason) {
        String line = String.valueOf(reason)
                .replaceAll("\\s+", " ")
                .replace("|", "\\|")
                .strip();
        return line.length() <= LONGEST_REASON ? line : line.substring(0, LONGEST_REASON) + "...";
    }
}

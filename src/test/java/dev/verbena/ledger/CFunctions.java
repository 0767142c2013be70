package dev.verbena.ledger;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What rdma-core's headers declare ({@code verbs-surface.tsv}), and what of it has no place in Java on purpose. */
final class CFunctions {
    /** The headers that this library is for. */
    static final List<String> HEADERS = List.of("verbs.h", "rdma_cma.h", "rdma_verbs.h", "rsocket.h");

    /** The groups of which every function must have a place in Java. */
    static final Set<String> NEEDED = Set.of("core", "common", "advanced");

    /**
     * A function.
     *
     * @param header the header that declares it
     * @param name its name
     * @param since the rdma-core that brought it; empty for those older than 17
     * @param group core, common, advanced or rare
     */
    record CFunction(String header, String name, String since, String group) {
        boolean isNeeded() {
            return NEEDED.contains(group);
        }
    }

    private CFunctions() {}

    /** All functions, by name, in the headers' order. */
    static Map<String, CFunction> all() {
        Map<String, CFunction> all = new LinkedHashMap<>();
        for (String line : lines("/verbs-surface.tsv")) {
            String[] cells = line.split("\t", -1);
            if (!cells[0].equals("header")) {
                all.put(cells[1], new CFunction(cells[0], cells[1], cells[6], cells[10]));
            }
        }
        return all;
    }

    /** Returns the functions that have no place in Java, with the reason. */
    static Map<String, String> leftOut() {
        Map<String, String> reasons = new LinkedHashMap<>();
        for (String line : lines("/verbs-left-out.tsv")) {
            String[] cells = line.split("\t", -1);
            reasons.put(cells[0], cells[1]);
        }
        return reasons;
    }

    /** What functions have a relation to: {@code as}, {@code needs} or {@code within}. */
    static Map<String, String> related(String relation) {
        Map<String, String> related = new LinkedHashMap<>();
        for (String line : lines("/verbs-relations.tsv")) {
            String[] cells = line.split("\t", -1);
            if (cells[1].equals(relation)) {
                related.put(cells[0], cells[2]);
            }
        }
        return related;
    }

    /**
     * The name a programmer writes: some functions are the inner half of a macro or inline that has the same name
     * without underscores in front.
     */
    static String written(String name) {
        return name.replaceFirst("^_+", "");
    }

    static List<String> lines(String resource) {
        try (InputStream in = CFunctions.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException("There is no " + resource);
            }
            return new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))
                    .lines()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

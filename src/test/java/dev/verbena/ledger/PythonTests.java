package dev.verbena.ledger;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The Python tests of rdma-core ({@code pyverbs-on-rxe.tsv}), each of which has a twin here if it passes. */
final class PythonTests {
    private PythonTests() {}

    /** Returns all tests, and whether each passes on soft-RoCE with the older or the newer kernel. */
    static Map<String, Boolean> all() {
        Map<String, Boolean> all = new LinkedHashMap<>();
        for (String line : CFunctions.lines("/pyverbs-on-rxe.tsv")) {
            String[] cells = line.split("\t", -1);
            all.put(cells[0], cells[1].equals("ok") || cells[2].equals("ok"));
        }
        return all;
    }

    /** Returns the tests that must have a twin in Java. */
    static List<String> passing() {
        return all().entrySet().stream()
                .filter(Map.Entry::getValue)
                .map(Map.Entry::getKey)
                .toList();
    }
}

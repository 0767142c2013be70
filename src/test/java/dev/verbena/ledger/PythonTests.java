package dev.verbena.ledger;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** rdma-core's Python tests ({@code pyverbs-on-rxe.tsv}): the bar for this library. */
final class PythonTests {
    private PythonTests() {}

    /** All tests, and whether each passes on soft-RoCE, be it on the older or on the newer kernel. */
    static Map<String, Boolean> all() {
        Map<String, Boolean> all = new LinkedHashMap<>();
        for (String line : CFunctions.lines("/pyverbs-on-rxe.tsv")) {
            String[] cells = line.split("\t", -1);
            all.put(cells[0], cells[1].equals("ok") || cells[2].equals("ok"));
        }
        return all;
    }

    /** Those that must have a twin in Java. */
    static List<String> passing() {
        return all().entrySet().stream()
                .filter(Map.Entry::getValue)
                .map(Map.Entry::getKey)
                .toList();
    }
}

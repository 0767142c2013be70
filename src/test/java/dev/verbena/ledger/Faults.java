package dev.verbena.ledger;

import java.util.LinkedHashMap;
import java.util.Map;

/** What can go wrong on one machine ({@code faults.tsv}). */
final class Faults {
    /**
     * A fault.
     *
     * @param words what it is
     * @param whyLeftOut why no test provokes it; empty if one does
     */
    record Described(String words, String whyLeftOut) {}

    private Faults() {}

    /** All faults by name. */
    static Map<String, Described> all() {
        Map<String, Described> all = new LinkedHashMap<>();
        for (String line : CFunctions.lines("/faults.tsv")) {
            String[] cells = line.split("\t", -1);
            all.put(cells[0], new Described(cells[1], cells.length > 2 ? cells[2] : ""));
        }
        return all;
    }
}

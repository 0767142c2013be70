package dev.verbena.tools.node;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** A kind of trouble that the counters of a node report, the worst first. */
enum Hurt {
    LOST("reconnects", "the connection was lost, and made again", "verbena top says whether packets are lost"),
    NO_ROOM(
            "stalledNanos",
            "the peer has no room for messages: its program receives too slowly",
            "look at the handlers of the peer's node: verbena nodes on its machine"),
    FAULTS(
            "faults",
            "calls fail in the peer's program",
            "see why; its events dev.verbena.HandlerFailure have the line"),
    GIVEN_UP(
            "abandoned",
            "calls were given up before the peer has answered",
            "does the peer take longer than this side waits? Its handlers, or a longer timeout"),
    HANDLER("handlerFailures", "a handler of this side throws", "see why; dev.verbena.HandlerFailure has the line");

    /** The share of the time without room that hurts. */
    private static final double MOST_STALLED = 0.01;

    private final String counter;
    private final String meaning;
    private final String remedy;

    Hurt(String counter, String meaning, String remedy) {
        this.counter = counter;
        this.meaning = meaning;
        this.remedy = remedy;
    }

    String meaning() {
        return meaning;
    }

    String remedy() {
        return remedy;
    }

    /**
     * Returns how much of this trouble there is.
     *
     * @param changes the changes of the counters of a channel or a node
     * @param seconds the time in which they have changed
     * @return the text; empty if there is none
     */
    private Optional<String> in(Map<String, Long> changes, double seconds) {
        double rate = changes.getOrDefault(counter, 0L) / seconds;
        if (this != NO_ROOM) {
            return rate > 0 ? Optional.of(String.format(Locale.ROOT, "%.1f/s", rate)) : Optional.empty();
        }
        double share = rate / 1e9;
        return share > MOST_STALLED
                ? Optional.of(String.format(Locale.ROOT, "%.0f%% of the time", 100 * Math.min(1, share)))
                : Optional.empty();
    }

    /** Returns the troubles in the changes of the counters, with their amounts. */
    static Map<Hurt, String> all(Map<String, Long> changes, double seconds) {
        Map<Hurt, String> found = new TreeMap<>();
        for (Hurt each : values()) {
            each.in(changes, seconds).ifPresent(amount -> found.put(each, amount));
        }
        return found;
    }

    /** Returns the counters of troubles that there were before, but not now. */
    static Map<String, Long> before(Map<String, Long> counters, Map<Hurt, String> now) {
        Map<String, Long> old = new LinkedHashMap<>();
        for (Hurt each : values()) {
            long value = counters.getOrDefault(each.counter, 0L);
            if (value != 0 && !now.containsKey(each)) {
                old.put(each.counter, value);
            }
        }
        return old;
    }
}

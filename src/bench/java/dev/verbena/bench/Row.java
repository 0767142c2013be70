package dev.verbena.bench;

import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * A comparison, described once: what a turn of the loop in C, of Verbena's public API and of bare calls of
 * {@code java.lang.foreign} does. The first row is what a first program does.
 */
enum Row {
    PROGRAM("queue pair's call, one queue, 64 slices", "twin_slices", Change.CALL, 1, 64, Kind.ONE_QUEUE),
    SINGLE("request rebuilt: queue pair's call", "twin_rebuilt", Change.CALL, 1, 1),
    RANGE("request rebuilt: queue pair's call, a range", "twin_rebuilt", Change.CALL, 1, 1, Kind.RANGE),
    REBUILT("request rebuilt: batch of one", "twin_rebuilt", Change.REQUEST, 1, 1),
    POST_POLL("post + poll of one", "twin_post_poll", Change.ID, 1, 1),
    READ("RDMA read: post + poll of one", "twin_read", Change.ID, 1, 1, Kind.READ),
    BATCH_16_SLICES("batch of 16 rewritten, 64 slices", "twin_batch16_slices", Change.REQUEST, 16, 64),
    BATCH_16_ONE_QUEUE(
            "the same, one queue for both directions", "twin_batch16_slices", Change.REQUEST, 16, 64, Kind.ONE_QUEUE),
    BATCH_16_REBUILT("batch of 16 rewritten, one slice", "twin_batch16_rebuilt", Change.REQUEST, 16, 1),
    BATCH_16("batch of 16, ids only", "twin_batch16", Change.ID, 16, 1),
    RECEIVE("receive: post + poll of one", "twin_receive", Change.ID, 1, 1, Kind.RECEIVE),
    EMPTY_POLL("empty poll", "twin_empty", Change.NOTHING, 1, 1),
    TWO_DRIVERS("two drivers: post + poll of one", "twin_both_post_poll", POST_POLL),
    TWO_DRIVERS_SINGLE("two drivers: queue pair's call", "twin_both_rebuilt", SINGLE),
    TWO_DRIVERS_EMPTY_POLL("two drivers: empty poll", "twin_both_empty", EMPTY_POLL),
    EXTENDED_QUEUE(
            "extended completion queue: post + poll", "twin_extended_poll", Change.ID, 1, 1, Kind.EXTENDED_QUEUE),
    EXTENDED_PAIR(
            "extended queue pair: queue pair's call", "twin_extended_post", Change.CALL, 1, 1, Kind.EXTENDED_PAIR),
    EXTENDED_BATCH("extended queue pair: batch of one", "twin_extended_post", Change.REQUEST, 1, 1, Kind.EXTENDED_PAIR),
    POST("post of one", "twin_post_poll", Change.ID, 1, 1, Kind.POSTS_ONLY),
    POLL("poll of one", "twin_post_poll", Change.ID, 1, 1, Kind.POLLS_ONLY),
    INLINE("post + poll of one, 32 bytes inline", "twin_post_poll", Change.ID, 1, 1, Kind.INLINE),
    STEADY_1("post + poll, one under way", "twin_post_poll", Change.ID, 1, 1, Kind.STEADY),
    STEADY_64("post + poll, 64 under way", "twin_steady64", Change.ID, 1, 1, Kind.STEADY);

    /** What a turn writes before it posts. */
    enum Change {
        /** Nothing, and nothing is posted. */
        NOTHING,
        /** New ids of requests that stay. */
        ID,
        /** All of its requests. */
        REQUEST,
        /** One request, by a call that posts it too. */
        CALL
    }

    /** A property of a row. The twin in C has the first five as bits, in the same order. */
    enum Kind {
        EXTENDED_QUEUE,
        EXTENDED_PAIR,
        /** Sends and receives complete in one queue. */
        ONE_QUEUE,
        /** Two devices with drivers of their own are used by turns. */
        TWO_DRIVERS,
        /** Requests have their data in them. */
        INLINE,
        READ,
        RECEIVE,
        /** A range of a region is posted, without a slice. */
        RANGE,
        /** Only posts, or polls, are measured. */
        POSTS_ONLY,
        POLLS_ONLY,
        /** The adapter works meanwhile, on another processor. */
        STEADY
    }

    private final String label;
    private final String function;
    private final Change change;
    private final int size;
    private final int slices;
    private final Set<Kind> kinds = EnumSet.noneOf(Kind.class);
    private final Row base;

    /** Takes the loop in C, what is written, the number of requests of a turn, and that of the pieces of memory. */
    Row(String label, String function, Change change, int size, int slices, Kind... kinds) {
        this.label = label;
        this.function = function;
        this.change = change;
        this.size = size;
        this.slices = slices;
        this.kinds.addAll(Set.of(kinds));
        this.base = this;
    }

    /** Takes a row whose work is done on two drivers by turns. */
    Row(String label, String function, Row base) {
        this.label = label;
        this.function = function;
        this.change = base.change;
        this.size = base.size;
        this.slices = base.slices;
        this.kinds.add(Kind.TWO_DRIVERS);
        this.base = base;
    }

    String label() {
        return label;
    }

    /** Returns the name of the loop in C. */
    String function() {
        return function;
    }

    Change change() {
        return change;
    }

    /** Returns the number of requests of a turn. */
    int size() {
        return size;
    }

    /** Returns the number of pieces of memory that are used by turns. */
    int slices() {
        return slices;
    }

    boolean is(Kind kind) {
        return kinds.contains(kind);
    }

    /** Returns the row with one driver, for a row with two; or this row. */
    Row base() {
        return base;
    }

    /** Returns the kinds for the twin in C. */
    int kinds() {
        int bits = 0;
        for (Kind kind : kinds) {
            bits |= 1 << kind.ordinal();
        }
        return bits;
    }

    /** Returns the name in results. */
    String key() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static Optional<Row> of(String key) {
        for (Row row : values()) {
            if (row.key().equals(key)) {
                return Optional.of(row);
            }
        }
        return Optional.empty();
    }
}

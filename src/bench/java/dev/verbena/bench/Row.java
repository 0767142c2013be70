package dev.verbena.bench;

import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.QueuePairOptions;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A comparison: a loop in C, and the same work through Verbena's public API and by bare calls of
 * {@code java.lang.foreign}. The first row is what a first program does.
 */
enum Row {
    PROGRAM("queue pair's call, one queue, 64 slices", "twin_slices", 1, Loops::slices, Bare::slices, Kind.ONE_QUEUE),
    SINGLE("request rebuilt: queue pair's call", "twin_rebuilt", 1, Loops::single, Bare::rebuilt),
    REBUILT("request rebuilt: batch of one", "twin_rebuilt", 1, Loops::rebuilt, Bare::rebuilt),
    POST_POLL("post + poll of one", "twin_post_poll", 1, Loops::standing, Bare::standing),
    READ("RDMA read: post + poll of one", "twin_read", 1, Loops::reads, Bare::reads),
    BATCH_16_SLICES(
            "batch of 16 rewritten, 64 slices", "twin_batch16_slices", 16, Loops::batch16Slices, Bare::batch16Slices),
    BATCH_16_ONE_QUEUE(
            "the same, one queue for both directions",
            "twin_batch16_slices",
            16,
            Loops::batch16Slices,
            Bare::batch16Slices,
            Kind.ONE_QUEUE),
    BATCH_16_REBUILT(
            "batch of 16 rewritten, one slice",
            "twin_batch16_rebuilt",
            16,
            Loops::batch16Rebuilt,
            Bare::batch16Rebuilt),
    BATCH_16("batch of 16, ids only", "twin_batch16", 16, Loops::batch16, Bare::batch16),
    BATCH_64("batch of 64, ids only", "twin_batch64", 64, Loops::batch64, Bare::batch64),
    RECEIVE("receive: post + poll of one", "twin_receive", 1, Loops::receive, Bare::receive),
    EMPTY_POLL("empty poll", "twin_empty", 1, Loops::emptyPoll, Bare::emptyPoll),
    EXTENDED_QUEUE(
            "extended completion queue: post + poll",
            "twin_extended_poll",
            1,
            Loops::extendedQueue,
            Bare::extendedQueue,
            Kind.EXTENDED_QUEUE),
    EXTENDED_PAIR(
            "extended queue pair: queue pair's call",
            "twin_extended_post",
            1,
            Loops::single,
            Bare::extendedPair,
            Kind.EXTENDED_PAIR),
    EXTENDED_BATCH(
            "extended queue pair: batch of one",
            "twin_extended_post",
            1,
            Loops::rebuilt,
            Bare::extendedPair,
            Kind.EXTENDED_PAIR),
    CALLBACK("batch of 16, completions to callbacks", "twin_batch16", 16, Loops::callbacks, Bare::callbacks),
    RECORDS("batch of 16, completions as kept records", "twin_batch16", 16, Loops::records, Bare::records);

    /** What is special about a row's queues. The twin in C has the same bits, in the same order. */
    private enum Kind {
        EXTENDED_QUEUE,
        EXTENDED_PAIR,
        ONE_QUEUE
    }

    private final String label;
    private final String function;
    private final int size;
    private final Function<Loops, Work> work;
    private final Supplier<Work> bare;
    private final Set<Kind> kinds = EnumSet.noneOf(Kind.class);

    /** Takes the loop in C, the number of operations of a turn, the work, and that of bare calls. */
    Row(String label, String function, int size, Function<Loops, Work> work, Supplier<Work> bare, Kind... kinds) {
        this.label = label;
        this.function = function;
        this.size = size;
        this.work = work;
        this.bare = bare;
        this.kinds.addAll(Set.of(kinds));
    }

    String label() {
        return label;
    }

    /** Returns the name of the loop in C. */
    String function() {
        return function;
    }

    /** Returns the number of operations of a turn. */
    int size() {
        return size;
    }

    /** Returns the work through the public API. */
    Work work(Loops loops) {
        return work.apply(loops);
    }

    /** Returns the work by bare calls on the queues of a twin in C. Its own loops must not run meanwhile. */
    Work work(Twin twin) {
        Bare.use(twin);
        return bare.get();
    }

    /** Returns the options of this row's completion queue. */
    CompletionQueueOptions of(CompletionQueueOptions plain) {
        return kinds.contains(Kind.EXTENDED_QUEUE) ? plain.fields(CompletionField.BYTE_LENGTH) : plain;
    }

    /** Returns the options of this row's queue pair. */
    QueuePairOptions of(QueuePairOptions plain) {
        return kinds.contains(Kind.EXTENDED_PAIR)
                ? plain.operations(QueuePairOptions.OfferedOperation.RDMA_WRITE)
                : plain;
    }

    /** Returns whether sends and receives complete in one queue. */
    boolean oneQueue() {
        return kinds.contains(Kind.ONE_QUEUE);
    }

    /** Returns the kinds of queues for the twin in C. */
    int kinds() {
        int bits = 0;
        for (Kind kind : kinds) {
            bits |= 1 << kind.ordinal();
        }
        return bits;
    }

    /** Tells whether the loop makes objects, and so allocates. */
    boolean allocates() {
        return this == RECORDS;
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

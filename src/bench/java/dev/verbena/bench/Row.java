package dev.verbena.bench;

import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.SendOperation;
import java.util.Locale;
import java.util.Optional;

/** A comparison: a loop in C and the same loop through Verbena's public API. */
enum Row {
    POST_POLL("post + poll of one", "twin_post_poll", Loops::postAndPoll),
    READ("RDMA read: post + poll of one", "twin_read", Loops::reads),
    SINGLE("request rebuilt: queue pair's call", "twin_rebuilt", Loops::single),
    REBUILT("request rebuilt: batch of one", "twin_rebuilt", Loops::rebuilt),
    BATCH_16("batch of 16, per request", "twin_batch16", Loops::batch16),
    BATCH_64("batch of 64, per request", "twin_batch64", Loops::batch64),
    BATCH_16_REBUILT("batch of 16 rebuilt, per request", "twin_batch16_rebuilt", Loops::batch16Rebuilt),
    RECEIVE("receive: post + poll of one", "twin_receive", Loops::receive),
    EMPTY_POLL("empty poll", "twin_empty", Loops::emptyPoll),
    EXTENDED_QUEUE("extended completion queue: post + poll", "twin_extended_poll", Loops::extendedQueue) {
        @Override
        CompletionQueueOptions of(CompletionQueueOptions plain) {
            return plain.fields(CompletionField.BYTE_LENGTH);
        }
    },
    EXTENDED_PAIR("extended queue pair: post + poll", "twin_extended_post", Loops::extendedPair) {
        @Override
        QueuePairOptions of(QueuePairOptions plain) {
            return plain.operations(SendOperation.RDMA_WRITE);
        }
    },
    CALLBACK("batch of 16, completions to callbacks", "twin_batch16", Loops::callbacks),
    RECORDS("batch of 16, completions as kept records", "twin_batch16", Loops::records);

    private final String label;
    private final String function;
    private final Loop loop;

    /** Runs one round of operations and returns the number of errors. */
    @FunctionalInterface
    interface Loop {
        long run(Loops on, int operations);
    }

    Row(String label, String function, Loop loop) {
        this.label = label;
        this.function = function;
        this.loop = loop;
    }

    String label() {
        return label;
    }

    /** Returns the name of the loop in C. */
    String function() {
        return function;
    }

    long run(Loops on, int operations) {
        return loop.run(on, operations);
    }

    /** Returns the options of this row's completion queue. */
    CompletionQueueOptions of(CompletionQueueOptions plain) {
        return plain;
    }

    /** Returns the options of this row's queue pair. */
    QueuePairOptions of(QueuePairOptions plain) {
        return plain;
    }

    /** Returns the kind of queues for the twin in C. */
    int extended() {
        return this == EXTENDED_QUEUE ? 1 : this == EXTENDED_PAIR ? 2 : 0;
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

package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.OPERATIONS;
import static dev.verbena.verbs.QueuePairOptions.TSO_HEADER;
import static dev.verbena.verbs.QueuePairOptions.TYPE;

import java.util.EnumSet;

/** The operations that may be posted to one queue pair, by its transport and its options. Values are immutable. */
final class AllowedOperations {
    private final QueuePair queuePair;
    private final int codes;

    private AllowedOperations(QueuePair queuePair, int codes) {
        this.queuePair = queuePair;
        this.codes = codes;
    }

    static AllowedOperations of(QueuePairOptions options, QueuePair queuePair) {
        return new AllowedOperations(queuePair, codes(options));
    }

    /** Returns the operations that a queue pair with these options allows, a bit for each code. */
    static int codes(QueuePairOptions options) {
        EnumSet<Operation> operations = EnumSet.noneOf(Operation.class);
        for (Operation operation : Operation.values()) {
            if (OPERATIONS.of(options).isEmpty() && operation.isOf(TYPE.of(options))) {
                operations.add(operation);
            }
        }
        for (QueuePairOptions.OfferedOperation asked : OPERATIONS.of(options)) {
            operations.add(asked.operation());
            // A request begins without immediate data or a key. ExtendedSends checks again what it has become.
            operations.add(asked.operation().plain());
        }
        if (TSO_HEADER.of(options) > 0) {
            operations.add(Operation.TSO);
        }
        int codes = 0;
        for (Operation operation : operations) {
            codes |= 1 << operation.code();
        }
        return codes;
    }

    /** Returns the allowed operations, a bit for each code. */
    int codes() {
        return codes;
    }

    /**
     * Checks that an operation may be posted.
     *
     * @throws IllegalStateException if not
     */
    void check(Operation operation) {
        if ((codes & 1 << operation.code()) == 0) {
            throw refusal(operation);
        }
    }

    /** Returns the exception for an operation that may not be posted. */
    IllegalStateException refusal(Operation operation) {
        QueuePairOptions options = queuePair.options;
        return new IllegalStateException(
                OPERATIONS.of(options).isEmpty()
                        ? TYPE.of(options) + " has no " + operation + ": " + queuePair
                        : queuePair + " was made without " + operation + ": name it in QueuePairOptions.operations()");
    }
}

package dev.verbena.walk;

import dev.verbena.verbs.Operation;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import org.jspecify.annotations.Nullable;

/** A completion of the model. */
record Done(
        long id,
        WorkStatus status,
        WorkCompletion.Opcode opcode,
        long length,
        Node.PairNode pair,
        int source,
        @Nullable Integer immediate,
        Request request,
        int epoch) {
    Operation operation() {
        return request.operation;
    }

    /** Returns the number of requests that were posted to the queue after this one. */
    int younger() {
        return (request.operation == Operation.RECEIVE ? pair.receives().posted : pair.postedSends) - request.serial;
    }

    /** Returns the depth of the queue. */
    int depth() {
        return request.operation == Operation.RECEIVE ? pair.receives().depth : pair.sendDepth;
    }

    @Override
    public String toString() {
        return "#" + id + " " + operation() + " on " + pair + ": " + status + ", " + length + " bytes";
    }
}

package dev.verbena.net;

import dev.verbena.internal.BiasedLock;
import dev.verbena.internal.Waiters;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The reads, writes and atomics of a channel on the peer's memory. An operation has a ticket, which is its number and a
 * generation. The channel's lock guards all fields. Methods for the program take it; all others are called under it.
 */
final class Operations {
    /** Marks the number of an operation in a request's id and in a ticket. */
    static final int MARK = 0x4000;

    /** The rate of a wire that is not dead. */
    private static final long SLOWEST_BYTES_PER_SECOND = 4 << 20;

    /** The kinds of operations. */
    enum Kind {
        READ,
        WRITE,
        FETCH_AND_ADD,
        COMPARE_AND_SWAP;

        /** Returns true if the operation changes a number of 8 bytes. */
        boolean isAtomic() {
            return this == FETCH_AND_ADD || this == COMPARE_AND_SWAP;
        }
    }

    /** An operation, which is used again and again. */
    static final class Operation extends Numbers.Numbered {
        private enum State {
            FREE,
            POSTED,
            DONE,
            /** The program has given up: the number is free when the adapter is done. */
            FORGOTTEN
        }

        final Waiters done = new Waiters();

        private State state = State.FREE;
        private boolean atomic;
        private long bytes;

        /** The future of the result; null if a thread or a program that polls takes it. */
        private @Nullable Promise promise;

        private Operation(int number) {
            super(number, MARK);
        }
    }

    /** The work of a future: takes the result of an operation. */
    private final class Promise implements ChannelFuture.Work<Long> {
        private final Operation operation;
        private final ChannelFuture<Long> future;

        private Promise(Operation operation) {
            this.operation = operation;
            this.future = new ChannelFuture<>(engine, this);
        }

        @Override
        public @Nullable Long take() {
            try (var _ = lock.held()) {
                if (operation.promise != this) {
                    return null; // it is over
                }
                core.checkNotClosed();
                return takeLocked(operation);
            }
        }

        @Override
        public void giveUp() {
            try (var _ = lock.held()) {
                if (operation.promise == this) {
                    forget(operation);
                }
            }
        }
    }

    /** Waits for room for one more operation. */
    final Waiters room = new Waiters();

    private final ChannelCore core;
    private final Engine engine;
    private final BiasedLock lock;
    private final Numbers<Operation> numbers = new Numbers<>(MARK, Operation::new);
    private long bytesUnderWay;

    Operations(ChannelCore core, Engine engine, BiasedLock lock) {
        this.core = core;
        this.engine = engine;
        this.lock = lock;
        numbers.begin(engine.options().operations());
    }

    // Posting: the ticket is 0 if as many operations as may be are under way

    long tryRead(LocalMemory into, RemoteMemory from) {
        return post(Kind.READ, Objects.requireNonNull(into, "into"), from, 0, 0);
    }

    long tryWrite(LocalMemory data, RemoteMemory to) {
        return post(Kind.WRITE, Objects.requireNonNull(data, "data"), to, 0, 0);
    }

    long tryFetchAndAdd(RemoteMemory at, long value) {
        return post(Kind.FETCH_AND_ADD, null, at, value, 0);
    }

    long tryCompareAndSwap(RemoteMemory at, long expected, long value) {
        return post(Kind.COMPARE_AND_SWAP, null, at, expected, value);
    }

    /** Posts an operation. The result of an atomic goes to memory of the channel's own. */
    private long post(Kind kind, @Nullable LocalMemory local, RemoteMemory remote, long first, long second) {
        try (var _ = lock.held()) {
            Link on = core.checkCanSend();
            Operation next = next();
            if (next == null) {
                return 0;
            }
            LocalMemory memory = local == null ? on.result(next.number) : local;
            on.post(kind, id(next), memory, remote, first, second);
            return posted(next, local == null, memory.length());
        }
    }

    private @Nullable Operation next() {
        if (numbers.size() == 0) {
            throw new IllegalStateException(
                    "The " + core.channel() + " has no operations: see NodeOptions.operations()");
        }
        return numbers.next();
    }

    private long id(Operation operation) {
        return core.key() | MARK | operation.number;
    }

    private long posted(Operation operation, boolean atomic, long bytes) {
        numbers.take(operation);
        operation.state = Operation.State.POSTED;
        operation.atomic = atomic;
        operation.bytes = bytes;
        bytesUnderWay += bytes;
        core.transmitted();
        return operation.ticket();
    }

    // Completions

    /** Notes that an operation has succeeded. */
    void completed(int number) {
        Operation operation = numbers.at(number);
        if (operation == null) {
            return;
        }
        bytesUnderWay -= operation.bytes;
        if (operation.state == Operation.State.FORGOTTEN) {
            free(operation);
        } else {
            operation.state = Operation.State.DONE;
            engine.wake(operation.done);
            finish(operation);
        }
    }

    private void finish(Operation operation) {
        Promise promise = operation.promise;
        if (promise != null) {
            engine.finish(promise.future);
        }
    }

    private void free(Operation operation) {
        operation.state = Operation.State.FREE;
        operation.promise = null;
        numbers.free(operation);
        engine.wake(room);
    }

    void wakeAll() {
        room.wakeAll();
        for (Operation operation : numbers.made()) {
            operation.done.wakeAll();
            finish(operation);
        }
    }

    /** Returns the time that the adapter may need for what is under way, of which it tells nothing before the end. */
    long workNanos() {
        return bytesUnderWay / SLOWEST_BYTES_PER_SECOND * 1_000_000_000L;
    }

    // Tickets

    /** Returns the operation of a ticket that has not ended. */
    Operation find(long ticket) {
        try (var _ = lock.held()) {
            return findLocked(ticket);
        }
    }

    private Operation findLocked(long ticket) {
        core.checkNotClosed();
        Operation operation = numbers.find(ticket);
        if (operation == null
                || operation.promise != null
                || (operation.state != Operation.State.POSTED && operation.state != Operation.State.DONE)) {
            throw new IllegalArgumentException("No operation of the " + core.channel() + " has the ticket " + ticket);
        }
        return operation;
    }

    boolean isDone(long ticket) {
        try (var _ = lock.held()) {
            Operation operation = findLocked(ticket);
            if (operation.state == Operation.State.DONE) {
                return true;
            }
            core.checkNotEnded();
            return false;
        }
    }

    /** Returns a future of an operation's result, and ends the ticket. */
    CompletableFuture<Long> future(long ticket) {
        Promise promise;
        try (var _ = lock.held()) {
            Operation operation = findLocked(ticket);
            promise = new Promise(operation);
            operation.promise = promise;
            operation.done.wakeAll(); // the ticket has ended for threads that wait
        }
        promise.future.settle(); // it may have ended already
        return promise.future;
    }

    /** Takes the result of an operation, and ends its ticket; null if it is under way. */
    @Nullable
    Long tryTake(long ticket) {
        try (var _ = lock.held()) {
            return takeLocked(findLocked(ticket));
        }
    }

    private @Nullable Long takeLocked(Operation operation) {
        Link on = core.link();
        if (on == null || operation.state != Operation.State.DONE) {
            core.checkNotEnded();
            return null;
        }
        Long result = operation.atomic ? on.fetched(operation.number) : 0L;
        free(operation);
        return result;
    }

    /** Gives up an operation, whose memory the adapter may still use. */
    void forget(long ticket) {
        try (var _ = lock.held()) {
            Operation operation = numbers.find(ticket);
            if (operation != null && operation.promise == null) {
                forget(operation);
            }
        }
    }

    private void forget(Operation operation) {
        operation.promise = null;
        if (operation.state == Operation.State.DONE) {
            free(operation);
        } else if (operation.state == Operation.State.POSTED) {
            operation.state = Operation.State.FORGOTTEN;
        }
    }
}

package dev.verbena.net;

import dev.verbena.internal.BiasedLock;
import dev.verbena.internal.Waiters;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The reads, writes and atomics of a channel on the peer's memory. An operation has a ticket, which is its number and a
 * generation. The channel's lock guards all fields. Methods for the program take it; all others are called under it.
 */
final class Operations {
    /** Marks the number of an operation in a request's id and in a ticket. */
    static final int MARK = 0x4000;

    /** An operation, which is used again and again. */
    static final class Operation {
        private enum State {
            FREE,
            POSTED,
            DONE,
            /** The program has given up: the number is free when the adapter is done. */
            FORGOTTEN
        }

        final int number;
        final Waiters done = new Waiters();

        /** Takes the result, for the thread that waits for it. */
        final Supplier<@Nullable Long> take;

        private State state = State.FREE;
        private int generation;
        private boolean atomic;

        private Operation(int number, Supplier<@Nullable Long> take) {
            this.number = number;
            this.take = take;
        }

        private long ticket() {
            return (long) generation << Integer.SIZE | MARK | number;
        }
    }

    /** Waits for room for one more operation. */
    final Waiters room = new Waiters();

    private final ChannelCore core;
    private final Engine engine;
    private final BiasedLock lock;
    private final @Nullable Operation[] operations;
    private final int[] free;
    private int freeCount;

    Operations(ChannelCore core, Engine engine, BiasedLock lock) {
        this.core = core;
        this.engine = engine;
        this.lock = lock;
        int most = engine.options().operations();
        operations = new Operation[most];
        free = new int[most];
        for (int i = 0; i < most; i++) {
            free[i] = most - 1 - i;
        }
        freeCount = most;
    }

    // Posting: the ticket is 0 if as many operations as may be are under way

    long tryRead(LocalMemory into, RemoteMemory from) {
        lock.lock();
        try {
            Link on = core.checkCanSend();
            Operation next = next();
            if (next == null) {
                return 0;
            }
            on.read(id(next), into, from);
            return posted(next, false);
        } finally {
            lock.unlock();
        }
    }

    long tryWrite(LocalMemory data, RemoteMemory to) {
        lock.lock();
        try {
            Link on = core.checkCanSend();
            Operation next = next();
            if (next == null) {
                return 0;
            }
            on.write(id(next), data, to);
            return posted(next, false);
        } finally {
            lock.unlock();
        }
    }

    long tryFetchAndAdd(RemoteMemory at, long value) {
        lock.lock();
        try {
            Link on = core.checkCanSend();
            Operation next = next();
            if (next == null) {
                return 0;
            }
            on.fetchAndAdd(id(next), next.number, at, value);
            return posted(next, true);
        } finally {
            lock.unlock();
        }
    }

    long tryCompareAndSwap(RemoteMemory at, long expected, long value) {
        lock.lock();
        try {
            Link on = core.checkCanSend();
            Operation next = next();
            if (next == null) {
                return 0;
            }
            on.compareAndSwap(id(next), next.number, at, expected, value);
            return posted(next, true);
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Operation next() {
        if (operations.length == 0) {
            throw new IllegalStateException(
                    "The " + core.channel() + " has no operations: see NodeOptions.operations()");
        }
        if (freeCount == 0) {
            return null;
        }
        int number = free[freeCount - 1];
        Operation known = operations[number];
        if (known == null) {
            Operation made = new Operation(number, () -> take(number));
            operations[number] = made;
            return made;
        }
        return known;
    }

    private long id(Operation operation) {
        return core.key() | MARK | operation.number;
    }

    private long posted(Operation operation, boolean atomic) {
        freeCount--;
        operation.state = Operation.State.POSTED;
        operation.generation = operation.generation == Integer.MAX_VALUE ? 1 : operation.generation + 1;
        operation.atomic = atomic;
        core.transmitted();
        return operation.ticket();
    }

    // Completions

    /** Notes that an operation has succeeded. */
    void completed(int number) {
        Operation operation = operations[number];
        if (operation == null) {
            return;
        }
        if (operation.state == Operation.State.FORGOTTEN) {
            free(operation);
        } else {
            operation.state = Operation.State.DONE;
            engine.wake(operation.done);
        }
    }

    private void free(Operation operation) {
        operation.state = Operation.State.FREE;
        free[freeCount++] = operation.number;
        engine.wake(room);
    }

    void wakeAll() {
        room.wakeAll();
        for (Operation operation : operations) {
            if (operation != null) {
                operation.done.wakeAll();
            }
        }
    }

    // Tickets

    /** Returns the operation of a ticket that has not ended. */
    Operation find(long ticket) {
        lock.lock();
        try {
            return findLocked(ticket);
        } finally {
            lock.unlock();
        }
    }

    private Operation findLocked(long ticket) {
        core.checkNotClosed();
        int number = (int) ticket ^ MARK;
        Operation operation = number < 0 || number >= operations.length ? null : operations[number];
        if (operation == null
                || operation.ticket() != ticket
                || (operation.state != Operation.State.POSTED && operation.state != Operation.State.DONE)) {
            throw new IllegalArgumentException("No operation of the " + core.channel() + " has the ticket " + ticket);
        }
        return operation;
    }

    boolean isDone(long ticket) {
        lock.lock();
        try {
            Operation operation = findLocked(ticket);
            if (operation.state == Operation.State.DONE) {
                return true;
            }
            core.checkNotEnded();
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** Takes the result of an operation, and ends its ticket; null if it is under way. */
    @Nullable
    Long tryTake(long ticket) {
        lock.lock();
        try {
            return takeLocked(findLocked(ticket));
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Long take(int number) {
        lock.lock();
        try {
            core.checkNotClosed();
            return takeLocked(operations[number]);
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Long takeLocked(@Nullable Operation operation) {
        Link on = core.link();
        if (operation == null || on == null || operation.state != Operation.State.DONE) {
            core.checkNotEnded();
            return null;
        }
        Long result = operation.atomic ? on.fetched(operation.number) : 0L;
        free(operation);
        return result;
    }

    /** Gives up an operation, whose memory the adapter may still use. */
    void forget(long ticket) {
        lock.lock();
        try {
            int number = (int) ticket ^ MARK;
            Operation operation = number < 0 || number >= operations.length ? null : operations[number];
            if (operation == null || operation.ticket() != ticket) {
                return;
            }
            if (operation.state == Operation.State.DONE) {
                free(operation);
            } else if (operation.state == Operation.State.POSTED) {
                operation.state = Operation.State.FORGOTTEN;
            }
        } finally {
            lock.unlock();
        }
    }
}

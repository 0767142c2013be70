package dev.verbena.net;

import dev.verbena.internal.BiasedLock;
import dev.verbena.internal.Waiters;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
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
        private boolean atomic;
        private long bytes;

        private Operation(int number) {
            super(number, MARK);
        }
    }

    /** The work of a future: takes the result of an operation. */
    private final class Promise implements ChannelFuture.Work<Long> {
        private final Operation operation;
        private final ChannelFuture<Long> future = new ChannelFuture<>(engine, this);

        private Promise(Operation operation) {
            this.operation = operation;
        }

        @Override
        public @Nullable Long take() {
            try (var _ = lock.held()) {
                if (operation.future != future) {
                    return null; // it is over
                }
                core.checkNotClosed();
                return takeLocked(operation);
            }
        }

        @Override
        public void giveUp() {
            try (var _ = lock.held()) {
                if (operation.future == future) {
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
    private final Numbers<Operation> numbers;
    private final boolean sealed;

    /** True if the channel may have a domain of its own. */
    private final boolean mayRegister;

    private long bytesUnderWay;

    /** The memory that the peer has shown on a sealed channel, one for each key. */
    private RemoteMemory[] found = {};

    Operations(ChannelCore core, Engine engine, BiasedLock lock) {
        this.core = core;
        this.engine = engine;
        this.lock = lock;
        this.numbers = new Numbers<>(core, "operation", MARK, Operation::new);
        this.sealed = engine.options.isSealed();
        this.mayRegister = engine.options.protection() != Protection.NONE;
        numbers.begin(engine.options.operations());
    }

    /**
     * Posts an operation. The result of an atomic goes to memory of the channel's own.
     *
     * @param local this side's memory; null for an atomic
     * @param first the number to add, or the expected one
     * @param second the number that replaces the expected one
     * @return the ticket; 0 if as many operations as may be are under way
     */
    long post(Kind kind, @Nullable LocalMemory local, RemoteMemory remote, long first, long second) {
        LocalMemory usable = mayRegister && local != null ? core.checkCanSend().usable(local) : local;
        try (var _ = lock.held()) {
            Link on = core.checkCanSend();
            if (numbers.size() == 0) {
                throw new IllegalStateException(
                        "The " + core.channel + " has no operations: see NodeOptions.operations()");
            }
            if (sealed) {
                checkFound(remote);
            }
            Operation next = numbers.next();
            if (next == null) {
                return 0;
            }
            LocalMemory memory = usable == null ? on.result(next.number) : usable;
            on.post(kind, core.key | MARK | next.number, memory, remote, first, second);
            numbers.take(next);
            next.state = Operation.State.POSTED;
            next.atomic = local == null;
            next.bytes = memory.length();
            bytesUnderWay += next.bytes;
            core.rail.posted();
            return next.ticket();
        }
    }

    /** Notes memory that the peer has shown. */
    void found(RemoteMemory memory) {
        if (!sealed) {
            return;
        }
        try (var _ = lock.held()) {
            int at = 0;
            while (at < found.length && found[at].key() != memory.key()) {
                at++;
            }
            if (at == found.length) {
                found = Arrays.copyOf(found, at + 1);
            }
            found[at] = memory;
        }
    }

    /** Notes that operations may not use memory any more. */
    void forgetFound(RemoteMemory memory) {
        try (var _ = lock.held()) {
            found = Stream.of(found).filter(each -> !each.equals(memory)).toArray(RemoteMemory[]::new);
        }
    }

    private void checkFound(RemoteMemory memory) {
        for (RemoteMemory each : found) {
            long offset = memory.address() - each.address();
            if (each.key() == memory.key() && offset >= 0 && offset + memory.length() <= each.length()) {
                return;
            }
        }
        throw new IllegalArgumentException(memory + " is no memory that Channel.remote() has found on the sealed "
                + core.channel + ": only exports in the clear can be used there");
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
            operation.done(engine);
        }
    }

    private void free(Operation operation) {
        numbers.free(operation);
        engine.wake(room);
    }

    void wakeWaits() {
        room.wakeAll();
        numbers.wakeWaits();
    }

    void finishFutures() {
        numbers.finishFutures(engine);
    }

    /** Returns the time that the adapter may need for what is under way, of which it tells nothing before the end. */
    long workNanos() {
        return bytesUnderWay / SLOWEST_BYTES_PER_SECOND * 1_000_000_000L;
    }

    // Tickets

    /** Returns the operation of a ticket that has not ended. */
    Operation find(long ticket) {
        try (var _ = lock.held()) {
            return numbers.open(ticket);
        }
    }

    boolean isDone(long ticket) {
        try (var _ = lock.held()) {
            Operation operation = numbers.open(ticket);
            if (operation.state == Operation.State.DONE) {
                return true;
            }
            core.checkNotEnded();
            return false;
        }
    }

    /** Returns a future of an operation's result, and ends the ticket. */
    CompletableFuture<Long> future(long ticket) {
        ChannelFuture<Long> future;
        try (var _ = lock.held()) {
            Operation operation = numbers.open(ticket);
            future = new Promise(operation).future;
            operation.future = future;
            operation.done.wakeAll(); // the ticket has ended for threads that wait
        }
        future.settle(); // it may have ended already
        return future;
    }

    /** Takes the result of an operation, and ends its ticket; null if it is under way. */
    @Nullable
    Long tryTake(long ticket) {
        try (var _ = lock.held()) {
            return takeLocked(numbers.open(ticket));
        }
    }

    private @Nullable Long takeLocked(Operation operation) {
        Link on = core.rail.link();
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
            if (operation != null && operation.future == null) {
                forget(operation);
            }
        }
    }

    private void forget(Operation operation) {
        operation.future = null;
        if (operation.state == Operation.State.DONE) {
            free(operation);
        } else if (operation.state == Operation.State.POSTED) {
            operation.state = Operation.State.FORGOTTEN;
        }
    }
}

package dev.verbena.net;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.link.OperationKind;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The reads, writes and atomics of a channel on the peer's memory. */
final class Operations extends Numbers<Operations.Operation, Long> {
    /** Marks the number of an operation in a request's id and in a ticket. */
    static final int MARK = 0x4000;

    static final String NO_ROOM = "As many operations are under way as NodeOptions.operations() allows";

    /** The rate of a wire that is not dead. */
    private static final long SLOWEST_BYTES_PER_SECOND = 4 << 20;

    /** An operation. */
    final class Operation extends Numbers.Pending<Long> {
        private OperationKind kind = OperationKind.READ;
        private long bytes;

        /** This side's memory, and the rest of the request, which may have to be posted again. */
        private @Nullable LocalMemory local;

        /** The same as the program has given it; null if it is the channel's own. */
        private @Nullable LocalMemory given;

        /** The connection that it was last posted to. */
        private @Nullable Link on;

        private @Nullable RemoteMemory remote;

        /** The place in the order of all requests. */
        private long order;

        /** True if the connection was lost while an atomic was under way: nobody knows whether the peer has carried it out. */
        private boolean unknown;

        /** The value that an atomic has found. */
        private long fetched;

        private Operation(int number) {
            super(number, MARK);
        }

        @Override
        Long result(boolean reuse) {
            boolean isUnknown = unknown;
            Long result = fetched;
            free(this);
            if (isUnknown) {
                throw new OutcomeUnknownException(kind.toString(), session.toText());
            }
            return result;
        }

        @Override
        void drop() {
            free(this);
        }
    }

    private final boolean sealed;

    /** True if the channel may have a domain of its own. */
    private final boolean mayRegister;

    private long bytesUnderWay;

    /** The memory that the peer has shown, one for each key, if the channel is sealed or the peer has several devices. */
    private Link.Shown[] found = {};

    Operations(Session session, Engine engine) {
        super(session, engine, "operation", "operations: see NodeOptions.operations()", MARK);
        this.sealed = engine.options.isSealed();
        this.mayRegister = engine.options.heals() || engine.options.protection() != Protection.NONE;
        beginNumbers(engine.options.operations());
    }

    @Override
    Operation make(int number) {
        return new Operation(number);
    }

    /**
     * Posts an operation. The result of an atomic, and a number to write, have memory of the channel's own.
     *
     * @param local this side's memory; null for an atomic, and to write a number
     * @param first the number to add or to write, or the expected one
     * @param second the number that replaces the expected one
     * @return the ticket; 0 if as many operations as may be are under way
     */
    long post(OperationKind kind, @Nullable LocalMemory local, RemoteMemory remote, long first, long second) {
        register(local);
        try (var _ = session.lock.held()) {
            Operation posted = tryPost(checkCanBegin(), kind, local, remote, first, second);
            return posted == null ? 0 : posted.ticket();
        }
    }

    /** Registers memory of the program for this channel, if it has to be. This takes long, so the caller has no lock. */
    private void register(@Nullable LocalMemory local) {
        if (mayRegister && local != null) {
            session.checkCanSend().here(local.region());
        }
    }

    private @Nullable Operation tryPost(
            Link on, OperationKind kind, @Nullable LocalMemory local, RemoteMemory remote, long first, long second) {
        if (sealed) {
            checkFound(remote);
        }
        Operation next = session.isHealing() ? null : next();
        if (next == null) {
            return null;
        }
        post(on, next, kind, local, remote, first, second);
        take(next);
        return next;
    }

    private void post(
            Link on,
            Operation next,
            OperationKind kind,
            @Nullable LocalMemory local,
            RemoteMemory remote,
            long first,
            long second) {
        LocalMemory memory = memory(on, next, local);
        if (local == null && kind == OperationKind.WRITE) {
            memory.segment().set(ValueLayout.JAVA_LONG, 0, first);
        }
        on.post(kind, MARK | next.number, memory, there(remote), kind.isAtomic() ? first : 0, second);
        next.state = Operation.State.POSTED;
        next.kind = kind;
        next.local = memory;
        next.bytes = memory.length();
        if (mayRegister) { // each note costs a read a nanosecond
            next.given = local;
            next.on = on;
            next.remote = remote;
            next.unknown = false;
            next.order = session.messages.nextOrder();
        }
        bytesUnderWay += next.bytes;
        ChannelCounts counts = session.messages.counts;
        counts.operations++;
        counts.operationBytes += next.bytes;
        session.rail.posted();
    }

    /**
     * Returns the memory of an operation as a connection's requests can name it: that of the program, or the channel's own. An
     * operation of the same memory as the last one of its number allocates nothing.
     */
    private LocalMemory memory(Link on, Operation next, @Nullable LocalMemory local) {
        if (local == null) {
            return on.result(next.number);
        }
        if (!mayRegister) {
            return local;
        }
        LocalMemory last = next.local;
        return last != null && next.given == local && next.on == on ? last : on.usable(local);
    }

    /** Posts a read or a write now or later, and returns its future; null if as many as may wait do. */
    @Nullable
    CompletableFuture<Long> postLater(OperationKind kind, LocalMemory local, RemoteMemory remote) {
        register(local);
        try (var _ = session.lock.held()) {
            Link open = checkCanBegin();
            if (countUnsent() == size()) {
                return null;
            }
            if (sealed) {
                checkFound(remote);
            }
            return send(open, new Unsent<>() {
                @Override
                public @Nullable Operation trySend(Link on) {
                    return tryPost(on, kind, local, remote, 0, 0);
                }

                @Override
                public void giveBack() {
                    // It keeps nothing.
                }
            });
        }
    }

    // Writes with a notice

    /**
     * Posts a write, and behind it a notice. The requests of a channel are carried out in order, and the peer is given what has
     * come before the notice first.
     *
     * @return the ticket of the write; 0 if an operation, a message or a credit is missing, and nothing was posted
     */
    long tryWriteAndNotify(LocalMemory data, RemoteMemory to, long number) {
        register(data);
        Message notice = session.messages.takeFree(true);
        if (notice == null) {
            return 0;
        }
        notice.length(Wire.NOTICE_BYTES).memory().set(Wire.LONG, 0, number);
        long ticket = 0;
        boolean sent = false;
        try {
            Operation mine = takeNumber.get();
            if (mine != null) {
                ticket = mine.ticket();
                sent = tryNotify(mine, data, to, notice);
            }
        } finally {
            if (!sent) { // else the message may be another one already
                forget(ticket);
                notice.close();
            }
        }
        return sent ? ticket : 0;
    }

    private boolean tryNotify(Operation mine, @Nullable LocalMemory data, RemoteMemory to, Message notice) {
        try (var _ = session.lock.held()) {
            Link on = session.checkCanSend();
            if (sealed) {
                checkFound(to);
            }
            Buffer buffer = notice.sendable(session.channel);
            if (!session.messages.hasCredit()) {
                return false;
            }
            post(on, mine, OperationKind.WRITE, data, to, 0, 0);
            return session.messages.sendWithCredit(buffer, Wire.NOTICE);
        }
    }

    /** Writes and notifies, and waits for the end of the write. */
    void writeAndNotify(LocalMemory data, RemoteMemory to, long number, Duration timeout) throws InterruptedException {
        String what = "writeAndNotify";
        Deadline deadline = Deadline.after(timeout);
        Channel channel = session.channel;
        register(data);
        try (Message notice = channel.message(timeout).length(Wire.NOTICE_BYTES)) { // is given back if it was not sent
            notice.segment().set(Wire.LONG, 0, number);
            Operation mine = channel.inTime(engine.await(room, takeNumber, deadline.left()), what, timeout, NO_ROOM);
            long ticket = mine.ticket();
            Channel.Attempt attempt = new Channel.Attempt() {
                @Override
                boolean succeeds() {
                    return tryNotify(mine, data, to, notice);
                }
            };
            boolean sent = false;
            try {
                sent = channel.inTime(
                        engine.await(session.messages.credit, attempt, deadline.left()),
                        what,
                        timeout,
                        Channel.NO_CREDIT);
            } finally {
                if (!sent) {
                    forget(ticket);
                }
            }
            await(ticket, deadline.left());
        }
    }

    /** Notes an export that the peer has shown, and returns its memory. */
    RemoteMemory found(MemorySegment description) {
        Link.Shown shown = session.shown(description);
        found(shown);
        return shown.memory();
    }

    /** Notes memory that the peer has shown, if operations need to know it. */
    void found(Link.Shown shown) {
        if (!sealed && shown.keys().length == 0) {
            return;
        }
        try (var _ = session.lock.held()) {
            int at = 0;
            while (at < found.length
                    && found[at].memory().key() != shown.memory().key()) {
                at++;
            }
            if (at == found.length) {
                found = Arrays.copyOf(found, at + 1);
            }
            found[at] = shown;
        }
    }

    /** Notes that operations may not use memory any more. */
    void forgetFound(RemoteMemory memory) {
        try (var _ = session.lock.held()) {
            found = Stream.of(found)
                    .filter(each -> !each.memory().equals(memory))
                    .toArray(Link.Shown[]::new);
        }
    }

    private void checkFound(RemoteMemory memory) {
        for (Link.Shown each : found) {
            RemoteMemory all = each.memory();
            long offset = memory.address() - all.address();
            if (all.key() == memory.key() && offset >= 0 && offset + memory.length() <= all.length()) {
                return;
            }
        }
        throw new IllegalArgumentException(memory + " is no memory that Channel.remote() has found on the sealed "
                + session.channel + ": only exports in the clear can be used there");
    }

    /** Returns memory of the peer with the key of the device that the connection leads to. */
    private RemoteMemory there(RemoteMemory memory) {
        if (session.devicesOfPeer > 1) {
            for (Link.Shown each : found) {
                if (each.memory().key() == memory.key()) {
                    return each.on(session.rail.deviceOfPeer, memory);
                }
            }
        }
        return memory;
    }

    // Completions

    /** Notes that an operation has succeeded. */
    void completed(int number) {
        Operation operation = at(number);
        if (operation != null) {
            bytesUnderWay -= operation.bytes;
            operation.fetched = operation.kind.isAtomic() ? fetched(operation) : 0;
            come(operation);
        }
    }

    private static long fetched(Operation atomic) {
        return Objects.requireNonNull(atomic.local).segment().get(ValueLayout.JAVA_LONG, 0);
    }

    // Another connection

    /** Ends the operations that can't be repeated, because the connection is lost: atomics, and those that were given up. */
    void pathLost() {
        bytesUnderWay = 0;
        for (int number = 0; number < size(); number++) {
            Operation operation = at(number);
            if (operation == null) {
                return;
            }
            boolean isUnderWay =
                    operation.state == Operation.State.POSTED || operation.state == Operation.State.FORGOTTEN;
            boolean isGivenUp = operation.state == Operation.State.FORGOTTEN;
            if (isUnderWay && (isGivenUp || operation.kind.isAtomic())) {
                operation.unknown = true;
                come(operation);
            }
        }
    }

    /** Adds the operations to post again over another connection. */
    void addAgain(List<Kept.Again> all, Link over) {
        for (int number = 0; number < size(); number++) {
            Operation operation = at(number);
            if (operation != null && operation.state == Operation.State.POSTED) {
                all.add(new Kept.Again(operation.order, () -> postAgain(operation, over)));
            }
        }
    }

    private void postAgain(Operation operation, Link over) {
        LocalMemory memory = memory(over, operation, operation.given);
        over.post(
                operation.kind, MARK | operation.number, memory, there(Objects.requireNonNull(operation.remote)), 0, 0);
        operation.local = memory;
        operation.on = over;
        bytesUnderWay += operation.bytes;
        session.rail.posted();
    }

    /** Returns the time that the adapter may need for what is under way, of which it tells nothing before the end. */
    long workNanos() {
        return bytesUnderWay / SLOWEST_BYTES_PER_SECOND * 1_000_000_000L;
    }

    // Tickets

    private Waiters done(long ticket) {
        try (var _ = session.lock.held()) {
            return open(ticket).done;
        }
    }

    /** Carries out an operation, and waits for its end. */
    long finish(
            OperationKind kind,
            @Nullable LocalMemory local,
            RemoteMemory remote,
            long first,
            long second,
            String what,
            Duration timeout)
            throws InterruptedException {
        Deadline deadline = Deadline.after(timeout);
        Supplier<@Nullable Long> posting = new Supplier<>() {
            @Override
            public @Nullable Long get() {
                long posted = post(kind, local, remote, first, second);
                return posted == 0 ? null : Long.valueOf(posted);
            }
        };
        Long ticket = engine.await(room, posting, timeout);
        return await(session.channel.inTime(ticket, what, timeout, NO_ROOM), deadline.left());
    }

    /** Waits until an operation is done, and returns its result. The ticket ends in any case. */
    long await(long ticket, Duration timeout) throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout");
        Long result = null;
        try {
            result = tryTake(ticket, true);
            if (result == null) {
                Supplier<@Nullable Long> taking = new Supplier<>() {
                    @Override
                    public @Nullable Long get() { // by the ticket: another thread may have ended the operation
                        return tryTake(ticket, true);
                    }
                };
                result = engine.await(done(ticket), taking, timeout);
            }
        } finally {
            if (result == null) {
                forget(ticket);
            }
        }
        return session.channel.inTime(result, "await", timeout, "The peer's adapter has not answered");
    }

    boolean isDone(long ticket) {
        try (var _ = session.lock.held()) {
            if (open(ticket).state == Operation.State.DONE) {
                return true;
            }
            session.checkNotEnded();
            return false;
        }
    }

    /** Returns a future of an operation's result, and ends the ticket. */
    CompletableFuture<Long> future(long ticket) {
        ChannelFuture<Long> future = new ChannelFuture<>(engine, this);
        try (var _ = session.lock.held()) {
            Operation operation = open(ticket);
            future.of = operation;
            operation.future = future;
            operation.done.wakeAll(); // the ticket has ended for threads that wait
        }
        future.settle(); // it may have ended already
        return future;
    }
}

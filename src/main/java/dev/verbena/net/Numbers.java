package dev.verbena.net;

import dev.verbena.internal.Waiters;
import dev.verbena.internal.link.Link;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The {@link Calls} or the {@link Operations} of this side of a channel that are under way, by number. The objects are used
 * again and again. Each use has a ticket, which no other use has: the number and a generation. Threads, tickets and futures
 * take results in one way. What has a future and lacks a number or a credit waits here, without a thread. The channel's lock
 * guards an instance. Methods with a ticket or a future take it; all others are called under it.
 *
 * @param <T> what is under way
 * @param <R> its result
 */
abstract class Numbers<T extends Numbers.Pending<R>, R> {
    /** A call or an operation. */
    abstract static class Pending<R> {
        enum State {
            FREE,
            /** A thread has the number, and has not sent the request. */
            TAKEN,
            POSTED,
            /** The result has come, and the program has not taken it. */
            DONE,
            /** The program has the result, which is a reply. */
            HELD,
            /** The program has given up: the number is free when the result has come. */
            FORGOTTEN
        }

        /** Wakes the thread that waits for the result. */
        final Waiters done = new Waiters();

        State state = State.FREE;

        /** The future of the result; null if a thread or a program that polls takes it. */
        @Nullable
        ChannelFuture<R> future;

        final int number;
        private final int mark;
        private int generation;

        /**
         * Makes an object.
         *
         * @param mark bits that its tickets have beside the number
         */
        Pending(int number, int mark) {
            this.number = number;
            this.mark = mark;
        }

        /** Returns the ticket of the present use, which is never 0. */
        long ticket() {
            return (long) generation << Integer.SIZE | mark | number;
        }

        /** Takes the result, which has come. */
        abstract R result(boolean reuse);

        /** Frees the result, which has come and which nobody wants, and the number. */
        abstract void drop();
    }

    /** The request of a future until it is sent. */
    interface Unsent<R> {
        /** Sends it if there are a number and a credit. Returns what is under way then; else null. */
        @Nullable
        Pending<R> trySend(Link on);

        /** Frees what it keeps: it will not be sent. */
        void giveBack();
    }

    /** Waits for a free number. */
    final Waiters room = new Waiters();

    final Supplier<@Nullable T> takeNumber = this::takeNumber;

    final Session session;
    final Engine engine;
    private final String what;
    private final String none;
    private final int mark;

    /** The futures of what was not sent. */
    private final ArrayDeque<ChannelFuture<R>> unsent = new ArrayDeque<>(1); // grows: most channels have none

    /** The objects by number. The numbers behind have not been used. */
    private final List<T> made = new ArrayList<>(1);

    private int[] free = {};
    private int freeCount;

    /**
     * Makes the numbers.
     *
     * @param what a name for the objects
     * @param none what a channel without numbers lacks, and what to try
     * @param mark bits that all tickets have beside the number
     */
    Numbers(Session session, Engine engine, String what, String none, int mark) {
        this.session = session;
        this.engine = engine;
        this.what = what;
        this.none = none;
        this.mark = mark;
    }

    abstract T make(int number);

    /** Begins: all numbers are free. The lowest are used first. */
    final void beginNumbers(int count) {
        free = new int[count];
        freeCount = count;
        for (int i = 0; i < count; i++) {
            free[i] = count - 1 - i;
        }
    }

    final int size() {
        return free.length;
    }

    /** Returns what to post to. Throws if this side can begin nothing. */
    final Link checkCanBegin() {
        Link on = session.checkCanSend();
        if (size() == 0) {
            throw new IllegalStateException("The " + session.channel + " has no " + none);
        }
        return on;
    }

    /** Takes a number for a thread that sends later; null if all are in use. */
    private @Nullable T takeNumber() {
        try (var _ = session.lock.held()) {
            checkCanBegin();
            T next = next();
            if (next != null) {
                take(next);
                next.state = Pending.State.TAKEN;
            }
            return next;
        }
    }

    /** Returns the object that {@link #take(Pending)} takes next; null if all numbers are in use. */
    final @Nullable T next() {
        if (freeCount == 0) {
            return null;
        }
        int number = free[freeCount - 1];
        if (number == made.size()) {
            made.add(make(number));
        }
        return made.get(number);
    }

    /** Begins a use of the object that {@link #next} has returned. */
    final void take(Pending<R> next) {
        freeCount--;
        next.generation = next.generation == Integer.MAX_VALUE ? 1 : next.generation + 1;
    }

    /** Ends a use. */
    final void free(Pending<R> used) {
        used.state = Pending.State.FREE;
        used.future = null;
        free[freeCount++] = used.number;
        engine.wake(room);
        sendUnsent(); // before the thread that was woken, which waits for the lock
    }

    /** Returns the object of a number; null if the number has not been used. */
    final @Nullable T at(int number) {
        return number < 0 || number >= made.size() ? null : made.get(number);
    }

    private @Nullable T find(long ticket) {
        T known = at((int) ticket ^ mark);
        return known == null || known.ticket() != ticket ? null : known;
    }

    /** Returns the object of a ticket whose result the program may take. */
    final T open(long ticket) {
        session.checkNotClosed();
        T known = find(ticket);
        if (known == null
                || known.future != null
                || (known.state != Pending.State.POSTED && known.state != Pending.State.DONE)) {
            throw new IllegalArgumentException(
                    "No " + what + " of the " + session.channel + " has the ticket " + ticket);
        }
        return known;
    }

    /** Notes that the result has come. */
    final void come(Pending<R> of) {
        boolean unwanted = of.state == Pending.State.FORGOTTEN;
        of.state = Pending.State.DONE;
        if (unwanted) {
            of.drop();
        } else if (of.future == null) {
            engine.wake(of.done);
        } else {
            engine.handlers.finish(of.future);
        }
    }

    /** Takes the result, and ends the ticket; null if the result has not come. */
    final @Nullable R take(Pending<R> of, boolean reuse) {
        if (of.state != Pending.State.DONE) {
            session.checkNotEnded();
            return null;
        }
        return of.result(reuse);
    }

    final @Nullable R tryTake(long ticket, boolean reuse) {
        try (var _ = session.lock.held()) {
            return take(open(ticket), reuse);
        }
    }

    /** Gives up what a ticket stands for, unless it has ended or a future has its result. */
    final void forget(long ticket) {
        try (var _ = session.lock.held()) {
            T known = find(ticket);
            if (known != null && known.future == null) {
                forget(known);
            }
        }
    }

    void forget(Pending<R> of) {
        of.future = null;
        switch (of.state) {
            case TAKEN -> free(of);
            case POSTED -> of.state = Pending.State.FORGOTTEN;
            case DONE -> of.drop();
            default -> {
                // The program has the result, or has given up before.
            }
        }
    }

    // Futures

    /** Sends something now or later, and returns the future of the result. */
    final ChannelFuture<R> send(Link on, Unsent<R> what) {
        ChannelFuture<R> mine = new ChannelFuture<>(engine, this);
        mine.unsent = what;
        if (!unsent.isEmpty() || !trySend(on, mine, what)) {
            unsent.add(mine);
        }
        return mine;
    }

    private static <R> boolean trySend(Link on, ChannelFuture<R> mine, Unsent<R> what) {
        Pending<R> sent = what.trySend(on);
        if (sent != null) {
            mine.of = sent;
            mine.unsent = null;
            sent.future = mine;
        }
        return sent != null;
    }

    /** Returns the number of futures of what was not sent. */
    final int countUnsent() {
        return unsent.size();
    }

    /** Sends what waits, as far as there are numbers and credits. */
    final void sendUnsent() {
        for (ChannelFuture<R> next = unsent.peek(); next != null; next = unsent.peek()) {
            Unsent<R> what = Objects.requireNonNull(next.unsent);
            Link on = session.linkIfOpen();
            try {
                if (on == null || !trySend(on, next, what)) {
                    return;
                }
                unsent.remove();
            } catch (RuntimeException refused) {
                unsent.remove();
                what.giveBack();
                next.failure = refused;
                engine.handlers.finish(next);
            }
        }
    }

    /** Takes the result of a future, once; null if there is none yet, or if it was taken or given up. */
    final @Nullable R take(ChannelFuture<R> future) {
        try (var _ = session.lock.held()) {
            Pending<R> of = future.of;
            if (of != null && of.future != future) {
                return null;
            }
            if (future.failure != null) {
                throw future.failure;
            }
            session.checkNotClosed();
            if (of == null) {
                session.checkNotEnded();
                return null;
            }
            return take(of, false);
        }
    }

    /** Gives up what a future stands for. Does nothing if its result was taken. */
    final void giveUp(ChannelFuture<R> future) {
        try (var _ = session.lock.held()) {
            Pending<R> of = future.of;
            if (of == null) {
                if (unsent.remove(future)) {
                    Objects.requireNonNull(future.unsent).giveBack();
                }
            } else if (of.future == future) {
                forget(of);
            }
        }
    }

    /** Has all threads that wait for numbers or results try again. Allocates nothing. */
    final void wakeWaits() {
        room.wakeAll();
        for (int i = 0; i < made.size(); i++) {
            made.get(i).done.wakeAll();
        }
    }

    /** Has all futures look for their results. */
    final void finishFutures() {
        for (T known : made) {
            if (known.future != null) {
                engine.handlers.finish(known.future);
            }
        }
        for (ChannelFuture<R> each : unsent) {
            engine.handlers.finish(each);
        }
    }
}

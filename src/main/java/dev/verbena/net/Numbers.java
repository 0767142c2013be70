package dev.verbena.net;

import dev.verbena.internal.Waiters;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The numbers of a channel's calls or operations, and the objects that are used again and again for them. Each use of a
 * number has a ticket, which no other use has: the number and a generation. The channel's lock guards an instance.
 */
final class Numbers<T extends Numbers.Numbered> {
    /** A call or an operation. */
    abstract static class Numbered {
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
        ChannelFuture<?> future;

        final int number;
        private final int mark;
        private int generation;

        /**
         * Makes an object.
         *
         * @param mark bits that its tickets have beside the number
         */
        Numbered(int number, int mark) {
            this.number = number;
            this.mark = mark;
        }

        /** Returns the ticket of the present use, which is never 0. */
        long ticket() {
            return (long) generation << Integer.SIZE | mark | number;
        }

        /** Notes that the result has come. */
        void done(Engine engine) {
            state = State.DONE;
            if (future == null) {
                engine.wake(done);
            } else {
                engine.handlers.finish(future);
            }
        }
    }

    private final ChannelCore core;
    private final String what;
    private final int mark;
    private final IntFunction<T> maker;

    /** The objects by number. The numbers behind have not been used. */
    private final List<T> made = new ArrayList<>();

    private int[] free = {};
    private int freeCount;

    /**
     * Makes the numbers.
     *
     * @param what a name for the objects
     * @param mark bits that all tickets have beside the number
     */
    Numbers(ChannelCore core, String what, int mark, IntFunction<T> maker) {
        this.core = core;
        this.what = what;
        this.mark = mark;
        this.maker = maker;
    }

    /** Begins: all numbers are free. The lowest are used first. */
    void begin(int count) {
        free = new int[count];
        freeCount = count;
        for (int i = 0; i < count; i++) {
            free[i] = count - 1 - i;
        }
    }

    int size() {
        return free.length;
    }

    /** Returns the object that {@link #take} takes next; null if all numbers are in use. */
    @Nullable
    T next() {
        if (freeCount == 0) {
            return null;
        }
        int number = free[freeCount - 1];
        if (number == made.size()) {
            made.add(maker.apply(number));
        }
        return made.get(number);
    }

    /** Begins a use of the object that {@link #next} has returned. */
    void take(Numbered next) {
        freeCount--;
        next.generation = next.generation == Integer.MAX_VALUE ? 1 : next.generation + 1;
    }

    /** Ends a use. */
    void free(Numbered used) {
        used.state = Numbered.State.FREE;
        used.future = null;
        free[freeCount++] = used.number;
    }

    /** Returns the object of a number; null if the number has not been used. */
    @Nullable
    T at(int number) {
        return number < 0 || number >= made.size() ? null : made.get(number);
    }

    /** Returns the object of a ticket; null if another use of its number has begun. */
    @Nullable
    T find(long ticket) {
        T known = at((int) ticket ^ mark);
        return known == null || known.ticket() != ticket ? null : known;
    }

    /** Returns the object of a ticket whose result the program may take. */
    T open(long ticket) {
        core.checkNotClosed();
        T known = find(ticket);
        if (known == null
                || known.future != null
                || (known.state != Numbered.State.POSTED && known.state != Numbered.State.DONE)) {
            throw new IllegalArgumentException("No " + what + " of the " + core.channel + " has the ticket " + ticket);
        }
        return known;
    }

    /** Has all threads that wait for results try again. Allocates nothing. */
    void wakeWaits() {
        for (int i = 0; i < made.size(); i++) {
            made.get(i).done.wakeAll();
        }
    }

    /** Has all futures look for their results. */
    void finishFutures(Engine engine) {
        for (T known : made) {
            if (known.future != null) {
                engine.handlers.finish(known.future);
            }
        }
    }
}

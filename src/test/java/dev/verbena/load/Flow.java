package dev.verbena.load;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkCompletionException;
import dev.verbena.verbs.WorkStatus;
import dev.verbena.verbs.device.Mtu;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** One kind of traffic from an end to another, whose every result is checked. Each flow is of one thread. */
abstract sealed class Flow {
    private static final int WINDOW = 8;
    private static final int ROOM = 1 << 14;
    private static final int MAX_MESSAGE = 12_000;
    private static final int QKEY = 0x4711;
    private static final int PACKET = 1024;

    /** An end of a flow: a queue pair with its queue and its memory. */
    private static final class Side {
        final CompletionQueue queue;
        final QueuePair pair;
        final MemoryRegion region;

        Side(Context context, boolean datagrams, VerbsArena arena) {
            ProtectionDomain domain = context.allocateProtectionDomain(arena);
            queue = context.createCompletionQueue(8 * WINDOW, arena);
            pair = domain.createQueuePair(
                    (datagrams ? QueuePair.ud(queue) : QueuePair.rc(queue))
                            .sendDepth(4 * WINDOW)
                            .receiveDepth(2 * WINDOW),
                    arena);
            region = domain.register(
                    arena.allocate((long) 2 * WINDOW * ROOM, 4096),
                    LOCAL_WRITE,
                    REMOTE_READ,
                    REMOTE_WRITE,
                    REMOTE_ATOMIC);
        }

        LocalMemory room(long number, long length) {
            return region.slice(number % (2 * WINDOW) * ROOM, length);
        }

        WorkCompletion done(long id) throws InterruptedException {
            WorkCompletion done = queue.await(DEADLINE).orThrow();
            require(done.id() == id, "the completion of " + id, done);
            return done;
        }
    }

    final Side from;
    final Side to;
    /** The number of operations that were acknowledged. */
    volatile long acknowledged;

    private Flow(Context from, Context to, boolean datagrams, VerbsArena arena) {
        this.from = new Side(from, datagrams, arena);
        this.to = new Side(to, datagrams, arena);
        if (datagrams) {
            this.from.pair.toReady(QKEY);
            this.to.pair.toReady(QKEY);
        } else {
            connect();
        }
    }

    final void connect() {
        // soft-RoCE takes the greatest number of retries as endless: only a lost wire would end it.
        QueuePairAttributes how =
                QueuePairAttributes.none().pathMtu(Mtu.BYTES_1024).retryCount(7);
        from.pair.connect(to.pair.endpoint(), how);
        to.pair.connect(from.pair.endpoint(), how);
    }

    /** Makes some operations, and checks those that end. */
    abstract void advance() throws InterruptedException;

    /** Waits until all has ended, and checks that nothing was lost. */
    abstract void finish() throws InterruptedException;

    static void require(boolean holds, String expected, Object actual) {
        if (!holds) {
            throw new AssertionError("expected " + expected + ", got " + actual);
        }
    }

    @Override
    public String toString() {
        return getClass().getSimpleName() + " " + acknowledged;
    }

    /**
     * Messages of several packets, which must arrive once, whole and in order. When packets are lost, soft-RoCE of 6.1 now
     * and then fails a queue pair. A message that was acknowledged must have arrived by then; the others are sent again. Once
     * in some hundred thousand messages it stores a packet twice, and reports a message that is longer by that packet. Such
     * messages are counted, and few are tolerated.
     */
    static final class Messages extends Flow {
        private static final int FEW = 10_000;

        private long sent;
        private long received;
        private long failures;
        private long longer;

        Messages(Context from, Context to, VerbsArena arena) {
            super(from, to, false, arena);
            expectMessages();
        }

        private void expectMessages() {
            for (long next = received; next < received + 2 * WINDOW; next++) {
                to.pair.postReceive(next, to.room(next, ROOM));
            }
        }

        @Override
        void advance() throws InterruptedException {
            try {
                while (sent < acknowledged + WINDOW) {
                    LocalMemory message = from.room(sent, Content.length(sent, MAX_MESSAGE));
                    Content.write(message.segment(), sent);
                    from.pair.postSend(sent, message);
                    sent++;
                }
                takeAcknowledgement();
                for (WorkCompletion next = to.queue.poll(); next != null; next = to.queue.poll()) {
                    take(next);
                }
            } catch (WorkCompletionException failed) {
                goOnAfter(failed);
            }
        }

        private void takeAcknowledgement() throws InterruptedException {
            from.done(acknowledged);
            acknowledged++;
        }

        private void check(WorkCompletion done) {
            long length = Content.length(received, MAX_MESSAGE);
            if (done.orThrow().byteLength() == length + PACKET) {
                longer++;
                System.out.println("message " + received + " of " + length + " bytes has a packet twice: " + done);
                received++;
                return;
            }
            require(
                    done.id() == received && done.byteLength() == length,
                    "message " + received + " of " + length + " bytes",
                    done);
            require(
                    Content.isWhole(to.room(received, length).segment(), received),
                    "the bytes of message " + received,
                    "others");
            received++;
        }

        private void take(WorkCompletion done) {
            check(done);
            long next = received - 1 + 2 * WINDOW;
            to.pair.postReceive(next, to.room(next, ROOM));
        }

        /** Connects the failed queue pair again, once all that arrived before is taken, and sends what did not arrive. */
        private void goOnAfter(WorkCompletionException failed) throws InterruptedException {
            failures++;
            from.pair.drain(
                    done -> {
                        if (done.isSuccess()) {
                            acknowledged++;
                        } else if (done.status() != WorkStatus.WORK_REQUEST_FLUSHED) {
                            System.out.println("the sender's failure: " + done);
                        }
                    },
                    DEADLINE);
            to.pair.drain(
                    done -> {
                        if (done.isSuccess()) {
                            check(done);
                        }
                    },
                    DEADLINE);
            System.out.println("the queue pair failed, and is connected again: " + failed.getMessage());
            require(received >= acknowledged, "message " + (acknowledged - 1) + ", which was acknowledged", received);
            from.pair.reset();
            to.pair.reset();
            connect();
            acknowledged = received;
            sent = received;
            expectMessages();
        }

        @Override
        void finish() throws InterruptedException {
            while (received < sent || acknowledged < sent) {
                try {
                    if (acknowledged < sent) {
                        takeAcknowledgement();
                    } else {
                        take(to.queue.await(DEADLINE));
                    }
                } catch (WorkCompletionException failed) {
                    goOnAfter(failed);
                }
            }
            require(
                    failures + longer <= 2 + acknowledged / FEW,
                    "few failures",
                    failures + ", and " + longer + " messages with a packet twice");
        }

        @Override
        public String toString() {
            return super.toString() + " (" + failures + " failures, " + longer + " with a packet twice)";
        }
    }

    /**
     * Writes to the peer's memory, and reads that bring the same bytes back. When packets are lost, soft-RoCE of 6.1 now
     * and then completes a read with success although no byte has come, or fails the queue pair after it: a program in C
     * sees the same, once in some ten thousand reads. Such reads are counted, and few are tolerated. A write that was
     * acknowledged must always be there.
     */
    static final class WritesAndReads extends Flow {
        private static final int FEW = 2000;

        private long begun;
        private long wrongReads;
        private long failures;

        WritesAndReads(Context from, Context to, VerbsArena arena) {
            super(from, to, false, arena);
        }

        private LocalMemory returned(long number, long length) {
            return from.room(number % WINDOW + WINDOW, length);
        }

        @Override
        void advance() throws InterruptedException {
            while (begun < acknowledged / 2 + WINDOW) {
                long length = Content.length(begun, MAX_MESSAGE);
                LocalMemory source = from.room(begun % WINDOW, length);
                LocalMemory there = to.room(begun % WINDOW, length);
                Content.write(source.segment(), begun);
                from.pair.postWrite(2 * begun, source, there.remote());
                from.pair.postRead(2 * begun + 1, returned(begun, length), there.remote());
                begun++;
            }
            check();
        }

        private void check() throws InterruptedException {
            try {
                checkNext();
            } catch (WorkCompletionException failed) {
                System.out.println("the queue pair failed, and is connected again: " + failed.getMessage());
                failures++;
                from.pair.reset();
                to.pair.reset();
                while (from.queue.poll() != null) {
                    Thread.onSpinWait(); // flushed requests
                }
                connect();
                begun = acknowledged / 2;
            }
        }

        private void checkNext() throws InterruptedException {
            long number = acknowledged / 2;
            long length = Content.length(number, MAX_MESSAGE);
            from.done(2 * number);
            MemorySegment there = to.room(number % WINDOW, length).segment();
            require(Content.isWhole(there, number), "write " + number + ", which was acknowledged", "other bytes");
            from.done(2 * number + 1);
            MemorySegment back = returned(number, length).segment();
            if (!Content.isWhole(back, number)) {
                wrongReads++;
                System.out.println("read " + number + " of " + length + " bytes completed, and brought other bytes: "
                        + Content.describe(back, there, number, number - WINDOW));
            }
            acknowledged += 2;
        }

        @Override
        void finish() throws InterruptedException {
            while (acknowledged < 2 * begun) {
                check();
            }
            require(
                    wrongReads + failures <= 2 + acknowledged / FEW,
                    "the right bytes by nearly all reads",
                    wrongReads + " reads with others and " + failures + " failures");
        }

        @Override
        public String toString() {
            return super.toString() + " (" + wrongReads + " reads brought other bytes, " + failures + " failures)";
        }
    }

    /** Atomic operations, each of which must be carried out once: they count. */
    static final class Atomics extends Flow {
        private long begun;

        Atomics(Context from, Context to, VerbsArena arena) {
            super(from, to, false, arena);
        }

        private LocalMemory counter() {
            return to.region.slice(0, Long.BYTES);
        }

        @Override
        void advance() throws InterruptedException {
            while (begun < acknowledged + WINDOW) {
                LocalMemory old = from.room(begun % WINDOW, Long.BYTES);
                if (begun % 3 == 0) {
                    from.pair.postCompareAndSwap(begun, old, counter().remote(), begun, begun + 1);
                } else {
                    from.pair.postFetchAndAdd(begun, old, counter().remote(), 1);
                }
                begun++;
            }
            check();
        }

        private void check() throws InterruptedException {
            from.done(acknowledged);
            long old = from.room(acknowledged % WINDOW, Long.BYTES).segment().get(ValueLayout.JAVA_LONG, 0);
            require(old == acknowledged, "the old value " + acknowledged, old);
            acknowledged++;
        }

        @Override
        void finish() throws InterruptedException {
            while (acknowledged < begun) {
                check();
            }
            long count = counter().segment().get(ValueLayout.JAVA_LONG, 0);
            require(count == begun, "the count " + begun, count);
        }
    }

    /** Datagrams, which can get lost, but arrive at most once, whole and in order. */
    static final class Datagrams extends Flow {
        private static final int HEADER = 40;
        private static final int MAX_DATAGRAM = 1024;

        private final AddressHandle path;
        private long next;
        private long received;

        Datagrams(Context from, Context to, VerbsArena arena) {
            super(from, to, true, arena);
            path = this.from.pair.domain().createAddressHandle(this.from.pair.pathTo(this.to.pair.endpoint()), arena);
            for (int i = 0; i < 2 * WINDOW; i++) {
                this.to.pair.postReceive(i, this.to.room(i, HEADER + MAX_DATAGRAM));
            }
        }

        long lost() {
            return acknowledged - received;
        }

        @Override
        void advance() throws InterruptedException {
            LocalMemory message = from.room(acknowledged, Content.length(acknowledged, MAX_DATAGRAM));
            Content.write(message.segment(), acknowledged);
            from.pair.postSend(acknowledged, message, path, to.pair.number(), QKEY);
            from.done(acknowledged);
            acknowledged++;
            for (WorkCompletion done = to.queue.poll(); done != null; done = to.queue.poll()) {
                check(done.orThrow());
            }
        }

        private void check(WorkCompletion done) {
            require(done.id() == received, "datagram in receive " + received, done);
            MemorySegment message =
                    to.room(received, done.byteLength()).segment().asSlice(HEADER);
            long number = Content.number(message);
            require(number >= next && number < acknowledged, "a datagram after " + next, number);
            require(
                    message.byteSize() == Content.length(number, MAX_DATAGRAM) && Content.isWhole(message, number),
                    "the bytes of datagram " + number,
                    "others");
            next = number + 1;
            to.pair.postReceive(received + 2 * WINDOW, to.room(received, HEADER + MAX_DATAGRAM));
            received++;
        }

        @Override
        void finish() {
            require(lost() < acknowledged / 10 + 2 * WINDOW, "few lost datagrams of " + acknowledged, lost());
        }

        @Override
        public String toString() {
            return super.toString() + " (" + lost() + " lost)";
        }
    }
}

package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Mutex;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * The free slots of a queue pair's send queue: the sends that can be posted before a completion is polled. A completion of a
 * signaled send frees the slots of that send and of all earlier ones. So a program need not count by hand:
 *
 * {@snippet file="CompletionSnippets.java" region="slots"}
 *
 * <p>While the sends of a queue pair are counted, a post that finds too few slots throws a {@link PostException} with
 * {@code ENOMEM}, as adapters do. Soft-RoCE does not: its own queue is free as soon as a send has completed, and the
 * completion queue overflows. The sends of a {@code Connection} on soft-RoCE are counted from the beginning. Counting takes a
 * lock for each post and each poll. Where no sends are counted, it costs nothing.
 *
 * <p>After a failed completion, the queue pair fails all other requests, and no slot is counted until it is reset.
 *
 * <p>The threads that may use the queue pair may use its slots.
 */
public final class SendSlots {
    private static final long PAUSE_NANOS = 20_000;
    private static final int SPINS = 200;

    private final QueuePair queuePair;
    private final int depth;
    private final Mutex lock = new Mutex();

    // The lock guards the fields below.

    /** The number of slots that each signaled send frees when it completes, from the oldest one on: a ring. */
    private final int[] frees;

    private int oldest;
    private int signaled;

    /** The number of unsignaled sends after the newest signaled one. */
    private int unsignaled;

    private int used;
    private boolean failed;

    SendSlots(QueuePair queuePair) {
        this.queuePair = queuePair;
        this.depth = queuePair.granted.sendDepth();
        this.frees = new int[Math.max(1, depth)];
    }

    /**
     * Returns the slots of a queue pair, whose sends are counted from now on.
     *
     * @param queuePair a queue pair that has posted no send yet, or whose sends are counted already
     * @return always the same object for a queue pair
     * @throws IllegalStateException if a send was posted before, or the queue pair is closed
     * @throws IllegalArgumentException if the queue pair has no sends, or posts by {@code ibv_wr_start}; or if its completion
     *     queue does not report {@link CompletionField#QUEUE_PAIR_NUMBER}
     */
    public static SendSlots of(QueuePair queuePair) {
        return queuePair.batches.countSends();
    }

    /**
     * Returns the number of free slots.
     *
     * @return from 0 to the {@linkplain QueueCapabilities#sendDepth depth} that was granted
     * @throws IllegalStateException if the queue pair is closed
     */
    public int free() {
        queuePair.lifetime.checkOpen();
        return left();
    }

    private int left() {
        lock.lock();
        try {
            return depth - used;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until there are free slots. Another thread polls the completion queue meanwhile: a program that polls itself looks
     * at {@link #free}, and polls while there is none.
     *
     * @param count the number of slots
     * @param timeout the longest time to wait
     * @throws IllegalArgumentException if the queue has fewer slots
     * @throws VerbsTimeoutException if they were not free in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the queue pair is closed, also while waiting
     * @throws VerbsException if the queue pair belongs to a connection that has ended
     */
    public void await(int count, Duration timeout) throws InterruptedException {
        await(count, timeout, Deadline.after(timeout));
    }

    private void await(int count, Duration timeout, Deadline deadline) throws InterruptedException {
        if (count < 0 || count > depth) {
            throw new IllegalArgumentException("number of slots must be from 0 to " + depth + ", got " + count);
        }
        for (int tries = 0; free() < count; tries++) {
            VerbsException end = queuePair.states.connectionEnd();
            if (end != null) {
                throw end;
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            if (deadline.isOver()) {
                throw new VerbsTimeoutException(
                        "ibv_post_send",
                        queuePair.toString(),
                        timeout,
                        left() + " of " + depth + " slots are free, for " + count
                                + " sends. Does another thread poll the completion queue?");
            }
            if (tries < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /**
     * Posts a batch, and waits for that until there are slots for all its requests: see {@link #await}.
     *
     * @param batch a batch of the queue pair
     * @param timeout the longest time to wait
     * @return the number of posted requests, which is all of them
     * @throws IllegalArgumentException if the batch belongs to another queue pair, or the queue has fewer slots
     * @throws VerbsTimeoutException if there were no slots in time: nothing was posted
     * @throws InterruptedException if the thread was interrupted: nothing was posted
     */
    public int post(SendBatch batch, Duration timeout) throws InterruptedException {
        queuePair.lifetime.checkOpen();
        if (!batch.isOf(queuePair)) {
            throw new IllegalArgumentException(batch + " does not belong to " + queuePair);
        }
        Deadline deadline = Deadline.after(timeout);
        while (true) {
            await(batch.size(), timeout, deadline);
            lock.lock(); // no other thread takes the slots
            try {
                if (depth - used >= batch.size()) {
                    return batch.post();
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Posts a send as {@link QueuePair#postSend(long, LocalMemory)} does, and waits for that until there is a slot: see
     * {@link #await}.
     *
     * @param id comes back with the completion
     * @param local the data
     * @param timeout the longest time to wait
     * @throws VerbsTimeoutException if there was no slot in time: nothing was posted
     * @throws InterruptedException if the thread was interrupted: nothing was posted
     */
    public void postSend(long id, LocalMemory local, Duration timeout) throws InterruptedException {
        Runnable post = new Runnable() { // no lambda: see StackRoom.forLinking
                    @Override
                    public void run() {
                        queuePair.postSend(id, local);
                    }
                };
        whenFree(post, timeout);
    }

    /**
     * Posts an RDMA write as {@link QueuePair#postWrite(long, LocalMemory, RemoteMemory)} does, and waits for that until there
     * is a slot: see {@link #await}.
     *
     * @param id comes back with the completion
     * @param local the data
     * @param remote the destination, at least as long
     * @param timeout the longest time to wait
     * @throws VerbsTimeoutException if there was no slot in time: nothing was posted
     * @throws InterruptedException if the thread was interrupted: nothing was posted
     */
    public void postWrite(long id, LocalMemory local, RemoteMemory remote, Duration timeout)
            throws InterruptedException {
        Runnable post = new Runnable() {
            @Override
            public void run() {
                queuePair.postWrite(id, local, remote);
            }
        };
        whenFree(post, timeout);
    }

    /**
     * Posts as soon as there is a slot. The post takes the lock of the queue pair and then that of the slots: a thread that had
     * the slots could wait for one that has the queue pair.
     */
    private void whenFree(Runnable post, Duration timeout) throws InterruptedException {
        Deadline deadline = Deadline.after(timeout);
        while (true) {
            await(1, timeout, deadline);
            try {
                post.run();
                return;
            } catch (PostException full) { // another thread has taken the slot, or the driver has no room
                if (full.errno() != Errno.ENOMEM || (deadline.isOver() && left() > 0)) {
                    throw full;
                }
                if (Thread.interrupted()) { // the next wait does not look if there are slots
                    throw new InterruptedException();
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    // Counting

    /** Forgets all sends, because a reset has dropped them. */
    void reset() {
        lock.lock();
        try {
            forget();
            failed = false;
        } finally {
            lock.unlock();
        }
    }

    private void forget() {
        oldest = 0;
        signaled = 0;
        unsignaled = 0;
        used = 0;
    }

    /** Counts completions that were polled. */
    void completed(long completion) {
        lock.lock();
        try {
            if (Memory.getInt(completion + Completions.STATUS) != 0) {
                failed = true;
                forget();
            } else if ((Memory.getInt(completion + Completions.OPCODE) & WorkCompletion.Opcode.RECEIVE.code()) == 0
                    && signaled > 0) { // else it was posted before a reset
                used -= frees[oldest];
                oldest = oldest + 1 == frees.length ? 0 : oldest + 1;
                signaled--;
            }
        } finally {
            lock.unlock();
        }
    }

    private void posted(long request) {
        used++;
        unsignaled++;
        if ((Memory.getInt(request + SendBatch.FLAGS) & SendBatch.SIGNALED) != 0) {
            int newest = oldest + signaled;
            frees[newest < frees.length ? newest : newest - frees.length] = unsignaled;
            signaled++;
            unsignaled = 0;
        }
    }

    /**
     * Posts as many requests of a batch as there are slots for. Names the first one that was not posted, as C does.
     *
     * @return 0 or an error number
     */
    int drive(SendBatch batch) {
        lock.lock();
        try {
            if (failed) {
                return batch.drive(batch.queueAddress, batch.address);
            }
            long last = 0;
            long next = batch.address;
            for (int left = depth - used; next != 0 && left > 0; left--) {
                last = next;
                next = Memory.getLong(next + WorkBatch.NEXT);
            }
            if (last == 0) {
                Memory.set(batch.refused, batch.address);
                return Errno.ENOMEM;
            }
            Memory.set(last + WorkBatch.NEXT, 0L);
            int result = batch.drive(batch.queueAddress, batch.address);
            Memory.set(last + WorkBatch.NEXT, next);
            long end = result == 0 ? next : Memory.getLong(batch.refused);
            for (long each = batch.address; each != end && each != 0 && (result == 0 || end != 0); ) {
                posted(each);
                each = Memory.getLong(each + WorkBatch.NEXT);
            }
            if (result == 0 && next != 0) {
                Memory.set(batch.refused, next);
                return Errno.ENOMEM;
            }
            return result;
        } finally {
            lock.unlock();
        }
    }

    /** Returns for example {@code 60 of 64 slots of RC queue pair 17 of rxe0 (RTS) are free}. */
    @Override
    public String toString() {
        return left() + " of " + depth + " slots of " + queuePair + " are free";
    }
}

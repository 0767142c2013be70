package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.RECEIVE_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.SEND_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.TYPE;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Errno;
import dev.verbena.verbs.device.QueuePairType;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Fails a queue pair and takes its completions until none is left. The drainer posts a marker of its own to each queue:
 * queues are flushed in order, so nothing is left in a queue when its marker completes.
 */
final class QueuePairDrainer {
    private static final long PAUSE_NANOS = 100_000;
    private static final int PAUSES_BETWEEN_NUDGES = 100;

    private final QueuePair queuePair;
    private final Consumer<? super WorkCompletion> taker;
    private final Marker send = new Marker();
    private final Marker receive = new Marker();

    /** The last request of a queue. */
    private static final class Marker {
        final long id = ThreadLocalRandom.current().nextLong();
        boolean isPosted;
        boolean isBack;

        void notNeeded() {
            isPosted = true;
            isBack = true;
        }

        boolean matches(WorkCompletion completion) {
            return isPosted && !isBack && completion.id() == id;
        }
    }

    private QueuePairDrainer(QueuePair queuePair, Consumer<? super WorkCompletion> taker) {
        this.queuePair = queuePair;
        this.taker = taker;
    }

    static void drain(QueuePair queuePair, Consumer<? super WorkCompletion> taker, Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(taker, "taker"); // before the queue pair fails, and completions are taken
        Objects.requireNonNull(timeout, "timeout");
        if (queuePair.state() != QueuePairState.RESET) {
            new QueuePairDrainer(queuePair, taker).run(timeout);
        }
    }

    private void run(Duration timeout) throws InterruptedException {
        Deadline deadline = Deadline.after(timeout);
        queuePair.fail();
        if (!queuePair.posted.hasSends()) {
            send.notNeeded();
        }
        if (!queuePair.posted.hasOwnReceives()) {
            receive.notNeeded();
        }
        try (AddressHandle path = send.isPosted ? null : pathToItself()) {
            for (int empty = 0; ; ) {
                post(path);
                boolean found = takeAll();
                if (send.isBack && receive.isBack) {
                    return;
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException("while draining " + queuePair);
                }
                if (deadline.isOver()) {
                    throw new VerbsTimeoutException(
                            "drain",
                            queuePair.toString(),
                            timeout,
                            "Does another thread poll the completion queues? It may have polled the marker completion");
                }
                empty = found ? 0 : empty + 1;
                if (!found) {
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
                if (empty % PAUSES_BETWEEN_NUDGES == PAUSES_BETWEEN_NUDGES - 1) {
                    queuePair.fail();
                }
            }
        }
    }

    private void post(@Nullable AddressHandle path) {
        if (!send.isPosted) {
            SendBatch batch = queuePair.batches.newSends(1).send(send.id);
            send.isPosted = fits(path == null ? batch : batch.to(path, queuePair.number, 0));
        }
        if (!receive.isPosted) {
            receive.isPosted = fits(queuePair.batches.newReceives(1).receive(receive.id));
            if (receive.isPosted) {
                queuePair.fail(); // soft-RoCE flushes receives posted after the failure only when it fails again
            }
        }
    }

    /** Returns an address for the marker, which a datagram needs; null for other transports. */
    private @Nullable AddressHandle pathToItself() {
        return TYPE.of(queuePair.options) == QueuePairType.UD
                ? queuePair.domain().createAddressHandle(queuePair.pathTo(queuePair.endpoint()), queuePair.arena())
                : null;
    }

    /** Posts a marker. Returns false if the queue is full, which passes as the queue is flushed. */
    private static boolean fits(WorkBatch<?> marker) {
        try {
            marker.post();
            return true;
        } catch (PostException e) {
            if (e.errno() == Errno.ENOMEM) {
                return false;
            }
            throw e;
        }
    }

    /** Takes what the queues hold now. Other queue pairs may complete for ever there: the deadline is checked in between. */
    private boolean takeAll() {
        boolean found = false;
        for (CompletionQueue queue : completionQueues()) {
            for (int left = queue.capacity(); left > 0; left--) {
                WorkCompletion next = queue.poll();
                if (next == null) {
                    break;
                }
                found = true;
                take(next);
            }
        }
        return found;
    }

    private Set<CompletionQueue> completionQueues() {
        Set<CompletionQueue> queues = new LinkedHashSet<>();
        if (SEND_QUEUE.of(queuePair.options) != null) {
            queues.add(SEND_QUEUE.of(queuePair.options));
        }
        if (RECEIVE_QUEUE.of(queuePair.options) != null) {
            queues.add(RECEIVE_QUEUE.of(queuePair.options));
        }
        return queues;
    }

    private void take(WorkCompletion completion) {
        boolean own = completion.queuePairNumber() == queuePair.number;
        if (own && send.matches(completion)) {
            send.isBack = true;
        } else if (own && receive.matches(completion)) {
            receive.isBack = true;
        } else {
            taker.accept(completion);
        }
    }
}

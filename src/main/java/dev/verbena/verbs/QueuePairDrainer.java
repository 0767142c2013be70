package dev.verbena.verbs;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Errno;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Gives a queue pair up and takes what comes back, until all has. Each queue is told by a last request of our own: queues
 * are flushed in order, so nothing is left when that one comes.
 */
final class QueuePairDrainer {
    private static final long PAUSE_NANOS = 100_000;
    private static final int PAUSES_BETWEEN_NUDGES = 100;

    private final QueuePair queuePair;
    private final Consumer<? super WorkCompletion> taker;
    private final Mark send = new Mark();
    private final Mark receive = new Mark();

    /** The last request of a queue. */
    private static final class Mark {
        final long id = ThreadLocalRandom.current().nextLong();
        boolean isPosted;
        boolean isBack;

        void notNeeded() {
            isPosted = true;
            isBack = true;
        }

        boolean isIt(WorkCompletion completion) {
            return isPosted && !isBack && completion.id() == id;
        }
    }

    private QueuePairDrainer(QueuePair queuePair, Consumer<? super WorkCompletion> taker) {
        this.queuePair = queuePair;
        this.taker = taker;
    }

    static void of(QueuePair queuePair, Consumer<? super WorkCompletion> taker, Duration timeout)
            throws InterruptedException {
        if (queuePair.state() != QueuePairState.RESET) {
            new QueuePairDrainer(queuePair, taker).run(timeout);
        }
    }

    private void run(Duration timeout) throws InterruptedException {
        long start = System.nanoTime();
        queuePair.fail();
        if (!queuePair.hasSent()) {
            send.notNeeded();
        }
        if (!queuePair.hasReceivesOfItsOwn()) {
            receive.notNeeded();
        }
        try (AddressHandle path = send.isPosted ? null : queuePair.pathToItself()) {
            for (int empty = 0; ; ) {
                post(path);
                boolean found = takeAll();
                if (send.isBack && receive.isBack) {
                    return;
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException("while draining " + queuePair);
                }
                if (System.nanoTime() - start >= timeout.toNanos()) {
                    throw new VerbsTimeoutException(
                            "drain",
                            queuePair.toString(),
                            timeout,
                            "Does another thread poll its completion queues? Then what this waits for went there");
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
            send.isPosted = fits(() -> queuePair.postMark(send.id, path));
        }
        if (!receive.isPosted) {
            receive.isPosted = fits(() -> queuePair.postReceiveMark(receive.id));
            if (receive.isPosted) {
                queuePair.fail(); // soft-RoCE does not look at receives that come after the failure until told again
            }
        }
    }

    /** A full queue empties itself as it is flushed. */
    private static boolean fits(Runnable post) {
        try {
            post.run();
            return true;
        } catch (PostException e) {
            if (e.errno() == Errno.ENOMEM) {
                return false;
            }
            throw e;
        }
    }

    private boolean takeAll() {
        boolean found = false;
        for (CompletionQueue queue : queuePair.completionQueues()) {
            Optional<WorkCompletion> next = queue.poll();
            while (next.isPresent()) {
                found = true;
                take(next.get());
                next = queue.poll();
            }
        }
        return found;
    }

    private void take(WorkCompletion completion) {
        boolean own = completion.queuePairNumber() == queuePair.numberEvenIfClosed();
        if (own && send.isIt(completion)) {
            send.isBack = true;
        } else if (own && receive.isIt(completion)) {
            receive.isBack = true;
        } else {
            taker.accept(completion);
        }
    }
}

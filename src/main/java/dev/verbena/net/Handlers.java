package dev.verbena.net;

import dev.verbena.internal.Mutex;
import dev.verbena.internal.link.BiasedLock;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a node's handlers, and the completion of its futures. One thread at a time does both, without any other lock:
 * the node's thread, or with {@link NodeOptions.Progress#CALLER} a thread of the program.
 */
final class Handlers {
    private static final int BATCH = 64;

    private final Engine engine;
    private final int window;

    /** The channels that have something for their handlers. The lock guards it. */
    private final ArrayDeque<Session> ready = new ArrayDeque<>();

    /** The futures whose work has ended. The same lock guards it. */
    private final ArrayDeque<ChannelFuture<?>> finished = new ArrayDeque<>();

    private final BiasedLock readying = new BiasedLock();

    /** True while there is work for handlers or futures. */
    private volatile boolean someReady;

    /** Held by the thread that calls handlers. */
    private final Mutex handling = new Mutex();

    Handlers(Engine engine, int window) {
        this.engine = engine;
        this.window = window;
    }

    /** Returns true while there is work for handlers or futures. */
    boolean haveWork() {
        return someReady;
    }

    /** Returns true while a thread calls handlers. */
    boolean areBusy() {
        return handling.isLocked();
    }

    /** Notes that a channel may have something for its handler. */
    void ready(Session session) {
        try (var _ = readying.held()) {
            if (!session.queued) {
                ready.add(session); // first, because it may fail for lack of memory
                session.queued = true;
                someReady = true;
            }
        }
        engine.wake(Engine.Sleepers.SERVING);
    }

    /** Notes that the work of a future has ended. */
    void finish(ChannelFuture<?> future) {
        try (var _ = readying.held()) {
            finished.add(future);
            someReady = true;
        }
        engine.wake(Engine.Sleepers.SERVING);
    }

    /** Returns the oldest future whose work has ended. It stays until it is complete, for which memory may be missing. */
    private @Nullable ChannelFuture<?> firstFinished() {
        try (var _ = readying.held()) {
            noteRest();
            return finished.peek();
        }
    }

    private void removeFinished(ChannelFuture<?> future) {
        try (var _ = readying.held()) {
            if (finished.peek() == future) { // else code that depends on the future has waited for others
                finished.remove();
            }
        }
    }

    boolean haveFutures() {
        try (var _ = readying.held()) {
            return !finished.isEmpty();
        }
    }

    private void noteRest() {
        if (ready.isEmpty() && finished.isEmpty()) {
            someReady = false;
        }
    }

    /** Completes the futures whose work has ended. The program's code that depends on them runs in this thread. */
    void settle() {
        ChannelFuture<?> future = firstFinished();
        for (int i = 0; future != null; i++) {
            future.settle();
            removeFinished(future);
            afterHandler();
            future = i < BATCH ? firstFinished() : null;
        }
    }

    private @Nullable Session takeReady() {
        try (var _ = readying.held()) {
            Session session = ready.poll();
            if (session != null) {
                session.queued = false;
            }
            noteRest();
            return session;
        }
    }

    /** Calls the handlers that have something to do, unless another thread does, or this one calls from a handler. */
    void serve() {
        if (!someReady || handling.isHeldByCurrentThread() || !handling.tryLock()) {
            return;
        }
        try {
            settle();
            for (int i = 0; i < BATCH && someReady; i++) {
                Session session = takeReady();
                if (session == null) {
                    break;
                }
                try {
                    serve(session);
                } catch (Throwable shortage) {
                    ready(session); // for what is left
                    throw shortage;
                }
            }
        } finally {
            handling.unlock();
        }
        if (someReady) {
            engine.wake(Engine.Sleepers.WAITING); // another thread may have seen that this one is busy
        }
    }

    private void serve(Session session) {
        Messages messages = session.messages;
        Handler with = messages.listening.handler();
        if (with == null) {
            return;
        }
        if (messages.listening.takeOpened()) {
            call(session, with, Handler::opened);
        }
        if (messages.listening.takePathChange()) {
            call(session, with, messages.listening.isToldLost() ? Handler::pathLost : Handler::pathBack);
        }
        int left = window;
        Message message = messages.nextForHandler();
        while (message != null) {
            handle(session, with, message);
            message = --left > 0 ? messages.nextForHandler() : null;
        }
        if (left == 0) {
            ready(session); // after the other channels
        } else if (messages.listening.takeEnd()) {
            call(session, with, Handler::closed);
            if (messages.listening.isOwned()) {
                engine.bury(session);
            }
        }
    }

    private void handle(Session session, Handler with, Message message) {
        long begun = session.messages.beginHandling();
        try {
            if (message.isNotice()) {
                with.written(session.channel, message.notice());
            } else {
                with.received(session.channel, message);
            }
        } catch (Throwable thrown) {
            handlerFailed(session, with, message, thrown);
        }
        if (begun != 0) {
            session.messages.handled(begun);
        }
        afterHandler();
        message.close();
    }

    /** A method of a handler that concerns its channel alone. */
    private interface Word {
        void to(Handler handler, Channel channel) throws Exception;
    }

    private void call(Session session, Handler with, Word word) {
        try {
            word.to(with, session.channel);
        } catch (Throwable thrown) {
            handlerFailed(session, with, null, thrown);
        }
        afterHandler();
    }

    private void handlerFailed(Session session, Handler with, @Nullable Message message, Throwable thrown) {
        if (thrown instanceof InterruptedException) {
            Thread.currentThread().interrupt();
        }
        if (thrown instanceof IllegalStateException && session.isClosing()) { // by another thread
            return;
        }
        boolean asks = message != null && session.messages.isUnanswered(message);
        tell(session, with, message, thrown);
        boolean answered = asks && message != null && !session.messages.isUnanswered(message); // by the handler
        if (!answered && !refused(session, message, thrown)) {
            session.end(EndReason.FAILED, "The handler has thrown " + thrown, thrown);
        }
    }

    /** Counts a failure of a handler, and has the handler see it. */
    private void tell(Session session, Handler with, @Nullable Message message, Throwable thrown) {
        try {
            engine.counts.handlerFailed(session, thrown);
            with.failed(session.channel, message, thrown);
        } catch (Throwable more) { // changes nothing
            if (more != thrown) {
                thrown.addSuppressed(more);
            }
        }
    }

    private static boolean refused(Session session, @Nullable Message message, Throwable thrown) {
        try {
            return message != null && session.messages.refuseAfter(message, thrown);
        } catch (RuntimeException | Error failure) { // ends this channel, and not the node's thread
            thrown.addSuppressed(failure);
            return false;
        }
    }

    /** Clears what a handler may have done to the node's thread. */
    private void afterHandler() {
        if (engine.isLoop() && Thread.interrupted() && engine.isClosed()) {
            Thread.currentThread().interrupt();
        }
    }
}

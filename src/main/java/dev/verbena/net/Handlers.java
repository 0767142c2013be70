package dev.verbena.net;

import dev.verbena.internal.BiasedLock;
import dev.verbena.internal.Mutex;
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
    private final ArrayDeque<ChannelCore> ready = new ArrayDeque<>();

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
    void ready(ChannelCore core) {
        try (var _ = readying.held()) {
            if (!core.queued) {
                ready.add(core); // first, because it may fail for lack of memory
                core.queued = true;
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

    private @Nullable ChannelCore takeReady() {
        try (var _ = readying.held()) {
            ChannelCore core = ready.poll();
            if (core != null) {
                core.queued = false;
            }
            noteRest();
            return core;
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
                ChannelCore core = takeReady();
                if (core == null) {
                    break;
                }
                try {
                    serve(core);
                } catch (Throwable shortage) {
                    ready(core); // for what is left
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

    private void serve(ChannelCore core) {
        Messages messages = core.messages;
        Handler with = messages.handler();
        if (with == null) {
            return;
        }
        if (messages.takeOpened()) {
            call(core, with, true);
        }
        int left = window;
        Message message = messages.nextForHandler();
        while (message != null) {
            handle(core, with, message);
            message = --left > 0 ? messages.nextForHandler() : null;
        }
        if (left == 0) {
            ready(core); // after the other channels
        } else if (messages.takeEnd()) {
            call(core, with, false);
            if (messages.isOwned()) {
                engine.bury(core);
            }
        }
    }

    private void handle(ChannelCore core, Handler with, Message message) {
        try {
            if (message.isNotice()) {
                with.written(core.channel, message.notice());
            } else {
                with.received(core.channel, message);
            }
        } catch (Throwable thrown) {
            handlerFailed(core, with, message, thrown);
        }
        afterHandler();
        message.close();
    }

    private void call(ChannelCore core, Handler with, boolean opened) {
        try {
            if (opened) {
                with.opened(core.channel);
            } else {
                with.closed(core.channel);
            }
        } catch (Throwable thrown) {
            handlerFailed(core, with, null, thrown);
        }
        afterHandler();
    }

    private void handlerFailed(ChannelCore core, Handler with, @Nullable Message message, Throwable thrown) {
        if (thrown instanceof InterruptedException) {
            Thread.currentThread().interrupt();
        }
        if (thrown instanceof IllegalStateException && core.isClosing()) { // by another thread
            return;
        }
        boolean asks = message != null && core.messages.isUnanswered(message);
        tell(core, with, message, thrown);
        boolean answered = asks && message != null && !core.messages.isUnanswered(message); // by the handler
        if (!answered && !refused(core, message, thrown)) {
            core.end(EndReason.FAILED, "The handler has thrown " + thrown, thrown);
        }
    }

    /** Counts a failure of a handler, and has the handler see it. */
    private void tell(ChannelCore core, Handler with, @Nullable Message message, Throwable thrown) {
        try {
            engine.counts.handlerFailed(core, thrown);
            with.failed(core.channel, message, thrown);
        } catch (Throwable more) { // changes nothing
            if (more != thrown) {
                thrown.addSuppressed(more);
            }
        }
    }

    private static boolean refused(ChannelCore core, @Nullable Message message, Throwable thrown) {
        try {
            return message != null && core.messages.refuseAfter(message, thrown);
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

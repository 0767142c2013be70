package dev.verbena.net;

import dev.verbena.internal.BiasedLock;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a channel whose replies complete futures. A request that lacks a number or a credit waits here. It keeps its
 * buffer, so the buffers to send limit the number of requests that wait. The channel's lock guards all fields.
 */
final class AsyncCalls {
    /** A call with a future. */
    final class Entry implements ChannelFuture.Work<Message> {
        private final Buffer request;
        private final ChannelFuture<Message> future = new ChannelFuture<>(engine, this);

        /** The call, once the request was sent. */
        private Calls.@Nullable Call call;

        /** The reason why the request could not be sent. */
        private @Nullable RuntimeException failure;

        private Entry(Buffer request) {
            this.request = request;
        }

        /** Notes that the reply has come, or that the channel has ended. */
        void finish() {
            engine.handlers.finish(future);
        }

        @Override
        public @Nullable Message take() {
            try (var _ = lock.held()) {
                Calls.Call sent = call;
                if (sent != null) {
                    return sent.future == future ? messages.takeReply(sent, false) : null; // null if it is over
                }
                if (failure != null) {
                    throw failure;
                }
                core.checkNotClosed();
                core.checkNotEnded();
                return null;
            }
        }

        @Override
        public void drop(Message reply) {
            reply.close();
        }

        @Override
        public void giveUp() {
            try (var _ = lock.held()) {
                if (call != null && call.future == future) {
                    messages.forget(call);
                } else if (unsent.remove(this)) {
                    messages.makeIdle(request);
                }
            }
        }
    }

    private final ChannelCore core;
    private final Engine engine;
    private final Messages messages;
    private final BiasedLock lock;
    private final ArrayDeque<Entry> unsent = new ArrayDeque<>();

    AsyncCalls(ChannelCore core, Engine engine, Messages messages, BiasedLock lock) {
        this.core = core;
        this.engine = engine;
        this.messages = messages;
        this.lock = lock;
    }

    /** Sends a request now or later, and returns the future of the reply. */
    CompletableFuture<Message> call(Message message) {
        try (var _ = lock.held()) {
            Buffer request = messages.requestable(message);
            Link on = messages.checkCanCall();
            Entry mine = new Entry(request);
            if (!unsent.isEmpty() || !send(on, mine)) {
                request.take(Buffer.State.SENDING); // belongs to the channel
                unsent.add(mine);
            }
            return mine.future;
        }
    }

    private boolean send(Link on, Entry mine) {
        Calls.Call call = messages.trySendRequest(on, mine.request);
        if (call != null) {
            mine.call = call;
            call.future = mine.future;
        }
        return call != null;
    }

    /** Sends the requests that wait, as far as there are numbers and credits. */
    void sendUnsent() {
        Entry next = unsent.peek();
        while (next != null) {
            Link on = core.linkIfOpen();
            try {
                if (on == null || !send(on, next)) {
                    return;
                }
                unsent.remove();
            } catch (RuntimeException refused) {
                unsent.remove();
                messages.makeIdle(next.request);
                next.failure = refused;
                next.finish();
            }
            next = unsent.peek();
        }
    }

    /** Ends the calls whose requests wait. */
    void endUnsent() {
        unsent.forEach(Entry::finish);
    }
}

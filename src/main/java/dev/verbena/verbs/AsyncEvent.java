package dev.verbena.verbs;

/**
 * Something that happened to a device, a port or an object without being asked for ({@code struct ibv_async_event}):
 * see {@link Context#events}.
 *
 * <p>It is a value that can be kept: in C it was acknowledged before it is handed out. The object that it is about is the
 * one that the application made, and may have been closed since.
 *
 * <pre>{@code
 * switch (context.events().await(timeout)) {
 *     case AsyncEvent.OfPort event -> log(event.port(), event.type());
 *     case AsyncEvent.OfQueuePair event -> reconnect(event.queuePair());
 *     case AsyncEvent event -> log(event);
 * }
 * }</pre>
 */
public sealed interface AsyncEvent {
    /**
     * Where it was read.
     *
     * @return the context
     */
    Context context();

    /**
     * What happened.
     *
     * @return the type; {@link AsyncEventType#UNKNOWN} for one that this release does not know
     */
    AsyncEventType type();

    /**
     * What happened, as C's number, also when {@link #type} does not know it.
     *
     * @return the number
     */
    int typeCode();

    /**
     * Of the device as a whole.
     *
     * @param context where it was read
     * @param type what happened
     * @param typeCode the type as C's number
     */
    record OfDevice(Context context, AsyncEventType type, int typeCode) implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, context.name());
        }
    }

    /**
     * Of a port.
     *
     * @param context where it was read
     * @param type what happened
     * @param typeCode the type as C's number
     * @param port the port's number, from 1
     */
    record OfPort(Context context, AsyncEventType type, int typeCode, int port) implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, "port " + port + " of " + context.name());
        }
    }

    /**
     * Of a queue pair.
     *
     * @param context where it was read
     * @param type what happened
     * @param typeCode the type as C's number
     * @param queuePair what it happened to
     */
    record OfQueuePair(Context context, AsyncEventType type, int typeCode, QueuePair queuePair) implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, queuePair.toString());
        }
    }

    /**
     * Of a completion queue. A device may tell of each completion that was lost: those that were not read yet are one
     * event.
     *
     * @param context where it was read
     * @param type what happened
     * @param typeCode the type as C's number
     * @param queue what it happened to
     * @param count how many times it was told
     */
    record OfCompletionQueue(Context context, AsyncEventType type, int typeCode, CompletionQueue queue, int count)
            implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, queue + (count == 1 ? "" : ", " + count + " times"));
        }
    }

    /**
     * Of a shared receive queue.
     *
     * @param context where it was read
     * @param type what happened
     * @param typeCode the type as C's number
     * @param queue what it happened to
     */
    record OfSharedReceiveQueue(Context context, AsyncEventType type, int typeCode, SharedReceiveQueue queue)
            implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, queue.toString());
        }
    }

    /**
     * Of a work queue.
     *
     * @param context where it was read
     * @param type what happened
     * @param typeCode the type as C's number
     * @param queue what it happened to
     */
    record OfWorkQueue(Context context, AsyncEventType type, int typeCode, WorkQueue queue) implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, queue.toString());
        }
    }

    /**
     * Of something else: a type that this release does not know, or an object that was not made with it.
     *
     * @param context where it was read
     * @param type what happened
     * @param typeCode the type as C's number
     * @param element what it happened to, as C tells: a port's number, or an address
     */
    record OfSomethingElse(Context context, AsyncEventType type, int typeCode, long element) implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, context.name() + ", element 0x" + Long.toHexString(element));
        }
    }
}

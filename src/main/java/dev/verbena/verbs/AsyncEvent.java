package dev.verbena.verbs;

/**
 * An asynchronous event of a device, a port or an object ({@code struct ibv_async_event}): see {@link Context#events}.
 *
 * <p>An event is an immutable value that can be kept, because the event in C was acknowledged before. Its object is the
 * one that the application made, and may have been closed since.
 *
 * {@snippet file="DeviceSnippets.java" region="events"}
 */
public sealed interface AsyncEvent {
    /**
     * Returns the context that the event was read from.
     *
     * @return the context
     */
    Context context();

    /**
     * Returns the type of the event.
     *
     * @return the type; {@link AsyncEventType#UNKNOWN} for one that this release does not know
     */
    AsyncEventType type();

    /**
     * Returns the type as C's number, also when {@link #type} does not know it.
     *
     * @return the number
     */
    int typeCode();

    /**
     * An event of the device as a whole.
     *
     * @param context the context that the event was read from
     * @param type the type of the event
     * @param typeCode the type as C's number
     */
    record OfDevice(Context context, AsyncEventType type, int typeCode) implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, context.name());
        }
    }

    /**
     * An event of a port.
     *
     * @param context the context that the event was read from
     * @param type the type of the event
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
     * An event of a queue pair.
     *
     * @param context the context that the event was read from
     * @param type the type of the event
     * @param typeCode the type as C's number
     * @param queuePair the queue pair
     */
    record OfQueuePair(Context context, AsyncEventType type, int typeCode, QueuePair queuePair) implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, queuePair.toString());
        }
    }

    /**
     * An event of a completion queue. A device may report each completion that was lost: the reports that were not read
     * yet are one event.
     *
     * @param context the context that the event was read from
     * @param type the type of the event
     * @param typeCode the type as C's number
     * @param queue the queue
     * @param count the number of reports
     */
    record OfCompletionQueue(Context context, AsyncEventType type, int typeCode, CompletionQueue queue, int count)
            implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, queue + (count == 1 ? "" : ", " + count + " times"));
        }
    }

    /**
     * An event of a shared receive queue.
     *
     * @param context the context that the event was read from
     * @param type the type of the event
     * @param typeCode the type as C's number
     * @param queue the queue
     */
    record OfSharedReceiveQueue(Context context, AsyncEventType type, int typeCode, SharedReceiveQueue queue)
            implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, queue.toString());
        }
    }

    /**
     * An event of a work queue.
     *
     * @param context the context that the event was read from
     * @param type the type of the event
     * @param typeCode the type as C's number
     * @param queue the queue
     */
    record OfWorkQueue(Context context, AsyncEventType type, int typeCode, WorkQueue queue) implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, queue.toString());
        }
    }

    /**
     * An event of another kind: its type is unknown to this release, or its object was not made with this library.
     *
     * @param context the context that the event was read from
     * @param type the type of the event
     * @param typeCode the type as C's number
     * @param element the subject in C: a port's number, or an address
     */
    record OfSomethingElse(Context context, AsyncEventType type, int typeCode, long element) implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, context.name() + ", element 0x" + Long.toHexString(element));
        }
    }
}

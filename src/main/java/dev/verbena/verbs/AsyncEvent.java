package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.internal.raw.rdma_h;

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
     * @return the type; {@link Type#UNKNOWN} for one that this release does not know
     */
    Type type();

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
    record OfDevice(Context context, Type type, int typeCode) implements AsyncEvent {
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
    record OfPort(Context context, Type type, int typeCode, int port) implements AsyncEvent {
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
    record OfQueuePair(Context context, Type type, int typeCode, QueuePair queuePair) implements AsyncEvent {
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
    record OfCompletionQueue(Context context, Type type, int typeCode, CompletionQueue queue, int count)
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
    record OfSharedReceiveQueue(Context context, Type type, int typeCode, SharedReceiveQueue queue)
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
    record OfWorkQueue(Context context, Type type, int typeCode, WorkQueue queue) implements AsyncEvent {
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
    record OfSomethingElse(Context context, Type type, int typeCode, long element) implements AsyncEvent {
        @Override
        public String toString() {
            return AsyncEvents.describe(this, context.name() + ", element 0x" + Long.toHexString(element));
        }
    }

    /** The type of an asynchronous event ({@code enum ibv_event_type}). */
    enum Type {
        /** A completion queue is broken, most often because more completed than it holds ({@code IBV_EVENT_CQ_ERR}). */
        CQ_ERR(
                rdma_h.IBV_EVENT_CQ_ERR,
                Source.COMPLETION_QUEUE,
                "the completion queue is in error, most often overrun"),
        /** A queue pair failed, and no completion reports the failure ({@code IBV_EVENT_QP_FATAL}). */
        QP_FATAL(rdma_h.IBV_EVENT_QP_FATAL, Source.QUEUE_PAIR, "the queue pair failed, and no completion reports it"),
        /** The peer sent something invalid ({@code IBV_EVENT_QP_REQ_ERR}). */
        QP_REQ_ERR(rdma_h.IBV_EVENT_QP_REQ_ERR, Source.QUEUE_PAIR, "the peer sent an invalid request"),
        /** The peer asked for memory that it may not use ({@code IBV_EVENT_QP_ACCESS_ERR}). */
        QP_ACCESS_ERR(
                rdma_h.IBV_EVENT_QP_ACCESS_ERR, Source.QUEUE_PAIR, "the peer asked for memory that it may not use"),
        /** A message arrived before the queue pair was ready to send ({@code IBV_EVENT_COMM_EST}). */
        COMM_EST(rdma_h.IBV_EVENT_COMM_EST, Source.QUEUE_PAIR, "the peer's first message arrived"),
        /** The requests that were under way when the queue pair went to SQD are done ({@code IBV_EVENT_SQ_DRAINED}). */
        SQ_DRAINED(rdma_h.IBV_EVENT_SQ_DRAINED, Source.QUEUE_PAIR, "the send queue is drained"),
        /** The connection moved to its alternate path ({@code IBV_EVENT_PATH_MIG}). */
        PATH_MIG(rdma_h.IBV_EVENT_PATH_MIG, Source.QUEUE_PAIR, "the connection moved to the alternate path"),
        /** The connection could not move to its alternate path ({@code IBV_EVENT_PATH_MIG_ERR}). */
        PATH_MIG_ERR(
                rdma_h.IBV_EVENT_PATH_MIG_ERR,
                Source.QUEUE_PAIR,
                "the connection could not move to the alternate path"),
        /** The device failed or is being removed: nothing works any more ({@code IBV_EVENT_DEVICE_FATAL}). */
        DEVICE_FATAL(rdma_h.IBV_EVENT_DEVICE_FATAL, Source.DEVICE, "the device failed or is being removed"),
        /** A port works ({@code IBV_EVENT_PORT_ACTIVE}). */
        PORT_ACTIVE(rdma_h.IBV_EVENT_PORT_ACTIVE, Source.PORT, "the port is active"),
        /** A port does not work any more ({@code IBV_EVENT_PORT_ERR}). */
        PORT_ERR(rdma_h.IBV_EVENT_PORT_ERR, Source.PORT, "the port is not active any more"),
        /** A port has another local identifier ({@code IBV_EVENT_LID_CHANGE}). */
        LID_CHANGE(rdma_h.IBV_EVENT_LID_CHANGE, Source.PORT, "the port's local identifier changed"),
        /** A port's table of partition keys changed ({@code IBV_EVENT_PKEY_CHANGE}). */
        PKEY_CHANGE(rdma_h.IBV_EVENT_PKEY_CHANGE, Source.PORT, "the port's partition keys changed"),
        /** A port has another subnet manager ({@code IBV_EVENT_SM_CHANGE}). */
        SM_CHANGE(rdma_h.IBV_EVENT_SM_CHANGE, Source.PORT, "the port's subnet manager changed"),
        /** A shared receive queue is broken ({@code IBV_EVENT_SRQ_ERR}). */
        SRQ_ERR(rdma_h.IBV_EVENT_SRQ_ERR, Source.SHARED_RECEIVE_QUEUE, "the shared receive queue is in error"),
        /** A shared receive queue has fewer receives than its limit ({@code IBV_EVENT_SRQ_LIMIT_REACHED}). */
        SRQ_LIMIT_REACHED(
                rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED,
                Source.SHARED_RECEIVE_QUEUE,
                "the shared receive queue has fewer receives than its limit"),
        /**
         * A queue pair in error took its last receive from the shared queue ({@code IBV_EVENT_QP_LAST_WQE_REACHED}).
         */
        QP_LAST_WQE_REACHED(
                rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED,
                Source.QUEUE_PAIR,
                "the queue pair will take no more from the shared receive queue"),
        /** A port's subnet manager wants clients to register anew ({@code IBV_EVENT_CLIENT_REREGISTER}). */
        CLIENT_REREGISTER(
                rdma_h.IBV_EVENT_CLIENT_REREGISTER, Source.PORT, "the subnet manager wants clients to register anew"),
        /** A port's GID table changed ({@code IBV_EVENT_GID_CHANGE}). */
        GID_CHANGE(rdma_h.IBV_EVENT_GID_CHANGE, Source.PORT, "the port's GID table changed"),
        /** A work queue failed ({@code IBV_EVENT_WQ_FATAL}). */
        WQ_FATAL(rdma_h.IBV_EVENT_WQ_FATAL, Source.WORK_QUEUE, "the work queue failed"),
        /** The device's speed changed ({@code IBV_EVENT_DEVICE_SPEED_CHANGE}). */
        DEVICE_SPEED_CHANGE(rdma_h.IBV_EVENT_DEVICE_SPEED_CHANGE, Source.DEVICE, "the device's speed changed"),
        /** A number that this release does not know. */
        UNKNOWN(-1, Source.UNKNOWN, "an event that this release does not know");

        /** The kind of thing that an event is about. */
        enum Source {
            /** The device as a whole. */
            DEVICE,
            /** A port of the device. */
            PORT,
            /** A queue pair. */
            QUEUE_PAIR,
            /** A completion queue. */
            COMPLETION_QUEUE,
            /** A shared receive queue. */
            SHARED_RECEIVE_QUEUE,
            /** A work queue. */
            WORK_QUEUE,
            /** A kind that this release does not know. */
            UNKNOWN
        }

        private static final Type[] VALUES = values();

        private final int code;
        private final Source source;
        private final String meaning;

        Type(int code, Source source, String meaning) {
            this.code = code;
            this.source = source;
            this.meaning = meaning;
        }

        /**
         * Returns the number in C.
         *
         * @return the value of the C constant
         */
        public int code() {
            return code;
        }

        Source source() {
            return source;
        }

        /**
         * Returns the meaning in words, as {@code ibv_event_type_str} does in C.
         *
         * @return a sentence without its full stop
         */
        @CName("ibv_event_type_str")
        public String meaning() {
            return meaning;
        }

        /**
         * Returns the constant for a number.
         *
         * @param code the number in C
         * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
         */
        public static Type of(int code) {
            return code >= 0 && code < VALUES.length - 1 ? VALUES[code] : UNKNOWN;
        }
    }
}

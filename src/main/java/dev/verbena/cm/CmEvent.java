package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.internal.EnumCodec;

/**
 * An event of the connection manager ({@code struct rdma_cm_event}): a copy that was acknowledged before it was handed out.
 * Events cannot be changed, and all threads can use them.
 *
 * <p>Taking an event has side effects in C. {@code rdma_get_cm_event} makes the queue pair of the connecting side ready
 * before {@link Type#ESTABLISHED}. It attaches a queue pair to a group before {@link Type#MULTICAST_JOIN}. It
 * makes a new id for a {@link Request}.
 */
public sealed interface CmEvent {
    /**
     * Returns the id that the event belongs to.
     *
     * @return the id; for a {@link Request} the listening id
     */
    ConnectionId id();

    /**
     * Returns the type of the event.
     *
     * @return the type, or {@link Type#UNKNOWN}
     */
    Type type();

    /**
     * Returns the type's number in C, also of a type that this release does not know.
     *
     * @return the number
     */
    int typeCode();

    /**
     * Returns the status: 0, a negative {@code errno}, or a reason code of the transport.
     *
     * @return the number in C
     */
    int status();

    /**
     * An event that has nothing but its type: a step was resolved, ended or changed.
     *
     * @param id the id that the event belongs to
     * @param type the type of the event
     * @param typeCode the type's number
     * @param status the status
     */
    record Notice(ConnectionId id, Type type, int typeCode, int status) implements CmEvent {}

    /**
     * An event that reports a failure.
     *
     * @param id the id that the event belongs to
     * @param type the type of the event
     * @param typeCode the type's number
     * @param status the status
     */
    record Failure(ConnectionId id, Type type, int typeCode, int status) implements CmEvent {
        /**
         * Returns the reason in words.
         *
         * @return for example {@code ETIMEDOUT (timed out)}
         */
        public String reason() {
            return RejectReason.of(type, status);
        }
    }

    /**
     * An event that reports that the peer rejected the connection.
     *
     * @param id the id that the event belongs to
     * @param type {@link Type#REJECTED}
     * @param typeCode the type's number
     * @param status the reason's number
     * @param privateData the peer's private data, padded
     */
    record Rejected(ConnectionId id, Type type, int typeCode, int status, PrivateData privateData) implements CmEvent {
        /**
         * Returns the reason in words.
         *
         * @return for example {@code no program listens on this port}
         */
        public String reason() {
            return RejectReason.of(type, status);
        }
    }

    /**
     * An event that reports that a connection is established, or that the peer accepted it.
     *
     * @param id the id that the event belongs to
     * @param type {@link Type#ESTABLISHED} or {@link Type#CONNECT_RESPONSE}
     * @param typeCode the type's number
     * @param status the status
     * @param parameters the peer's parameters, with its private data, padded
     */
    record Connected(ConnectionId id, Type type, int typeCode, int status, ConnectionParameters parameters)
            implements CmEvent {}

    /**
     * An event that reports that a datagram service was found, or a multicast group joined.
     *
     * @param id the id that the event belongs to
     * @param type {@link Type#ESTABLISHED} or {@link Type#MULTICAST_JOIN}
     * @param typeCode the type's number
     * @param status the status
     * @param target the destination of datagrams
     * @param privateData the peer's private data, padded
     */
    record DatagramReady(
            ConnectionId id, Type type, int typeCode, int status, DatagramTarget target, PrivateData privateData)
            implements CmEvent {}

    /**
     * An event that reports that a peer wants to connect.
     *
     * @param id the listening id
     * @param type {@link Type#CONNECT_REQUEST}
     * @param typeCode the type's number
     * @param status the status
     * @param request the request to accept or reject
     */
    record Request(ConnectionId id, Type type, int typeCode, int status, ConnectRequest request) implements CmEvent {}

    /**
     * An event that a program {@linkplain ConnectionId#postEvent posted} itself.
     *
     * @param id the id that the event belongs to
     * @param type {@link Type#USER}
     * @param typeCode the type's number
     * @param status as posted
     * @param argument as posted
     */
    record User(ConnectionId id, Type type, int typeCode, int status, long argument) implements CmEvent {}

    /** The type of an event of the connection manager ({@code enum rdma_cm_event_type}). */
    enum Type {
        /** The address has a device and a port to be reached by. */
        ADDRESS_RESOLVED(0, "RDMA_CM_EVENT_ADDR_RESOLVED", "the address was resolved"),
        /** No machine answers for the address. */
        ADDRESS_ERROR(1, "RDMA_CM_EVENT_ADDR_ERROR", "the address can't be resolved"),
        /** The route to the address is known. */
        ROUTE_RESOLVED(2, "RDMA_CM_EVENT_ROUTE_RESOLVED", "the route was resolved"),
        /** There is no route to the address. */
        ROUTE_ERROR(3, "RDMA_CM_EVENT_ROUTE_ERROR", "there is no route to the address"),
        /** A peer wants to connect to a listening id. */
        CONNECT_REQUEST(4, "RDMA_CM_EVENT_CONNECT_REQUEST", "a peer wants to connect"),
        /** The peer has accepted, and a queue pair that was not made on the id is to be made ready. */
        CONNECT_RESPONSE(5, "RDMA_CM_EVENT_CONNECT_RESPONSE", "the peer has accepted"),
        /** Connecting or accepting failed. */
        CONNECT_ERROR(6, "RDMA_CM_EVENT_CONNECT_ERROR", "the connection could not be made"),
        /** The peer's machine does not answer, or there is no such peer. */
        UNREACHABLE(7, "RDMA_CM_EVENT_UNREACHABLE", "the peer does not answer"),
        /** The peer has rejected the connection. */
        REJECTED(8, "RDMA_CM_EVENT_REJECTED", "the peer has rejected the connection"),
        /** The connection is established. */
        ESTABLISHED(9, "RDMA_CM_EVENT_ESTABLISHED", "the connection is established"),
        /** The connection was ended, by one side or the other. */
        DISCONNECTED(10, "RDMA_CM_EVENT_DISCONNECTED", "the connection was ended"),
        /**
         * The device is being removed: close all its objects. The kernel does not report it if its module
         * {@code ib_uverbs} was loaded after {@code rdma_cm}, which is possible since soft-RoCE of some release after
         * Linux 6.12 no longer loads it. While a thread waits for an event, or a {@link Connection} is open, Verbena
         * looks once a second whether the device is still in {@code /sys/class/infiniband_verbs}, and then reports the
         * event itself.
         */
        DEVICE_REMOVAL(11, "RDMA_CM_EVENT_DEVICE_REMOVAL", "the device was removed"),
        /** A multicast group was joined. */
        MULTICAST_JOIN(12, "RDMA_CM_EVENT_MULTICAST_JOIN", "the multicast group was joined"),
        /** A multicast group could not be joined, or was lost. */
        MULTICAST_ERROR(13, "RDMA_CM_EVENT_MULTICAST_ERROR", "the multicast group can't be joined, or was lost"),
        /** The address has moved to another network device. */
        ADDRESS_CHANGE(14, "RDMA_CM_EVENT_ADDR_CHANGE", "the address has moved to another network device"),
        /** The queue pair's waiting time after a connection is over: it may be used again. */
        TIMEWAIT_EXIT(15, "RDMA_CM_EVENT_TIMEWAIT_EXIT", "the queue pair may be used again"),
        /** The addresses of a service were found, for {@link ConnectionId#resolveAddressInfo}. */
        ADDRESS_INFO_RESOLVED(16, "RDMA_CM_EVENT_ADDRINFO_RESOLVED", "the service was found"),
        /** There is no such service, for {@link ConnectionId#resolveAddressInfo}. */
        ADDRESS_INFO_ERROR(17, "RDMA_CM_EVENT_ADDRINFO_ERROR", "the service was not found"),
        /** A program has {@linkplain ConnectionId#postEvent posted} the event. */
        USER(18, "RDMA_CM_EVENT_USER", "the program has posted the event"),
        /** An event for the connection manager's library itself. */
        INTERNAL(19, "RDMA_CM_EVENT_INTERNAL", "for the connection manager itself"),
        /** A number that this release does not know: see {@link CmEvent#typeCode}. */
        UNKNOWN(-1, "", "unknown");

        private final int code;
        private final String cName;
        private final String meaning;

        Type(int code, String cName, String meaning) {
            this.code = code;
            this.cName = cName;
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

        /**
         * Returns the name that {@code rdma_event_str} returns.
         *
         * @return a name, such as {@code RDMA_CM_EVENT_ESTABLISHED}; empty for {@link #UNKNOWN}
         */
        @CName("rdma_event_str")
        public String cName() {
            return cName;
        }

        /**
         * Returns the meaning of the type in words.
         *
         * @return for example {@code the peer has rejected the connection}
         */
        public String meaning() {
            return meaning;
        }

        /**
         * Finds the constant for a number.
         *
         * @param code the number in C
         * @return the constant, or {@link #UNKNOWN}
         */
        public static Type of(int code) {
            return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
        }

        /** Returns true if the type reports that a step has failed or was ended. */
        boolean isEnd() {
            return switch (this) {
                case ADDRESS_ERROR,
                        ROUTE_ERROR,
                        CONNECT_ERROR,
                        UNREACHABLE,
                        REJECTED,
                        DISCONNECTED,
                        DEVICE_REMOVAL,
                        ADDRESS_INFO_ERROR -> true;
                default -> false;
            };
        }
    }
}

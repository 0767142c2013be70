package dev.verbena.cm;

import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.rdma_cm_event;
import dev.verbena.internal.raw.rdma_cm_id;
import dev.verbena.internal.raw.rdma_ud_param;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * A copy of a {@code struct rdma_cm_event}, made before the event is acknowledged.
 *
 * @param id the {@code struct rdma_cm_id}; of a request the new id
 * @param listener the listening id of a request, or 0
 * @param parameters the parameters of a connection
 * @param target the destination of datagrams
 * @param argument the argument of an event that a program posted itself
 */
record RawEvent(
        long id,
        long listener,
        CmEvent.Type type,
        int code,
        int status,
        @Nullable ConnectionParameters parameters,
        @Nullable DatagramTarget target,
        PrivateData privateData,
        long argument) {
    static RawEvent read(long pointer) {
        MemorySegment event = Memory.struct(pointer, rdma_cm_event.sizeof());
        int code = rdma_cm_event.event(event);
        CmEvent.Type type = CmEvent.Type.of(code);
        long id = Memory.getLong(pointer + rdma_cm_event.id$offset());
        long listener = Memory.getLong(pointer + rdma_cm_event.listen_id$offset());
        int status = rdma_cm_event.status(event);
        MemorySegment param = rdma_cm_event.param(event);
        return switch (type) {
            case CONNECT_REQUEST, CONNECT_RESPONSE, ESTABLISHED, REJECTED, UNREACHABLE -> {
                if (hasDatagrams(id)) {
                    yield datagram(id, listener, type, code, status, rdma_cm_event.param.ud(param));
                }
                ConnectionParameters parameters = ConnectionParameters.read(rdma_cm_event.param.conn(param));
                yield new RawEvent(id, listener, type, code, status, parameters, null, parameters.privateData(), 0);
            }
            case MULTICAST_JOIN -> datagram(id, listener, type, code, status, rdma_cm_event.param.ud(param));
            case USER ->
                new RawEvent(
                        id,
                        listener,
                        type,
                        code,
                        status,
                        null,
                        null,
                        PrivateData.NONE,
                        param.get(ValueLayout.JAVA_LONG_UNALIGNED, 0));
            default -> new RawEvent(id, listener, type, code, status, null, null, PrivateData.NONE, 0);
        };
    }

    /** Returns the event that C reports when the device of an id is removed. */
    static RawEvent removal(long id) {
        CmEvent.Type type = CmEvent.Type.DEVICE_REMOVAL;
        return new RawEvent(id, 0, type, type.code(), 0, null, null, PrivateData.NONE, 0);
    }

    private static boolean hasDatagrams(long id) {
        return Memory.getInt(id + rdma_cm_id.qp_type$offset()) == QueuePairType.UD.code();
    }

    private static RawEvent datagram(
            long id, long listener, CmEvent.Type type, int code, int status, MemorySegment parameters) {
        DatagramTarget target = status != 0 || type == CmEvent.Type.CONNECT_REQUEST
                ? null
                : new DatagramTarget(
                        VerbsAccess.get().readPath(rdma_ud_param.ah_attr(parameters)),
                        rdma_ud_param.qp_num(parameters) & 0xffffff,
                        rdma_ud_param.qkey(parameters));
        return new RawEvent(
                id,
                listener,
                type,
                code,
                status,
                null,
                target,
                ConnectionParameters.data(
                        Memory.getLong(parameters.address() + rdma_ud_param.private_data$offset()),
                        Byte.toUnsignedInt(rdma_ud_param.private_data_len(parameters))),
                0);
    }

    boolean isRequest() {
        return type == CmEvent.Type.CONNECT_REQUEST;
    }

    /** Returns the id that the event belongs to. */
    long about() {
        return isRequest() ? listener : id;
    }

    CmEvent value(ConnectionId owner) {
        if (target != null) {
            return new CmEvent.DatagramReady(owner, type, code, status, target, privateData);
        }
        return switch (type) {
            case REJECTED -> new CmEvent.Rejected(owner, type, code, status, privateData);
            case ESTABLISHED, CONNECT_RESPONSE ->
                new CmEvent.Connected(
                        owner,
                        type,
                        code,
                        status,
                        parameters == null ? ConnectionParameters.defaults().privateData(privateData) : parameters);
            case ADDRESS_ERROR,
                    ROUTE_ERROR,
                    CONNECT_ERROR,
                    UNREACHABLE,
                    DEVICE_REMOVAL,
                    MULTICAST_ERROR,
                    ADDRESS_INFO_ERROR -> new CmEvent.Failure(owner, type, code, status);
            case USER -> new CmEvent.User(owner, type, code, status, argument);
            default -> new CmEvent.Notice(owner, type, code, status);
        };
    }

    CmEvent requestValue(ConnectionId owner, ConnectRequest request) {
        return new CmEvent.Request(owner, type, code, status, request);
    }
}

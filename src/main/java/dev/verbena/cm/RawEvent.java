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
        ConnectionParameters parameters = null;
        DatagramTarget target = null;
        PrivateData data = PrivateData.NONE;
        long argument = 0;
        if (type == CmEvent.Type.MULTICAST_JOIN || (isOfConnection(type) && hasDatagrams(id))) {
            MemorySegment datagrams = rdma_cm_event.param.ud(param);
            target = status != 0 || type == CmEvent.Type.CONNECT_REQUEST ? null : target(datagrams);
            data = ConnectionParameters.data(
                    Memory.getLong(datagrams.address() + rdma_ud_param.private_data$offset()),
                    Byte.toUnsignedInt(rdma_ud_param.private_data_len(datagrams)));
        } else if (isOfConnection(type)) {
            parameters = ConnectionParameters.read(rdma_cm_event.param.conn(param));
            data = parameters.privateData();
        } else if (type == CmEvent.Type.USER) {
            argument = param.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
        }
        return new RawEvent(id, listener, type, code, status, parameters, target, data, argument);
    }

    private static boolean isOfConnection(CmEvent.Type type) {
        return switch (type) {
            case CONNECT_REQUEST, CONNECT_RESPONSE, ESTABLISHED, REJECTED, UNREACHABLE -> true;
            default -> false;
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

    private static DatagramTarget target(MemorySegment parameters) {
        return new DatagramTarget(
                VerbsAccess.get().readPath(rdma_ud_param.ah_attr(parameters)),
                rdma_ud_param.qp_num(parameters) & 0xffffff,
                rdma_ud_param.qkey(parameters));
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

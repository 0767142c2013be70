package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.ibv_ece;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.verbs.Attribute;
import dev.verbena.verbs.Ece;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Objects;

/** The handshake of an id: connects, accepts, rejects and disconnects, and keeps the queue pair's state in step. */
final class Handshake {
    /** The number of bytes that all transports send with an answer. The kernel forgets the peer after a longer answer. */
    private static final int ACCEPT_DATA = 196;

    /** The same for a rejection. */
    private static final int REJECT_DATA = 148;

    private final CmId id;
    private final IdQueues queues;

    Handshake(CmId id, IdQueues queues) {
        this.id = id;
        this.queues = queues;
    }

    void beginAccept(ConnectionParameters parameters) {
        id.lifetime.checkOpen();
        QueuePair pair = queues.queuePair();
        if (pair == null && parameters.queuePairNumber() == 0) {
            throw new IllegalStateException(id + " has no queue pair to accept with");
        }
        ConnectionParameters all =
                pair == null ? parameters : parameters.queuePair(pair.number(), parameters.sharedReceives());
        try {
            id.call(RdmaCm.ACCEPT, id, all.privateData(), scratch -> CmId.values(all.write(scratch)));
        } catch (VerbsException refused) {
            throw all.privateData().size() > ACCEPT_DATA ? refused : id.explain(refused);
        }
        established();
    }

    void accept(ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        requireArguments(parameters, timeout);
        beginAccept(parameters);
        if (!id.hasDatagrams()) {
            id.events.awaitEnd(RdmaCm.ACCEPT, timeout, CmEvent.Type.ESTABLISHED);
        }
    }

    void accept(QueuePair own, ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        requireArguments(parameters, timeout);
        id.lifetime.checkOpen();
        try {
            prepare(own);
            if (own.type() != QueuePairType.UD) {
                bring(own, QueuePairState.RTR);
                bring(own, QueuePairState.RTS);
            }
        } catch (VerbsException refused) {
            throw id.explain(refused);
        }
        accept(parameters.queuePair(own.number(), parameters.sharedReceives()), timeout);
    }

    void reject(PrivateData data) {
        try {
            callReject(RdmaCm.REJECT, data);
        } catch (VerbsException refused) {
            throw data.size() > REJECT_DATA ? refused : id.explain(refused);
        }
    }

    void rejectEce(PrivateData data) {
        require(RdmaCm.REJECT_ECE);
        callReject(RdmaCm.REJECT_ECE, data);
    }

    private void callReject(CFunction function, PrivateData data) {
        id.call(function, id, data, scratch -> CmId.values(ConnectionParameters.write(data, scratch), data.size()));
    }

    void beginConnect(ConnectionParameters parameters) {
        PrivateData data = parameters.privateData();
        id.lifetime.checkOpen();
        boolean before = id.events.disconnected;
        id.events.disconnected = false; // before the call: the connection may end at once
        try {
            id.call(RdmaCm.CONNECT, id.toPeer(), data, scratch -> CmId.values(parameters.write(scratch)));
        } catch (Throwable t) {
            id.events.disconnected |= before;
            throw t;
        }
    }

    private static void requireArguments(ConnectionParameters parameters, Duration timeout) {
        Objects.requireNonNull(parameters, "parameters"); // before a state changes
        Objects.requireNonNull(timeout, "timeout");
    }

    CmEvent connect(ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        requireArguments(parameters, timeout);
        id.lifetime.checkOpen();
        if (queues.queuePair() == null && !id.hasDatagrams()) {
            throw new IllegalStateException(id + " has no queue pair to connect: createQueuePair makes one");
        }
        beginConnect(parameters);
        return id.events.awaitEnd(RdmaCm.CONNECT, timeout, CmEvent.Type.ESTABLISHED);
    }

    CmEvent connect(QueuePair own, ConnectionParameters parameters, Duration timeout) throws InterruptedException {
        requireArguments(parameters, timeout);
        id.lifetime.checkOpen();
        prepare(own);
        beginConnect(parameters.queuePair(own.number(), parameters.sharedReceives()));
        if (id.hasDatagrams()) {
            return id.events.awaitEnd(RdmaCm.CONNECT, timeout, CmEvent.Type.ESTABLISHED);
        }
        CmEvent response =
                id.events.awaitEnd(RdmaCm.CONNECT, timeout, CmEvent.Type.CONNECT_RESPONSE, CmEvent.Type.ESTABLISHED);
        if (response.type() == CmEvent.Type.ESTABLISHED) {
            VerbsAccess.get().noteState(own, QueuePairState.RTS); // over iWARP, where the kernel makes it ready
            return response;
        }
        prepare(own); // again: only the response says whether the peer may read
        bring(own, QueuePairState.RTR);
        bring(own, QueuePairState.RTS);
        establish();
        return response;
    }

    /**
     * Brings a queue pair to INIT, also if it is there already. Receives can be posted from INIT on, and must be posted
     * before the peer can send. The peer's rights, such as to read, are known only once it has answered.
     */
    private void prepare(QueuePair own) {
        if (own.state() == QueuePairState.RESET || own.state() == QueuePairState.INIT) {
            bring(own, QueuePairState.INIT);
        }
    }

    void bring(QueuePair own, QueuePairState to) {
        id.lifetime.checkOpen();
        own.state(); // throws if the queue pair is closed
        QueuePairAttributes attributes = attributesFor(to);
        own.modify(attributes);
        if (!attributes.mask().contains(Attribute.STATE)) {
            VerbsAccess.get().noteState(own, to);
        }
    }

    QueuePairAttributes attributesFor(QueuePairState to) {
        require(RdmaCm.INIT_QP_ATTR);
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment attributes = ibv_qp_attr.allocate(memory);
            MemorySegment mask = memory.allocate(ValueLayout.JAVA_INT);
            ibv_qp_attr.qp_state(attributes, to.code());
            id.call(RdmaCm.INIT_QP_ATTR, id + " to " + to, attributes.address(), mask.address());
            return VerbsAccess.get().readAttributes(attributes, mask.get(ValueLayout.JAVA_INT, 0));
        }
    }

    void establish() {
        require(RdmaCm.ESTABLISH);
        id.call(RdmaCm.ESTABLISH, id.toPeer());
    }

    /** Notes that C has made the id's queue pair ready. */
    void established() {
        QueuePair pair = queues.queuePair();
        if (pair != null) {
            VerbsAccess.get().noteState(pair, QueuePairState.RTS);
        }
    }

    void beginDisconnect() {
        id.call(RdmaCm.DISCONNECT, id.toPeer());
        failed();
    }

    /** Notes that C has failed the id's queue pair. */
    void failed() {
        QueuePair pair = queues.queuePair();
        if (pair != null && pair.isOpen()) {
            VerbsAccess.get().noteState(pair, QueuePairState.ERR);
        }
    }

    void disconnect(Duration timeout) throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // before the connection ends
        beginDisconnect();
        if (!id.events.disconnected) {
            id.events.awaitEnd(RdmaCm.DISCONNECT, timeout, CmEvent.Type.DISCONNECTED);
        }
    }

    boolean isDisconnected() {
        id.lifetime.checkOpen();
        id.events.take(type -> false); // has the channel read new events
        return id.events.disconnected;
    }

    void offerEce(Ece offer) {
        require(RdmaCm.SET_LOCAL_ECE);
        id.call(RdmaCm.SET_LOCAL_ECE, id + ", " + offer, scratch -> {
            MemorySegment memory = ibv_ece.allocate(scratch);
            ibv_ece.vendor_id(memory, offer.vendorId());
            ibv_ece.options(memory, offer.options());
            return CmId.values(memory);
        });
    }

    Ece peerEce() {
        require(RdmaCm.GET_REMOTE_ECE);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = ibv_ece.allocate(arena);
            id.call(RdmaCm.GET_REMOTE_ECE, id, memory.address());
            return new Ece(ibv_ece.vendor_id(memory), ibv_ece.options(memory));
        }
    }

    /** Checks that the id is open and that the installed rdma-core has a function. */
    private void require(CFunction function) {
        id.lifetime.checkOpen();
        Failures.require(function, id.toString());
    }
}

package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.PORT;
import static dev.verbena.verbs.QueuePairOptions.RECEIVE_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.SEND_QUEUE;
import static dev.verbena.verbs.QueuePairOptions.TYPE;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.Recorder;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_ece;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.internal.raw.ibv_qp_init_attr;
import dev.verbena.internal.raw.ibv_qp_rate_limit_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The states of one queue pair: the state as far as this process knows it, the way from one state to the next, the other
 * attributes that C knows, and the failure that ended the work. The state opens and shuts the {@linkplain PostPath paths}.
 *
 * <p>All threads may ask. A change of state is a call into C, which the driver makes one after the other.
 */
final class QueuePairStateMachine {
    /** The number of times that the device is asked for the state before a failure counts as old. */
    private static final int QUERIES = 3;

    private final QueuePair queuePair;
    private final ObjectLifetime lifetime;
    private final Context context;
    private final QueuePairOptions options;
    private final QueuePairAddress addressing;
    private final PostPath sends;
    private final PostPath receives;
    private final PostedRequests posted;

    private volatile QueuePairState state = QueuePairState.RESET;
    private volatile boolean isKnown = true;
    private volatile @Nullable WorkCompletion firstFailure;
    /** Makes the exception for the end of the queue pair's connection, or returns null; null if it has no connection. */
    private volatile @Nullable Supplier<? extends @Nullable VerbsException> connection;

    /** The channel of a node that has this queue pair, as text; empty for others. */
    private volatile String channel = "";

    /** True if completions may come that have the number of this queue pair, and report work before its time. */
    private volatile boolean expectsOldCompletions;

    QueuePairStateMachine(
            QueuePair queuePair,
            QueuePairAddress addressing,
            long longestMessage,
            PostPath sends,
            PostPath receives,
            PostedRequests posted) {
        this.queuePair = queuePair;
        this.lifetime = queuePair.lifetime;
        this.context = queuePair.context;
        this.options = queuePair.options;
        this.addressing = addressing;
        this.sends = sends;
        this.receives = receives;
        this.posted = posted;
        sends.longestMessage(longestMessage);
    }

    /** Returns the state, and asks the device for it if it may have changed. */
    QueuePairState state() {
        lifetime.checkOpen();
        if (!isKnown) {
            queryIfPossible();
        }
        return state;
    }

    /** Asks the device for the state. The last known one stays with drivers that do not tell it, such as mana. */
    private void queryIfPossible() {
        try {
            query();
        } catch (UnsupportedVerbException nobodyKnows) {
            // The state is the last that this process has seen.
        }
    }

    /** Returns the state as far as this process knows it, also of a closed queue pair. */
    QueuePairState lastKnown() {
        return state;
    }

    /** Notes the state that the queue pair is in, also when another library has changed it. */
    void known(QueuePairState now) {
        state = now;
        openPaths();
        isKnown = true;
    }

    /** Opens or shuts the paths, by the state and by what the completion queues have lost. */
    synchronized void openPaths() {
        QueuePairState now = state;
        receives.ready(
                now != QueuePairState.RESET && posted.ownsReceives() && loser(RECEIVE_QUEUE.of(options)) == null);
        sends.ready(now != QueuePairState.RESET
                && now != QueuePairState.INIT
                && now != QueuePairState.RTR
                && loser(SEND_QUEUE.of(options)) == null);
    }

    /** Returns the queue if it has lost completions. */
    private static @Nullable CompletionQueue loser(@Nullable CompletionQueue queue) {
        return queue != null && queue.hasLost() ? queue : null;
    }

    /** Notes that the state may have changed. */
    void unknown() {
        isKnown = false;
    }

    /** Returns the exception for sends that the state does not allow, or whose completions might be lost. */
    RuntimeException cannotSend() {
        CompletionQueue loser = loser(SEND_QUEUE.of(options));
        return loser != null ? loss(loser) : notYet("Sending");
    }

    private RuntimeException loss(CompletionQueue loser) {
        lifetime.checkOpen(); // closed is the better reason
        return loser.loss();
    }

    /** Returns the exception for receives that the state does not allow, or that belong to a shared receive queue. */
    RuntimeException cannotReceive() {
        CompletionQueue loser = loser(RECEIVE_QUEUE.of(options));
        if (loser != null && posted.ownsReceives()) {
            return loss(loser);
        }
        return state == QueuePairState.RESET || posted.ownsReceives()
                ? notYet("Receiving")
                : new IllegalStateException(
                        queuePair + " has no receives of its own: post them to the shared receive queue");
    }

    private IllegalStateException notYet(String what) {
        lifetime.checkOpen(); // closed is the better reason
        return new IllegalStateException(what + " is not possible in " + state + ": connect " + queuePair + " first");
    }

    QueuePairAttributes query() {
        Set<Attribute> all = EnumSet.complementOf(EnumSet.of(Attribute.RATE_LIMIT)); // it can only be set
        QueuePairAttributes found;
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment init = ibv_qp_init_attr.allocate(scratch);
            MemorySegment struct = ibv_qp_attr.allocate(scratch);
            Calls.run(
                    Ibv.QUERY_QP,
                    queuePair,
                    errno -> context.limits().hint(DriverLimits.Part.STATE, errno, ""),
                    queuePair.address,
                    struct.address(),
                    Attribute.bits(all),
                    init.address());
            found = QueuePairAttributes.read(struct, all);
        }
        // Software iWARP always answers RESET before Linux 6.7.
        if (found.state() != QueuePairState.RESET || context.queries().transport() == Device.TransportType.IB) {
            known(found.state());
        }
        return found;
    }

    void modify(QueuePairAttributes attributes) {
        QueuePairState from = attributes.has(Attribute.CURRENT_STATE) ? attributes.currentState() : state();
        QueuePairState to = attributes.has(Attribute.STATE) ? attributes.state() : from;
        Set<Attribute> mask = attributes.mask();
        check(from, to, mask);
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            long struct = attributes.write(scratch).address();
            int result = (int) Ibv.MODIFY_QP.call(queuePair.address, struct, Attribute.bits(mask));
            if (result != 0) {
                throw refused(Failures.errnoOf(result), from, to, attributes);
            }
        }
        if (to == QueuePairState.RESET) {
            firstFailure = null;
            posted.clear();
            queuePair.batches.reset();
            if (from != QueuePairState.RESET) {
                expectOldCompletions();
            }
        }
        known(to);
        if (to == QueuePairState.RTR) {
            sends.longestMessage(addressing.longestMessage());
        }
    }

    /** Checks a change against the table of InfiniBand and RoCE. */
    private void check(QueuePairState from, QueuePairState to, Set<Attribute> mask) {
        if (context.queries().transport() != Device.TransportType.IB) {
            return;
        }
        Optional<String> complaint = StateTable.complaint(TYPE.of(options), from, to, mask);
        if (complaint.isPresent()) {
            throw new IllegalArgumentException("ibv_modify_qp(" + queuePair + "): " + complaint.get());
        }
    }

    private VerbsException refused(int errno, QueuePairState from, QueuePairState to, QueuePairAttributes attributes) {
        queryIfPossible();
        QueuePairState actual = state;
        String hint = actual != from
                ? "The queue pair is in " + actual + ", not in " + from + ": its state has changed"
                : switch (errno) {
                    case Errno.EINVAL ->
                        context.limits()
                                .hint(
                                        DriverLimits.Part.CONNECTING,
                                        errno,
                                        "The device refuses one of these values. For RTR on RoCE, look at the GID "
                                                + "index, the peer's GID and the path MTU");
                    case Errno.ETIMEDOUT, Errno.EHOSTUNREACH ->
                        "The peer's address can't be resolved: is it on the network of this GID?";
                    case Errno.ENODATA -> "There is no GID at this index: see Context.gids()";
                    default -> "";
                };
        return Failures.failure(Ibv.MODIFY_QP.name(), errno, queuePair + " to " + to + ", " + attributes, hint);
    }

    void toInit(QueuePairAttributes asked) {
        modify(new ConnectSteps(TYPE.of(options), asked, addressing.device()).toInit(PORT.of(options)));
    }

    void connect(Endpoint peer, QueuePairAttributes asked) {
        Objects.requireNonNull(peer, "peer");
        switch (TYPE.of(options)) {
            case RC, UC, XRC_SEND, XRC_RECV -> {}
            default -> throw new IllegalStateException(TYPE.of(options) + " has no connections: " + queuePair);
        }
        ConnectSteps steps = new ConnectSteps(TYPE.of(options), asked, addressing.device());
        QueuePairAttributes toReceive = steps.toReadyToReceive(peer, addressing); // before the state changes
        if (state() == QueuePairState.RESET) {
            modify(steps.toInit(PORT.of(options)));
        }
        checkInitialised();
        modify(toReceive);
        modify(steps.toReadyToSend(addressing));
    }

    void toReady(int qkey, int pkeyIndex) {
        if (TYPE.of(options) != QueuePairType.UD) {
            throw new IllegalStateException("Only queue pairs for datagrams are made ready by a key: " + queuePair);
        }
        if (state() == QueuePairState.RESET) {
            modify(QueuePairAttributes.to(QueuePairState.INIT)
                    .pkeyIndex(pkeyIndex)
                    .port(PORT.of(options))
                    .qkey(qkey));
        }
        checkInitialised();
        modify(QueuePairAttributes.to(QueuePairState.RTR).pkeyIndex(pkeyIndex).qkey(qkey));
        modify(QueuePairAttributes.to(QueuePairState.RTS).sendPsn(addressing.packetSequenceNumber()));
    }

    void toReady() {
        if (TYPE.of(options) != QueuePairType.RAW_PACKET) {
            throw new IllegalStateException(
                    "Only queue pairs for Ethernet frames need neither key nor peer: " + queuePair);
        }
        if (state() == QueuePairState.RESET) {
            modify(QueuePairAttributes.to(QueuePairState.INIT).port(PORT.of(options)));
        }
        checkInitialised();
        modify(QueuePairAttributes.to(QueuePairState.RTR));
        modify(QueuePairAttributes.to(QueuePairState.RTS));
    }

    private void checkInitialised() {
        if (state() != QueuePairState.INIT) {
            throw new IllegalStateException(
                    queuePair + " must be in RESET or INIT to be made ready, and is in " + state() + ": call reset()");
        }
    }

    void limitRate(RateLimit limit) {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment attributes = ibv_qp_rate_limit_attr.allocate(scratch);
            limit.write(attributes);
            CFunction modify = context.function(ContextVerb.MODIFY_QP_RATE_LIMIT);
            Calls.run(modify, queuePair + ", " + limit, queuePair.address, attributes.address());
        }
    }

    Ece queryEce() {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment ece = ibv_ece.allocate(scratch);
            Calls.run(Ibv.QUERY_ECE, queuePair, queuePair.address, ece.address());
            return Ece.read(ece);
        }
    }

    void setEce(Ece ece) {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment wanted = ibv_ece.allocate(scratch);
            ece.write(wanted);
            Calls.run(Ibv.SET_ECE, queuePair + ", " + ece, queuePair.address, wanted.address());
        }
    }

    Set<Operation.DataOrder> dataInOrder(Operation operation, boolean deviceOnly) {
        if (operation.cName().isEmpty()) {
            throw new IllegalArgumentException("operation must have a number in C, got " + operation);
        }
        try (var _ = lifetime.held()) {
            long qp = queuePair.address;
            int flags = rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS;
            if (deviceOnly) {
                Failures.require(RdmaCoreVersion.V62, Ibv.QUERY_QP_DATA_IN_ORDER.name(), "of the device only");
                flags |= rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY;
            }
            int bits = (int) Ibv.QUERY_QP_DATA_IN_ORDER.call(qp, operation.code(), flags);
            if (bits <= 0 && !deviceOnly) { // older libraries answer for whole messages only
                bits = (int) Ibv.QUERY_QP_DATA_IN_ORDER.call(qp, operation.code(), 0) > 0
                        ? Operation.DataOrder.WHOLE_MESSAGE.bit
                        : 0;
            }
            return EnumCodec.flags(Operation.DataOrder.class, order -> order.bit, bits);
        }
    }

    @Nullable
    WorkCompletion firstFailure() {
        return firstFailure;
    }

    /** Names the channel of a node that has this queue pair, for the flight recorder. */
    void serves(String named) {
        channel = named;
    }

    /** Sets the function that makes the exception for the end of the queue pair's connection, or returns null. */
    void endsWith(Supplier<? extends @Nullable VerbsException> end) {
        connection = end;
    }

    /** Returns an exception for the end of the queue pair's connection; null if there is none, or it goes on. */
    @Nullable
    VerbsException connectionEnd() {
        Supplier<? extends @Nullable VerbsException> end = connection;
        return end == null ? null : end.get();
    }

    /**
     * Notes that a closed queue pair had the same number, or that this one was reset. Completions that have not been polled
     * yet may then report the work of that time.
     */
    void expectOldCompletions() {
        expectsOldCompletions = true;
    }

    /** Returns true if a failed completion with the number of this queue pair was noted as its own. */
    boolean ownsFailures() {
        return !expectsOldCompletions || hasFailed(state);
    }

    private static boolean hasFailed(QueuePairState state) {
        return state == QueuePairState.ERR || state == QueuePairState.SQE;
    }

    /**
     * Returns true if this queue pair is known to have failed. Soft-RoCE is asked: it tells a failure by no completion if
     * nothing was posted. Adapters flush what is posted later, and take longer to answer.
     */
    boolean hasFailed() {
        if (!hasFailed(state) && context.provider().software()) {
            try {
                query();
            } catch (IllegalStateException | WrongThreadException | VerbsException cannotAsk) {
                return false;
            }
        }
        return hasFailed(state);
    }

    /**
     * Returns true if the device says that this queue pair has failed. Some devices complete the request first, and change
     * the state a moment later.
     */
    private boolean failedInDevice() {
        try {
            if (context.queries().transport() != Device.TransportType.IB) {
                return true; // software iWARP does not tell the state
            }
            for (int asked = 0; asked < QUERIES; asked++) {
                query();
                if (hasFailed(state)) {
                    return true;
                }
                Thread.yield();
            }
            return false;
        } catch (UnsupportedVerbException nobodyKnows) {
            return true;
        } catch (IllegalStateException | WrongThreadException | VerbsException cannotAsk) {
            return false; // the queue pair is closing, or belongs to another thread than its completion queue
        }
    }

    /**
     * Notes the failed request that a cursor stands at. The failure takes a reliable queue pair to
     * {@link QueuePairState#ERR}; a flushed request tells that the queue pair is, or was, in that state. Allocates nothing
     * for a flushed request.
     */
    void noteFailure(Completions failed) {
        if (expectsOldCompletions && !ownsFailures() && !failedInDevice()) {
            return; // of a closed queue pair with the same number, or from before a reset
        }
        boolean flushed = failed.status() == WorkStatus.WORK_REQUEST_FLUSHED;
        if (!flushed && (TYPE.of(options) == QueuePairType.RC || TYPE.of(options) == QueuePairType.XRC_SEND)) {
            known(QueuePairState.ERR);
        } else if (state != QueuePairState.ERR) {
            unknown(); // other transports may go on
        }
        if (!flushed) {
            record(failed);
        }
    }

    private synchronized void record(Completions failed) {
        if (firstFailure == null) {
            firstFailure = failed.completion();
        }
        try {
            if (Recorder.isPresent()) {
                WorkFailureEvent event = new WorkFailureEvent();
                if (event.shouldCommit()) {
                    WorkCompletion failure = failed.completion();
                    event.queuePair = TYPE.of(options) + " " + queuePair.number + " of " + context.name();
                    event.channel = channel;
                    event.id = failure.id();
                    event.operation = String.valueOf(failure.operation());
                    event.status = failure.status().toString();
                    event.vendorError = failure.vendorError();
                    event.commit();
                }
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return; // the program has the completion
        }
    }
}

package dev.verbena.verbs;

import static dev.verbena.verbs.CompletionQueueOptions.CAPACITY;
import static dev.verbena.verbs.CompletionQueueOptions.CHANNEL;
import static dev.verbena.verbs.CompletionQueueOptions.COMPLETION_VECTOR;
import static dev.verbena.verbs.CompletionQueueOptions.EXTENDED;
import static dev.verbena.verbs.CompletionQueueOptions.FIELDS;
import static dev.verbena.verbs.CompletionQueueOptions.FLAGS;
import static dev.verbena.verbs.CompletionQueueOptions.PARENT_DOMAIN;
import static dev.verbena.verbs.CompletionQueueOptions.POLLING_CALLS;

import dev.verbena.CName;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Checks;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Driver;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Errno;
import dev.verbena.internal.ExtendedCalls;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.WireTime;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_cq;
import dev.verbena.internal.raw.ibv_cq_init_attr_ex;
import dev.verbena.internal.raw.ibv_moderate_cq;
import dev.verbena.internal.raw.ibv_modify_cq_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.DeviceAttributes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A completion queue ({@code struct ibv_cq}): it reports the work requests of queue pairs that have ended.
 *
 * <p>A cursor, {@link #completions}, is the fast way: it fetches many completions at once and allocates nothing.
 * {@link #poll} and {@link #await} return one completion as a value.
 *
 * {@snippet file="CompletionSnippets.java" region="await"}
 *
 * <p>All threads may use a queue of a shared arena at once. A queue of a confined arena belongs to the arena's thread.
 */
public final class CompletionQueue extends ContextObject {
    /** The most frequent cause of a queue that can no longer be polled. */
    static final String BROKEN =
            "The completion queue is broken, most often because more completions came than it holds";

    private static final String POLL = "ibv_poll_cq";
    private static final int SPINS = 200;
    private static final long PAUSE_NANOS = 20_000;
    private static final int PAUSES_BETWEEN_LOOKS = 4096;

    private final CompletionQueueOptions options;
    private final @Nullable CompletionEvents events;
    private final Completions one;
    private final @Nullable CompletionReaders readers;
    private final Driver driver;
    /** The cursors, which end with the queue. Their memory is kept here as long as C may fill it. */
    private final Queue<Completions> cursors = new ConcurrentLinkedQueue<>();

    private final Mutex oneAtATime = new Mutex();

    /** Makes the exception for the end of the connection that owns the queue, or returns null; null without an owner. */
    private volatile @Nullable Supplier<? extends @Nullable VerbsException> connection;

    /** The number of times that the device reported lost completions. */
    private volatile int losses;

    /** The number of reports of lost completions that no event has told yet. The lock of the events guards it. */
    private int reports;

    /** True if a queue pair counts its sends. */
    private volatile boolean countsPolls;

    private volatile int capacity;

    private CompletionQueue(ObjectLifetime lifetime, Context context, CompletionQueueOptions options, long address) {
        super(lifetime, context, address);
        this.options = options;
        this.capacity = currentCapacity();
        CompletionChannel channel = CHANNEL.of(options);
        this.events = channel == null ? null : new CompletionEvents(this, channel);
        this.readers = EXTENDED.of(options) ? readers() : null;
        this.driver = lifetime.bracketing(context.provider().forPolls(pollsCritically()));
        this.one = keep(new Completions(this, 1));
        expectEvents();
    }

    /** Another thread may hold the lock of an extended queue while it runs Java code: see {@link ExtendedCalls}. */
    boolean pollsCritically() {
        return context.provider().pollsCritically(POLLING_CALLS.of(options))
                && (!EXTENDED.of(options) || lifetime.isConfined());
    }

    private CompletionReaders readers() {
        DriverFunctions functions = context.provider();
        CompletionReaders found = new CompletionReaders(
                address,
                functions.calls(POLLING_CALLS.of(options) != CompletionQueueOptions.PollingCalls.PLAIN),
                functions.calls(pollsCritically()),
                functions.calls(functions.pollsCritically(POLLING_CALLS.of(options))));
        Set<CompletionField> missing = found.missing(FIELDS.of(options));
        if (!missing.isEmpty()) {
            throw new UnsupportedVerbException(
                    ContextVerb.CREATE_CQ_EX.verb(),
                    context.name(),
                    0,
                    "The driver accepted the fields " + missing + " but has no function to read them");
        }
        return found;
    }

    /** Enters the queue where events look it up by its address, until C has destroyed the queue. */
    private void expectEvents() {
        context.events.add(address, this);
        CompletionChannel channel = CHANNEL.of(options);
        if (channel != null) {
            channel.add(this);
        }
    }

    private int currentCapacity() {
        return ibv_cq.cqe(MemorySegment.ofAddress(address).reinterpret(ibv_cq.sizeof()));
    }

    static CompletionQueue make(Context context, CompletionQueueOptions options, VerbsArena arena) {
        if (FLAGS.of(options).contains(CompletionQueueOptions.Flag.SINGLE_THREADED)
                && !ArenaLifetime.of(arena).isConfined()) {
            throw new IllegalArgumentException(
                    "The driver does not lock a single-threaded queue: make it in VerbsArena.ofConfined()");
        }
        CompletionChannel channel = CHANNEL.of(options);
        ProtectionDomain domain = PARENT_DOMAIN.of(options);
        List<ContextObject> used = ContextObject.present(channel, domain);
        ContextObject.checkIn(context, "the completion queue", used);
        if (domain != null && domain.base().isEmpty()) {
            throw new IllegalArgumentException(domain + " is not a parent domain");
        }
        List<VerbsObject> parents = new ArrayList<>(List.of(context));
        parents.addAll(used);
        return ObjectLifetime.create(arena, parents, (lifetime, scratch) -> {
            Object words = Calls.words(context.name(), options);
            IntFunction<String> hints = errno -> hint(context, options, errno);
            long events = channel == null ? 0 : channel.address();
            long cq = EXTENDED.of(options)
                    ? Calls.pointer(
                            context.function(ContextVerb.CREATE_CQ_EX),
                            words,
                            hints,
                            context.address(),
                            extended(options, events, scratch).address())
                    : Calls.pointer(
                            Ibv.CREATE_CQ,
                            words,
                            hints,
                            context.address(),
                            CAPACITY.of(options),
                            0,
                            events,
                            COMPLETION_VECTOR.of(options));
            return new CompletionQueue(lifetime, context, options, cq);
        });
    }

    private static MemorySegment extended(CompletionQueueOptions options, long channel, Arena scratch) {
        MemorySegment init = ibv_cq_init_attr_ex.allocate(scratch);
        ibv_cq_init_attr_ex.cqe(init, CAPACITY.of(options));
        ibv_cq_init_attr_ex.channel(init, MemorySegment.ofAddress(channel));
        ibv_cq_init_attr_ex.comp_vector(init, COMPLETION_VECTOR.of(options));
        ibv_cq_init_attr_ex.wc_flags(init, EnumCodec.bits(FIELDS.of(options), field -> field.bit));
        int flags = EnumCodec.bits(FLAGS.of(options), flag -> flag.bit);
        ibv_cq_init_attr_ex.comp_mask(
                init,
                new InitAttributes(init)
                        .optional(rdma_h.IBV_CQ_INIT_ATTR_MASK_FLAGS, ibv_cq_init_attr_ex.flags$offset(), flags)
                        .optional(
                                rdma_h.IBV_CQ_INIT_ATTR_MASK_PD,
                                ibv_cq_init_attr_ex.parent_domain$offset(),
                                PARENT_DOMAIN.of(options))
                        .mask());
        return init;
    }

    private static String hint(Context context, CompletionQueueOptions options, int errno) {
        if (errno == Errno.EINVAL) {
            return "This device holds at most " + context.queries().attributes().maxCompletions() + " and has "
                    + context.queries().completionVectors() + " completion vectors";
        }
        return EXTENDED.of(options) && Errno.meansUnsupported(errno)
                ? context.limits()
                        .hint(
                                DriverLimits.Part.EXTENDED_COMPLETIONS,
                                errno,
                                "This device lacks one of these fields or flags: most devices have "
                                        + "CompletionField.standard()")
                : context.queries().crowded(context.provider().software());
    }

    @CName("ibv_destroy_cq")
    @Override
    void destroy() {
        if (events != null) {
            events.destroying();
        }
        Calls.run(Ibv.DESTROY_CQ, this, address);
        lifetime.noteDestroyed();
        for (Completions cursor : cursors) {
            cursor.end();
        }
        context.events.remove(address, this);
        if (events != null) {
            events.destroyed();
        }
    }

    /**
     * Returns the number of completions that the queue holds ({@code cqe}). If more come before the next poll, some are
     * lost, and the device reports {@link AsyncEvent.Type#CQ_ERR}. Waits, and polls that find nothing, look for reports about
     * once a second, and a wait when its time is over; {@link Context#events} shows them too. Once there was one, polls and
     * waits return the completions that are left and then throw a {@link VerbsException}, and posts to the queue's queue pairs
     * throw it at once.
     *
     * @return the capacity, at least the number that was asked for
     */
    public int capacity() {
        lifetime.checkOpen();
        return capacity;
    }

    /**
     * Returns the channel that the queue reports events to.
     *
     * @return the channel; empty for a queue without one
     */
    public Optional<CompletionChannel> channel() {
        lifetime.checkOpen();
        return Optional.ofNullable(CHANNEL.of(options));
    }

    /**
     * Returns whether this is an extended queue, made with {@link CompletionQueueOptions#fields} or a flag. An extended
     * queue has all functions of a plain one.
     *
     * @return true if {@link #extendedCompletions} makes cursors
     */
    @CName("ibv_cq_ex_to_cq")
    public boolean isExtended() {
        lifetime.checkOpen();
        return readers != null;
    }

    /** Returns whether the driver leaves out the locks. All that reports to the queue must then belong to its thread. */
    boolean isSingleThreaded() {
        return FLAGS.of(options).contains(CompletionQueueOptions.Flag.SINGLE_THREADED);
    }

    /**
     * Changes the capacity of the queue ({@code ibv_resize_cq}). The completions in the queue stay.
     *
     * @param capacity the number of completions to hold at least
     * @throws VerbsException if the device can't hold as many, or if there are more completions in the queue
     */
    @CName("ibv_resize_cq")
    public void resize(int capacity) {
        Checks.checkAtLeast("capacity of a completion queue", capacity, 1);
        try (var _ = lifetime.held()) {
            Calls.run(
                    Ibv.RESIZE_CQ,
                    this + " to " + capacity,
                    errno -> errno == Errno.EINVAL
                            ? "This device holds at most "
                                    + context.queries().attributes().maxCompletions()
                                    + " completions, and the queue must have room for those that are in it"
                            : context.limits().hint(DriverLimits.Part.RESIZING, errno, ""),
                    address,
                    capacity);
            this.capacity = currentCapacity();
        }
    }

    /**
     * Makes the device gather completions before it raises an event ({@code ibv_modify_cq}). The device raises the event
     * when it reaches either limit. 0 and 0 ends the gathering.
     *
     * @param completions the number of completions, 0 to 65535
     * @param period the longest time to gather completions, 0 to 65.535 ms, rounded up to microseconds
     * @throws UnsupportedVerbException if the device can't: see {@link DeviceAttributes}
     */
    @CName("ibv_modify_cq")
    public void moderate(int completions, Duration period) {
        Checks.checkRange("number of completions to gather", completions, 0xffff);
        int microseconds = WireTime.microseconds("time to gather completions", period, 0xffff);
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment attributes = ibv_modify_cq_attr.allocate(scratch);
            ibv_modify_cq_attr.attr_mask(attributes, rdma_h.IBV_CQ_ATTR_MODERATE);
            MemorySegment moderate = ibv_modify_cq_attr.moderate(attributes);
            ibv_moderate_cq.cq_count(moderate, (short) completions);
            ibv_moderate_cq.cq_period(moderate, (short) microseconds);
            Calls.run(
                    context.function(ContextVerb.MODIFY_CQ),
                    this + ", " + completions + " completions or " + microseconds + " us",
                    address,
                    attributes.address());
        }
    }

    /**
     * Makes a cursor over completions, with memory of its own. Make one per thread, and keep it.
     *
     * @param max the number of completions that one poll fetches at most
     * @return a new cursor
     */
    public Completions completions(int max) {
        Checks.checkAtLeast("number of completions of a cursor", max, 1);
        lifetime.checkOpen();
        return keep(new Completions(this, max));
    }

    /**
     * Makes a cursor over the fields of an extended queue, with memory of its own. Make one per thread, and keep it.
     *
     * @param max the number of completions that one poll fetches at most
     * @return a new cursor
     * @throws IllegalStateException if this is not an extended queue
     */
    public ExtendedCompletions extendedCompletions(int max) {
        Checks.checkAtLeast("number of completions of a cursor", max, 1);
        lifetime.checkOpen();
        CompletionReaders functions = requireExtended();
        boolean software = context.provider().software();
        boolean plain = !software && CompletionField.standard().containsAll(FIELDS.of(options));
        return keep(new ExtendedCompletions(this, functions, FIELDS.of(options), plain, software, max));
    }

    private <T extends Completions> T keep(T cursor) {
        cursors.add(cursor);
        // After it was added, because the device may report a loss meanwhile:
        if (countsPolls) {
            cursor.countFromNowOn();
        }
        if (hasLost()) {
            cursor.tellLoss();
        }
        return cursor;
    }

    /**
     * Has polls count the completions of queue pairs from now on: see {@link SendSlots}.
     *
     * @throws IllegalArgumentException if completions do not tell their queue pair
     */
    void countPolls() {
        if (EXTENDED.of(options) && !FIELDS.of(options).contains(CompletionField.QUEUE_PAIR_NUMBER)) {
            throw new IllegalArgumentException(this + " does not report CompletionField.QUEUE_PAIR_NUMBER");
        }
        countsPolls = true;
        cursors.forEach(Completions::countFromNowOn);
    }

    /** Counts completions that a cursor has fetched. */
    void count(long first, int count) {
        for (int i = 0; i < count; i++) {
            long completion = first + i * Completions.SIZE;
            QueuePair pair = context.queuePair(Memory.getInt(completion + Completions.QP_NUMBER));
            SendSlots slots = pair == null ? null : pair.batches.slots();
            if (slots != null) {
                slots.completed(completion);
            }
        }
    }

    /**
     * Notes that the device has reported the loss of completions. Polls throw from now on when nothing is left, and waits
     * too. The caller holds the lock of the events.
     */
    @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
    void noteLoss() {
        if (FLAGS.of(options).contains(CompletionQueueOptions.Flag.IGNORE_OVERRUN)) {
            return;
        }
        losses++;
        cursors.forEach(Completions::tellLoss);
        if (events != null) {
            events.wakeAll();
        }
    }

    /** Counts a report that an event is to tell. Returns the number of those. The caller holds the lock of the events. */
    int addReport() {
        return ++reports;
    }

    /** Returns the number of reports that an event tells now. The caller holds the lock of the events. */
    int takeReports() {
        int count = reports;
        reports = 0;
        return count;
    }

    /** Returns true once the device has reported the loss of completions. */
    boolean hasLost() {
        return losses > 0;
    }

    /** Makes the exception for a queue that has lost completions. */
    VerbsException loss() {
        return new VerbsException(POLL, toString(), 0, lossText());
    }

    /** Says what was lost, and what to do. */
    String lossText() {
        return "More completions came than the queue holds, and some were lost: the device has reported this "
                + losses + (losses == 1 ? " time" : " times")
                + ". The lost requests will never complete: close the queue and its queue pairs. Poll sooner, or make a "
                + "queue for as many completions as requests are outstanding";
    }

    /** Looks for reports of the device, as waits do about once a second. Returns true if the queue has lost completions. */
    boolean looksLossy() {
        context.events.look();
        return hasLost();
    }

    Driver driver() {
        return driver;
    }

    private CompletionReaders requireExtended() {
        if (readers == null) {
            throw new IllegalStateException(
                    this + " is not extended: name the fields to report with CompletionQueueOptions.fields()");
        }
        return readers;
    }

    /**
     * Takes one completion, if there is one ({@code ibv_poll_cq}).
     *
     * @return the completion, or null if there is none
     */
    @CName("ibv_poll_cq")
    public @Nullable WorkCompletion poll() {
        lifetime.checkOpen();
        oneAtATime.lock();
        try {
            one.takeOver();
            return one.poll() == 0 ? null : one.first();
        } finally {
            oneAtATime.unlock();
        }
    }

    /**
     * Asks for one event when the next completion comes ({@code ibv_req_notify_cq}). Poll after the call: completions
     * that came before raise no event. {@link #await} does both. Call this to wait at the {@link CompletionChannel}.
     *
     * @param solicitedOnly whether to raise the event only for a failure, or for a receive that the peer sent with
     *     {@link SendBatch#solicited}
     * @throws IllegalStateException if the queue has no channel
     */
    @CName("ibv_req_notify_cq")
    public void requestNotification(boolean solicitedOnly) {
        lifetime.checkOpen();
        if (events == null) {
            throw new IllegalStateException(
                    this + " has no channel to notify: make it with CompletionQueueOptions.channel()");
        }
        int result = driver.ask(address, solicitedOnly ? 1 : 0);
        if (result != 0) {
            throw Failures.failure("ibv_req_notify_cq", Failures.errnoOf(result), toString(), "");
        }
    }

    /**
     * Waits for one completion and takes it. A queue with a channel sleeps until there is one. A queue without a channel
     * polls, first without and then with pauses.
     *
     * @param timeout the time to wait
     * @return the completion, successful or not: see {@link WorkCompletion#orThrow}
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the queue is closed, also while waiting
     * @throws VerbsException if the device was removed; if the queue belongs to a connection that has ended, and none is left
     */
    @CName({"ibv_poll_cq", "ibv_req_notify_cq", "ibv_get_cq_event", "ibv_ack_cq_events"})
    public WorkCompletion await(Duration timeout) throws InterruptedException {
        return await(this::pollInWait, false, timeout);
    }

    /**
     * Waits as {@link #await} does, but sleeps through receives that were sent without {@link SendBatch#solicited}. By the
     * rules of InfiniBand, a failure ends the wait too. Soft-RoCE of newer kernels raises no event for a failure: the wait
     * finds it when the time is over. Takes any completion that there is by then.
     *
     * @param timeout the time to wait
     * @return the completion, successful or not
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the queue is closed, also while waiting
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_poll_cq", "ibv_req_notify_cq", "ibv_get_cq_event", "ibv_ack_cq_events"})
    public WorkCompletion awaitSolicited(Duration timeout) throws InterruptedException {
        return await(this::pollInWait, true, timeout);
    }

    private @Nullable WorkCompletion pollInWait() {
        WorkCompletion next = poll();
        VerbsException end = next == null ? connectionEnd() : null;
        if (end != null) {
            next = poll(); // all that completed before the end is in the queue by now
            if (next == null) {
                throw end;
            }
        }
        return next;
    }

    /** Returns an exception for the end of the connection that owns the queue; null while there is none. */
    @Nullable
    VerbsException connectionEnd() {
        Supplier<? extends @Nullable VerbsException> end = connection;
        return end == null ? null : end.get();
    }

    /**
     * Sets the function that makes the exception for the end of the connection that owns the queue, or returns null; and the
     * events of the connection manager that a thread sees while it waits for completions.
     */
    void endsWith(Supplier<? extends @Nullable VerbsException> end, Supplier<DescriptorWaits> ofConnection) {
        connection = end;
        if (events != null) {
            events.alsoSee(ofConnection);
        }
    }

    /** Waits until an attempt finds something, and returns it. */
    <T> T await(Supplier<? extends @Nullable T> attempt, boolean solicitedOnly, Duration timeout)
            throws InterruptedException {
        T found = awaitOrNull(attempt, solicitedOnly, timeout);
        if (found == null) {
            throw new VerbsTimeoutException(POLL, toString(), timeout, whyNothing());
        }
        return found;
    }

    /** Waits until an attempt finds something, and returns it; null when the time is over. */
    <T> @Nullable T awaitOrNull(Supplier<? extends @Nullable T> attempt, boolean solicitedOnly, Duration timeout)
            throws InterruptedException {
        T found = events == null ? pollUntil(attempt, timeout) : events.await(attempt, solicitedOnly, timeout);
        if (found == null && looksLossy()) {
            throw loss();
        }
        return found;
    }

    /** Says why nothing may have completed. */
    private String whyNothing() {
        QueuePair failed = context.events.failedPair(this);
        if (failed != null) {
            return failed + " has failed"
                    + (context.provider().software()
                            ? ", and soft-RoCE never completes receives that are posted after that"
                            : "")
                    + ": close it, or reset it and connect it again";
        }
        return "Was the work request posted and signaled? For a receive, has the peer sent? For a send, has the peer posted "
                + "a receive? While it has none, the adapter tries again, for ever with the default rnrRetryCount(7), and "
                + "reports no status";
    }

    private <T> @Nullable T pollUntil(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // first: nothing is taken when it is null
        T found = attempt.get();
        Deadline deadline = Deadline.after(timeout);
        for (int tries = 0; found == null && !deadline.isOver(); tries++) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            if (tries < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
                if (tries % PAUSES_BETWEEN_LOOKS == 0) {
                    context.events.look(); // the next poll throws after a loss
                }
            }
            found = attempt.get();
        }
        return found;
    }

    @Nullable
    CompletionEvents events() {
        return events;
    }

    /** Makes the exception for a poll that returned less than 0. */
    VerbsException broken(int result) {
        return new VerbsException(POLL, toString(), 0, "It returned " + result + ". " + BROKEN);
    }

    @Override
    public String toString() {
        return (readers == null ? "" : "extended ") + "completion queue of " + context.name() + " for " + capacity;
    }
}

package dev.verbena.net;

import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.Recorder;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The counters of a node that its channels do not keep, and the events beside them: see {@link Recorder}. All threads may use an
 * instance.
 */
final class NodeCounts {
    /** The number of characters that are kept of a peer's reason. */
    private static final int LONGEST_REASON = 200;

    private final AtomicLong opened = new AtomicLong();
    private final AtomicLong ended = new AtomicLong();
    private final AtomicLong strangers = new AtomicLong();
    private final AtomicLong tampered = new AtomicLong();

    private final AtomicLong handlerFailures = new AtomicLong();

    /** The exception that a handler threw last; null if there was none. */
    private volatile @Nullable Throwable handlerFailure;

    /** The channel and the reason of the call that failed last; null if none has. */
    private volatile @Nullable String callFailure;

    /** The exception that kept a peer out last; null if there was none. */
    private volatile @Nullable Throwable admitFailure;

    /** Notes that a channel is open. */
    void opened() {
        opened.incrementAndGet();
    }

    /** Records that a channel is open. */
    void recordOpen(Session session) {
        try {
            if (Recorder.isPresent()) {
                ChannelOpenEvent event = new ChannelOpenEvent();
                if (event.shouldCommit()) {
                    event.channel = session.toText();
                    event.protection = session.engine.options.protection().name();
                    event.commit();
                }
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return;
        }
    }

    /** Records that a channel has lost its path, or has it back. */
    void recordPath(Session session, String change, String details) {
        try {
            if (Recorder.isPresent()) {
                PathEvent event = new PathEvent();
                if (event.shouldCommit()) {
                    event.channel = session.toText();
                    event.change = change;
                    event.details = details;
                    event.commit();
                }
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return;
        }
    }

    /** Notes that a channel that was open has ended. */
    void ended(Session session, @Nullable ChannelException why) {
        ended.incrementAndGet();
        try {
            if (Recorder.isPresent()) {
                ChannelEndEvent event = new ChannelEndEvent();
                if (event.shouldCommit()) {
                    event.channel = session.toText();
                    event.reason = why == null ? "CLOSED" : why.reason().name();
                    event.details = why == null ? "" : why.details();
                    event.commit();
                }
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return;
        }
    }

    /** Notes that a peer has not proved that it knows the secret. */
    void stranger(InetSocketAddress peer) {
        strangers.incrementAndGet();
        try {
            if (Recorder.isPresent()) {
                StrangerEvent event = new StrangerEvent();
                if (event.shouldCommit()) {
                    event.peer = IpAddresses.text(peer);
                    event.commit();
                }
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return;
        }
    }

    /** Notes that a sealed channel got a message that its peer has not sealed. Its end is an event. */
    void tampered() {
        tampered.incrementAndGet();
    }

    /**
     * Notes that the program has thrown when it was asked about a peer, or that this side has failed before the channel was
     * open.
     */
    void couldNotAdmit(InetSocketAddress peer, Throwable thrown) {
        admitFailure = thrown;
        try {
            if (Recorder.isPresent()) {
                AdmitFailureEvent event = new AdmitFailureEvent();
                if (event.shouldCommit()) {
                    event.peer = IpAddresses.text(peer);
                    event.thrown = thrown.toString();
                    event.commit();
                }
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return;
        }
    }

    @Nullable
    Throwable admitFailure() {
        return admitFailure;
    }

    /** Notes that a handler of the program has thrown. */
    void handlerFailed(Session session, Throwable thrown) {
        handlerFailures.incrementAndGet();
        try (var _ = session.lock.held()) {
            session.messages.counts.handlerFailures++;
        }
        handlerFailure = thrown;
        try {
            if (Recorder.isPresent()) {
                HandlerFailureEvent event = new HandlerFailureEvent();
                if (event.shouldCommit()) {
                    StackTraceElement[] trace = thrown.getStackTrace();
                    event.channel = session.toText();
                    event.thrown = thrown.toString();
                    event.place = trace.length == 0 ? "" : trace[0].toString();
                    event.commit();
                }
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return;
        }
    }

    /** Notes that a call of this side has failed at the peer, or was given up. */
    void callFailed(Session session, String reason) {
        try {
            String channel = session.toText();
            String text = reason.length() <= LONGEST_REASON ? reason : reason.substring(0, LONGEST_REASON) + " ...";
            callFailure = channel + ": " + text;
            if (Recorder.isPresent()) {
                CallFailureEvent event = new CallFailureEvent();
                if (event.shouldCommit()) {
                    event.channel = channel;
                    event.reason = text;
                    event.commit();
                }
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return; // the program learns of the failure itself
        }
    }

    @Nullable
    String callFailure() {
        return callFailure;
    }

    long handlerFailures() {
        return handlerFailures.get();
    }

    @Nullable
    Throwable handlerFailure() {
        return handlerFailure;
    }

    /** Returns the counters of the node, with those of all of its channels. */
    NodeStatistics statistics(ChannelStatistics sum, long pinnedBytes) {
        return new NodeStatistics(sum, handlerFailures.get(), opened.get(), ended.get(), strangers.get(), pinnedBytes);
    }

    Node.Attacks attacks() {
        return new Node.Attacks(strangers.get(), tampered.get());
    }
}

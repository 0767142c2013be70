package dev.verbena.net;

import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.Recorder;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.ToLongFunction;
import jdk.jfr.FlightRecorder;

/** Writes the counters of the nodes of this process into flight recordings. A thread of the recorder reads them. */
final class RecordedNodes {
    private static final AtomicBoolean RECORDED = new AtomicBoolean();

    private static final Set<Engine> NODES = ConcurrentHashMap.newKeySet();

    private RecordedNodes() {}

    /** Adds a node whose counters recordings have from now on. */
    static void add(Engine engine) {
        NODES.add(engine);
        tick();
    }

    static void remove(Engine engine) {
        NODES.remove(engine);
    }

    /** Begins to record once there is a recorder. */
    static void tick() {
        if (Recorder.isPresent() && !RECORDED.get() && RECORDED.compareAndSet(false, true)) {
            try {
                FlightRecorder.addPeriodicEvent(NodeStatisticsEvent.class, RecordedNodes::record);
            } catch (RuntimeException
                    | Error shortage) { // ends neither the node nor the call of a thread of the program
                RECORDED.set(false);
            }
        }
    }

    private static void record() {
        NODES.forEach(RecordedNodes::record);
    }

    private static void record(Engine engine) {
        NodeStatisticsEvent event = new NodeStatisticsEvent();
        NodeStatistics now = engine.statistics();
        Latency calls = engine.latency(false);
        Latency handlers = engine.latency(true);
        event.node = IpAddresses.text(engine.address);
        event.sent = now.sent();
        event.received = now.received();
        event.sentBytes = now.sentBytes();
        event.receivedBytes = now.receivedBytes();
        event.calls = now.calls();
        event.faults = now.faults();
        event.abandoned = now.abandoned();
        event.served = now.served();
        event.handlerFailures = now.handlerFailures();
        event.transfersSent = now.transfersSent();
        event.transfersReceived = now.transfersReceived();
        event.operations = now.operations();
        event.operationBytes = now.operationBytes();
        event.stalls = now.stalls();
        event.stalled = now.stalledNanos();
        event.reconnects = now.reconnects();
        event.opened = now.opened();
        event.ended = now.ended();
        event.strangers = now.strangers();
        event.pinnedBytes = now.pinnedBytes();
        event.callP50 = calls.p50Nanos();
        event.callP99 = calls.p99Nanos();
        event.callP999 = calls.p999Nanos();
        event.handlerP50 = handlers.p50Nanos();
        event.handlerP99 = handlers.p99Nanos();
        event.handlerP999 = handlers.p999Nanos();
        event.slowestChannel = first(engine, channel -> channel.latency().p99Nanos());
        event.mostStalledChannel = first(engine, channel -> channel.statistics().stalledNanos());
        event.commit();
    }

    /** Returns the open channel with the largest number; empty if all have 0. */
    private static String first(Engine engine, ToLongFunction<Channel> number) {
        return engine.openChannels().stream()
                .max(Comparator.comparingLong(number))
                .filter(channel -> number.applyAsLong(channel) > 0)
                .map(channel -> channel.session().toText())
                .orElse("");
    }
}

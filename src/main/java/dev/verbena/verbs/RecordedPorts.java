package dev.verbena.verbs;

import dev.verbena.internal.Recorder;
import dev.verbena.verbs.device.PortCounters;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import jdk.jfr.FlightRecorder;
import jdk.jfr.FlightRecorderListener;
import jdk.jfr.Recording;
import jdk.jfr.RecordingState;

/**
 * Writes the counters of the devices that this process has opened into flight recordings. A thread of the recorder reads
 * them, while a recording wants them. A program without a recording pays 8 classes of the recorder and 2 to 4 ms when it
 * opens its first device (2026-11-28).
 */
final class RecordedPorts implements FlightRecorderListener {
    private static final AtomicBoolean LISTENING = new AtomicBoolean();

    /** The folders of the devices, by name. A device that was removed has none any more, and so no counters. */
    private static final Map<String, Path> FOLDERS = new ConcurrentHashMap<>();

    /** The counters that the last events had, by folder. */
    private static final Map<Path, List<PortCounters>> RECORDED = new ConcurrentHashMap<>();

    private RecordedPorts() {}

    /** Adds a device whose counters recordings have from now on. */
    static void add(Device device) {
        if (device.folder().equals(FOLDERS.put(device.name(), device.folder()))) {
            return; // each connection comes here
        }
        try {
            if (LISTENING.compareAndSet(false, true)) {
                FlightRecorder.addListener(new RecordedPorts()); // tells of a recorder that is there, too
            }
            if (Recorder.isPresent() && new PortCountersEvent().isEnabled()) {
                RECORDED.computeIfAbsent(device.folder(), PortCounters::read);
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return; // recordings lack this device
        }
    }

    @Override
    public void recorderInitialized(FlightRecorder recorder) {
        try {
            FlightRecorder.addPeriodicEvent(PortCountersEvent.class, RecordedPorts::record);
        } catch (OutOfMemoryError | LinkageError lost) {
            return; // else the recording of a program would not start
        }
    }

    /** Reads the counters at the start of the first recording, so that its events have what changed since then. */
    @Override
    public void recordingStateChanged(Recording recording) {
        try {
            if (recording.getState() == RecordingState.RUNNING && new PortCountersEvent().isEnabled()) {
                if (isOnlyOne(recording)) {
                    RECORDED.clear();
                }
                FOLDERS.values().forEach(folder -> RECORDED.computeIfAbsent(folder, PortCounters::read));
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return; // else the recording of a program would not start
        }
    }

    private static boolean isOnlyOne(Recording recording) {
        return FlightRecorder.getFlightRecorder().getRecordings().stream()
                .noneMatch(other -> other.getState() == RecordingState.RUNNING && other.getId() != recording.getId());
    }

    private static void record() {
        for (Path folder : FOLDERS.values()) {
            List<PortCounters> now = PortCounters.read(folder);
            List<PortCounters> before = RECORDED.put(folder, now);
            if (before != null) {
                now.forEach(port -> before.stream()
                        .filter(earlier -> earlier.port() == port.port())
                        .forEach(earlier -> write(port, earlier)));
            }
        }
    }

    private static void write(PortCounters now, PortCounters before) {
        now.since(before).values().forEach((counter, change) -> {
            if (change != 0) {
                PortCountersEvent event = new PortCountersEvent();
                event.device = now.device();
                event.port = now.port();
                event.counter = counter;
                event.value = now.value(counter).orElseThrow();
                event.change = change;
                event.commit();
            }
        });
    }
}

package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The objects that the requests of a batch name by pointers: up to two for each request. C follows the pointers while it
 * posts, so the objects are kept from being closed meanwhile.
 */
final class RequestParts {
    private static final int EACH = 2;

    private final @Nullable RequestPart[] parts;
    private final int[] ways;
    private final boolean eachAddressed;
    private boolean binds;

    /** The regions that C does not know, of which the requests name pieces. There is room for more than are in use. */
    private @Nullable MemoryRegion[] regions = {};

    private int[] regionWays = {};
    private int regionCount;

    /**
     * Makes room for the parts of some requests.
     *
     * @param capacity the number of requests
     * @param eachAddressed whether each request must name one part at least, because it is a datagram
     */
    RequestParts(int capacity, boolean eachAddressed) {
        this.parts = new @Nullable RequestPart[EACH * capacity];
        this.ways = new int[EACH * capacity];
        this.eachAddressed = eachAddressed;
    }

    void set(int request, RequestPart one, @Nullable RequestPart other) {
        parts[EACH * request] = one;
        parts[EACH * request + 1] = other;
        binds |= one instanceof MemoryWindow;
    }

    void forget(int request) {
        Arrays.fill(parts, EACH * request, EACH * (request + 1), null);
    }

    /** Adds a region of an address space. C does not notice when it is closed, so the post checks that it is open. */
    void add(MemoryRegion region) {
        if (regionCount == regions.length) {
            int room = 2 * regionCount + EACH;
            regions = Arrays.copyOf(regions, room);
            regionWays = Arrays.copyOf(regionWays, room);
        }
        regions[regionCount++] = region;
    }

    /** Forgets the regions that were added. */
    void forgetRegions() {
        if (regionCount != 0) {
            Arrays.fill(regions, 0, regionCount, null);
            regionCount = 0;
        }
    }

    /**
     * Posts the requests of a batch while their parts are kept open.
     *
     * @return 0 or an error number
     * @throws IllegalStateException if a part is closed, or a datagram has no address
     */
    int post(WorkBatch<?> batch) {
        int entered = enter(batch.size());
        try {
            int regionsEntered = enterRegions();
            try {
                return binds ? bind(batch) : batch.driveRarely();
            } finally {
                exitRegions(regionsEntered);
            }
        } finally {
            exit(entered);
        }
    }

    private int enterRegions() {
        int at = 0;
        try {
            for (; at < regionCount; at++) {
                regionWays[at] = Objects.requireNonNull(regions[at]).beginPost();
            }
            return at;
        } catch (RuntimeException notAll) {
            exitRegions(at);
            throw notAll;
        }
    }

    private void exitRegions(int entered) {
        for (int at = 0; at < entered; at++) {
            Objects.requireNonNull(regions[at]).endPost(regionWays[at]);
        }
    }

    /** Gives the windows their next keys, posts, and notes the bindings that were posted. */
    private int bind(WorkBatch<?> batch) {
        int begun = 0;
        int posted = 0;
        try {
            for (; begun < batch.size(); begun++) {
                MemoryWindow window = windowOf(begun);
                if (window != null) {
                    window.beginBinding();
                    Memory.set(batch.addressOf(begun) + SendBatch.WINDOW_KEY, MemoryWindow.after(window.key()));
                }
            }
            int errno = batch.driveRarely();
            posted = errno == 0 ? batch.size() : batch.postedBefore();
            return errno;
        } finally {
            for (int i = 0; i < begun; i++) {
                MemoryWindow window = windowOf(i);
                if (window != null) {
                    if (i < posted) {
                        noteBinding(window, i, batch.addressOf(i));
                    }
                    window.endBinding();
                }
            }
        }
    }

    private void noteBinding(MemoryWindow window, int index, long request) {
        window.key(Memory.getInt(request + SendBatch.WINDOW_KEY));
        if (parts[EACH * index + 1] instanceof MemoryRegion region) {
            window.nowBound(
                    region,
                    Memory.getLong(request + SendBatch.BIND_ADDRESS),
                    Memory.getLong(request + SendBatch.BIND_LENGTH),
                    Memory.getInt(request + SendBatch.BIND_ACCESS));
        }
    }

    private @Nullable MemoryWindow windowOf(int request) {
        return parts[EACH * request] instanceof MemoryWindow window ? window : null;
    }

    /**
     * Keeps all parts of the first requests open.
     *
     * @return the argument for {@link #exit}
     * @throws IllegalStateException if a part is closed or missing
     */
    int enter(int requests) {
        int at = 0;
        try {
            for (; at < EACH * requests; at++) {
                RequestPart part = parts[at];
                if (part != null) {
                    ways[at] = part.beginPost();
                } else if (eachAddressed && at % EACH == 0) {
                    throw new IllegalStateException(
                            "Request " + at / EACH + " is a datagram without an address: call to(...)");
                }
            }
            return at;
        } catch (RuntimeException notAll) {
            exit(at);
            throw notAll;
        }
    }

    /** Lets the parts be closed again that {@link #enter} kept open. */
    void exit(int entered) {
        for (int at = 0; at < entered; at++) {
            RequestPart part = parts[at];
            if (part != null) {
                part.endPost(ways[at]);
            }
        }
    }
}

package dev.verbena.cm;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.RdmaCm;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A list of devices in C ({@code rdma_get_devices}), which keeps a context of the connection manager open. All objects in Java
 * that stand for the context share the list: a new one for each connection would have C look for new devices each time, which
 * takes longer than the calls that a connection needs.
 */
final class OpenDevices {
    private static final Mutex LOCK = new Mutex();

    /** The lists that are in use, by address of the context in C. */
    private static final Map<Long, OpenDevices> HELD = new HashMap<>();

    private final long list;
    private int users = 1;

    private OpenDevices(long list) {
        this.list = list;
    }

    /** Makes a list in C, to be freed by {@link RdmaCm#FREE_DEVICES}. */
    static long list() {
        long list = RdmaCm.GET_DEVICES.call(0);
        if (list == 0) {
            throw CmFailures.failure(RdmaCm.GET_DEVICES, CFunction.errno(), "", "");
        }
        return list;
    }

    /**
     * Keeps a context open until {@link #release}. The caller has an id that keeps the context open meanwhile. Holds no lock
     * while C makes a list, because C may take long to open a device.
     */
    static void hold(long context) {
        if (join(context)) {
            return;
        }
        long made = list();
        boolean added = false;
        try {
            added = add(context, made);
        } finally {
            if (!added) {
                RdmaCm.FREE_DEVICES.call(made); // another thread was faster
            }
        }
    }

    private static boolean join(long context) {
        try (var _ = LOCK.held()) {
            OpenDevices held = HELD.get(context);
            if (held != null) {
                held.users++;
            }
            return held != null;
        }
    }

    /** Adds a list. Returns false if the context has one, which then has one more user. */
    private static boolean add(long context, long made) {
        try (var _ = LOCK.held()) {
            if (join(context)) {
                return false;
            }
            HELD.put(context, new OpenDevices(made));
            return true;
        }
    }

    /** Removes a user. Returns the list if that was the last one. */
    private static @Nullable OpenDevices leave(long context) {
        try (var _ = LOCK.held()) {
            OpenDevices held = Objects.requireNonNull(HELD.get(context));
            held.users--;
            if (held.users > 0) {
                return null;
            }
            HELD.remove(context);
            return held;
        }
    }

    /** Ends what {@link #hold} began. The last user frees the list, and C may close the context. */
    static void release(long context) {
        OpenDevices unused = leave(context);
        if (unused != null) {
            RdmaCm.FREE_DEVICES.call(unused.list);
        }
    }
}

package dev.verbena.cm;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.RdmaCm;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A list of devices in C ({@code rdma_get_devices}), which keeps a context of the connection manager open. All objects in Java
 * that stand for the context share the list: a new one for each connection would have C look for new devices each time, which
 * takes longer than the calls that a connection needs.
 */
record OpenDevices(long address, int users) {
    /** The lists that are in use, by address of the context in C. */
    private static final Map<Long, OpenDevices> HELD = new ConcurrentHashMap<>();

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
        if (HELD.computeIfPresent(context, (_, known) -> known.used(1)) != null) {
            return;
        }
        long made = list();
        OpenDevices held = null;
        try {
            held = HELD.merge(context, new OpenDevices(made, 1), (known, _) -> known.used(1));
        } finally {
            if (held == null || held.address != made) {
                RdmaCm.FREE_DEVICES.call(made); // another thread was faster
            }
        }
    }

    private @Nullable OpenDevices used(int more) {
        return users + more == 0 ? null : new OpenDevices(address, users + more);
    }

    /** Ends what {@link #hold} began. The last user frees the list, and C may close the context. */
    static void release(long context) {
        long list = Objects.requireNonNull(HELD.get(context)).address; // which stays as long as the caller uses it
        if (HELD.computeIfPresent(context, (_, known) -> known.used(-1)) == null) {
            RdmaCm.FREE_DEVICES.call(list);
        }
    }
}

package dev.verbena.cm;

import dev.verbena.internal.CFunction;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A list of devices in C ({@code rdma_get_devices}), which keeps a context of the connection manager open. All objects in Java
 * that stand for the context share the list: a new one for each connection would have C look for new devices each time, which
 * takes longer than the calls that a connection needs.
 */
final class OpenDevices {
    /** The lists that are in use, by address of the context in C. */
    private static final Map<Long, OpenDevices> HELD = new ConcurrentHashMap<>();

    private final Long context;
    private final long address;
    private int users = 1;

    private OpenDevices(Long context, long address) {
        this.context = context;
        this.address = address;
    }

    /** Makes a list in C, to be freed by {@link RdmaCm#FREE_DEVICES}. */
    static long list() {
        RdmaCm.FREE_DEVICES.find();
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
    static OpenDevices hold(long context) {
        OpenDevices known = HELD.get(context);
        if (known != null && known.join()) {
            return known;
        }
        long made = list();
        OpenDevices held = null;
        try {
            OpenDevices own = new OpenDevices(context, made);
            OpenDevices faster = HELD.putIfAbsent(context, own);
            held = faster != null && faster.join() ? faster : own; // not for others if the faster one is about to end
            return held;
        } finally {
            if (held == null || held.address != made) {
                RdmaCm.FREE_DEVICES.callQuietly(made, 0, 0, 0); // another thread was faster
            }
        }
    }

    private synchronized boolean join() {
        if (users == 0) {
            return false;
        }
        users++;
        return true;
    }

    /** Ends what {@link #hold} began. The last user frees the list, and C may close the context. Allocates nothing. */
    void release() {
        synchronized (this) {
            users--;
            if (users > 0) {
                return;
            }
        }
        HELD.remove(context, this);
        RdmaCm.FREE_DEVICES.callQuietly(address, 0, 0, 0);
    }
}

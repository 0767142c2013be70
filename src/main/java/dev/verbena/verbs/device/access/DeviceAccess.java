package dev.verbena.verbs.device.access;

import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Port;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The door that makes values of {@code dev.verbena.verbs.device} from C's structs, which users cannot do. */
public interface DeviceAccess {
    /** Wraps a {@code struct ibv_device_attr_ex}. */
    DeviceAttributes attributes(MemorySegment struct);

    /** Wraps a {@code struct ibv_port_attr} of a port of a device. */
    Port port(String device, int number, MemorySegment struct);

    /** Installs the instance that {@link #get} returns. Only {@link DeviceAttributes} calls this. */
    static void install(DeviceAccess access) {
        Installed.access = access;
    }

    /** Returns the installed instance. */
    static DeviceAccess get() {
        if (Installed.access == null) {
            try {
                MethodHandles.lookup().ensureInitialized(DeviceAttributes.class); // installs it
            } catch (IllegalAccessException e) {
                throw new AssertionError(e);
            }
        }
        return Objects.requireNonNull(Installed.access);
    }

    /** Holds the instance. */
    final class Installed {
        private static volatile @Nullable DeviceAccess access;

        private Installed() {}
    }
}

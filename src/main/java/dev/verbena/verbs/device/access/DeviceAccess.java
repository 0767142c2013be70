package dev.verbena.verbs.device.access;

import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Port;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Makes the values of {@code dev.verbena.verbs.device} from C's structs, which users cannot do. */
public abstract class DeviceAccess {
    private static volatile @Nullable DeviceAccess installed;

    /** Makes an instance, to be installed. */
    protected DeviceAccess() {}

    /** Installs the instance that {@link #get} returns. Only {@link DeviceAttributes} calls this. */
    public static void install(DeviceAccess access) {
        installed = access;
    }

    /** Returns the installed instance. */
    public static DeviceAccess get() {
        DeviceAccess access = installed;
        if (access == null) {
            try {
                MethodHandles.lookup().ensureInitialized(DeviceAttributes.class); // installs it
            } catch (IllegalAccessException e) {
                throw new AssertionError(e);
            }
            access = Objects.requireNonNull(installed);
        }
        return access;
    }

    /** Wraps a {@code struct ibv_device_attr_ex}. */
    public abstract DeviceAttributes attributes(MemorySegment struct);

    /** Wraps a {@code struct ibv_port_attr} of a port of a device. */
    public abstract Port port(String device, int number, MemorySegment struct);
}

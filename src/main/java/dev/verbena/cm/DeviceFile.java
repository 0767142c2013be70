package dev.verbena.cm;

import dev.verbena.internal.Memory;
import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_device;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The folder of a device below {@code /sys/class/infiniband_verbs}. The kernel removes the folder when the device goes,
 * before it waits for the programs that use the device.
 *
 * @param key distinguishes the folder from a later one at the same path
 */
record DeviceFile(Path path, Object key) {
    /** Returns the path of the folder of a device, which C keeps open meanwhile; empty if C does not know it. */
    static String path(long context) {
        long device = Memory.getLong(context + ibv_context.device$offset());
        return device == 0
                ? ""
                : ibv_device
                        .dev_path(Memory.struct(device, ibv_device.sizeof()))
                        .getString(0);
    }

    /** Returns the folder at a path; null if there is none, as where {@code /sys} is not mounted. */
    static @Nullable DeviceFile at(String path) {
        if (!path.startsWith("/")) {
            return null;
        }
        Path file = Path.of(path);
        try {
            Object key = Files.getAttribute(file, "fileKey");
            return key == null ? null : new DeviceFile(file, key);
        } catch (IOException unknown) {
            return null;
        }
    }

    /** Returns true if the device is surely gone. */
    boolean isGone() {
        try {
            return !key.equals(Files.getAttribute(path, "fileKey"));
        } catch (NoSuchFileException gone) {
            return true;
        } catch (IOException unknown) {
            return false;
        }
    }
}

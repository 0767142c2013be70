package dev.verbena.tools.device;

import dev.verbena.verbs.device.PortCounters;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * The folders of devices in {@code sysfs}: they can be read without root and without {@code libibverbs}.
 *
 * @param all the folder that has a folder for each device
 */
record DeviceFolders(Path all) {
    /** The folders of this machine. */
    static final DeviceFolders HERE = new DeviceFolders(Path.of("/sys/class/infiniband"));

    /** Returns the names of the devices, in order. */
    List<String> names() {
        String[] names = all.toFile().list();
        return names == null ? List.of() : Arrays.stream(names).sorted().toList();
    }

    /** Tells whether a text is {@code DEVICE}, {@code DEVICE:PORT} or empty. */
    static boolean isPort(String wanted) {
        return wanted.isEmpty() || wanted.matches("[^:]+(:[0-9]{1,3})?");
    }

    /**
     * Reads the counters of ports.
     *
     * @param wanted {@code DEVICE}, {@code DEVICE:PORT}, or an empty text for all ports
     * @throws NoSuchElementException if there is no such port
     */
    List<PortCounters> counters(String wanted) {
        int colon = wanted.indexOf(':');
        String device = colon < 0 ? wanted : wanted.substring(0, colon);
        String port = colon < 0 ? "" : wanted.substring(colon + 1);
        List<PortCounters> found = new ArrayList<>();
        for (String name : names()) {
            if (device.isEmpty() || device.equals(name)) {
                found.addAll(PortCounters.read(all.resolve(name)));
            }
        }
        found.removeIf(counters -> !port.isEmpty() && !port.equals(String.valueOf(counters.port())));
        if (found.isEmpty()) {
            throw new NoSuchElementException(
                    names().isEmpty()
                            ? "this machine has no RDMA device. 'rdma link add rxe0 type rxe netdev eth0' makes a "
                                    + "software one, as root"
                            : "no port '" + wanted + "', there are the devices " + String.join(", ", names()));
        }
        return found;
    }

    /** Returns the text of a file of a port; empty if there is no such file. */
    String text(PortCounters port, String file) {
        return text(port.device(), "ports/" + port.port() + "/" + file);
    }

    /** Returns the text of a file of a device; empty if there is no such file. */
    String text(String device, String file) {
        try {
            return Files.readString(all.resolve(device).resolve(file)).strip();
        } catch (IOException missing) {
            return "";
        }
    }
}

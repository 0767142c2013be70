package dev.verbena.tools;

import dev.verbena.verbs.Device;
import java.io.PrintStream;

/** Lists the devices of this machine, as {@code ibv_devices} does. */
final class Devices {
    private static final String USAGE = """
            usage: verbena devices

            Lists the RDMA devices of this machine, as ibv_devices does.""";

    private Devices() {}

    static int run(String[] args, PrintStream out) {
        Options.parse(args, USAGE);
        out.println("    device          \t   node GUID");
        out.println("    ------          \t----------------");
        for (Device device : Device.list()) {
            out.printf(
                    "    %-16s\t%s%n", device.name(), device.guid().toString().replace(":", ""));
        }
        return Main.OK;
    }
}

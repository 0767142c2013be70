package dev.verbena.tools.device;

import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.Device;
import java.io.PrintStream;

/** Lists the devices of this machine, as {@code ibv_devices} does. */
public final class Devices {
    private static final String USAGE = """
            usage: verbena devices

            Lists the RDMA devices of this machine, as ibv_devices does.""";

    private Devices() {}

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     */
    public static int run(String[] args, PrintStream out) {
        Options.parse(args, USAGE, 0);
        out.println("    device          \t   node GUID");
        out.println("    ------          \t----------------");
        for (Device device : Device.list()) {
            out.printf(
                    "    %-16s\t%s%n", device.name(), device.guid().toString().replace(":", ""));
        }
        return Tool.OK;
    }
}

package dev.verbena.tools.device;

import dev.verbena.VerbsArena;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.page.Json;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.device.Port;
import java.io.PrintStream;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;

/** Lists the GIDs of a device with index, type, network device and address, and marks the one to use. */
public final class Gids {
    private static final String USAGE = """
            usage: verbena gids [-d DEVICE] [-i PORT] [--json]

            Lists GIDs: index, type, network device, GID. A star marks the one to use.
            Verbena uses that GID by default; the C tools need its index as -g INDEX.
              -d, --ib-dev=DEVICE   only this device (default: all)
              -i, --ib-port=PORT    only this port (default: all)
              --json                prints JSON""";

    private Gids() {}

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     */
    public static int run(String[] args, PrintStream out) {
        Options options = Options.parse(args, USAGE, 0);
        int only = options.number("-i", 0, 1, 255);
        List<Device> devices = options.devices();
        if (devices.isEmpty()) {
            Device.first(); // throws, with advice on how to get a device
        }
        List<Object> gids = new ArrayList<>();
        for (Device device : devices) {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = device.open(arena);
                List<Port> ports = only == 0 ? context.ports() : List.of(context.port(only));
                for (Port port : ports) {
                    if (options.has("--json")) {
                        add(context, port.number(), gids);
                    } else {
                        print(context, port.number(), out);
                    }
                }
            }
        }
        if (options.has("--json")) {
            out.print(Json.of(Json.map("gids", gids)));
        }
        return Tool.OK;
    }

    private static void add(Context context, int port, List<Object> gids) {
        List<GidEntry> entries =
                context.gids().stream().filter(entry -> entry.port() == port).toList();
        GidEntry best = entries.isEmpty() ? null : context.bestGid(port);
        for (GidEntry entry : entries) {
            gids.add(Json.map(
                    "device",
                    context.device().name(),
                    "port",
                    port,
                    "index",
                    entry.index(),
                    "type",
                    type(entry.type()),
                    "netdev",
                    entry.networkDevice(),
                    "gid",
                    text(entry),
                    "best",
                    entry.equals(best)));
        }
    }

    private static void print(Context context, int port, PrintStream out) {
        String name = context.device().name();
        out.println(name + ", port " + port);
        GidEntry best;
        try {
            best = context.bestGid(port);
        } catch (NoSuchElementException none) {
            out.println("  " + none.getMessage());
            return;
        }
        out.printf("    %5s  %-10s %-10s %s%n", "index", "type", "netdev", "GID");
        for (GidEntry entry : context.gids()) {
            if (entry.port() == port) {
                out.printf(
                        "  %s %5d  %-10s %-10s %s%n",
                        entry.equals(best) ? '*' : ' ',
                        entry.index(),
                        type(entry.type()),
                        entry.networkDevice().isEmpty() ? "-" : entry.networkDevice(),
                        text(entry));
            }
        }
        out.println("  use -d " + name + (port == 1 ? "" : " -i " + port) + " -g " + best.index()
                + (best.gid().isLinkLocal() && best.type() != GidEntry.Type.IB
                        ? " (link-local: for other networks, give " + netdev(best) + " an IP address)"
                        : ""));
    }

    private static String netdev(GidEntry entry) {
        return entry.networkDevice().isEmpty() ? "its network device" : entry.networkDevice();
    }

    static String type(GidEntry.Type type) {
        return switch (type) {
            case IB -> "InfiniBand";
            case ROCE_V1 -> "RoCE v1";
            case ROCE_V2 -> "RoCE v2";
            case UNKNOWN -> "unknown";
        };
    }

    private static String text(GidEntry entry) {
        return entry.type() == GidEntry.Type.ROCE_V2
                ? text(entry.gid())
                : entry.gid().toString();
    }

    /**
     * Formats a GID as the C tools do: {@code ::} stands for the longest run of zeros.
     *
     * @param gid the GID
     * @return its text
     */
    public static String text(dev.verbena.verbs.address.Gid gid) {
        if (gid.isIpv4Mapped()) {
            return gid.toString();
        }
        InetAddress address = gid.toInetAddress();
        String[] groups = address.getHostAddress().split(":");
        int start = -1;
        int length = 1;
        for (int i = 0; i < groups.length; i++) {
            int end = i;
            while (end < groups.length && groups[end].equals("0")) {
                end++;
            }
            if (end - i > length) {
                start = i;
                length = end - i;
            }
        }
        if (start < 0) {
            return address.getHostAddress();
        }
        return String.join(":", List.of(groups).subList(0, start)) + "::"
                + String.join(":", List.of(groups).subList(start + length, groups.length));
    }
}

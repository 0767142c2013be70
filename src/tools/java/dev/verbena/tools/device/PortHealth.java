package dev.verbena.tools.device;

import dev.verbena.tools.command.PeerText;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.PortCounters;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The weaknesses of a port that works: its speed, and errors that were counted. */
final class PortHealth {
    /** The codes of speeds that a port says it has, the highest first. Slower ones are not told apart. */
    private static final Map<Port.Capability2, Integer> SPEEDS = new EnumMap<>(Map.of(
            Port.Capability2.LINK_SPEED_HDR, 64,
            Port.Capability2.LINK_SPEED_NDR, 128,
            Port.Capability2.LINK_SPEED_XDR, 256));

    private static final int FDR = 16;
    private static final Set<Trouble> NORMAL = Set.of(Trouble.CONGESTION_IN, Trouble.CONGESTION_OUT);

    private PortHealth() {}

    /**
     * A weakness.
     *
     * @param what the part that is weak
     * @param how its state
     * @param remedy what to do
     */
    record Weakness(String what, String how, String remedy) {}

    /** Returns the weaknesses of a port and of the slot of its adapter. */
    static List<Weakness> of(Port port, PortCounters counters, DeviceFolders folders) {
        List<Weakness> found = new ArrayList<>();
        speed(port).ifPresent(found::add);
        slot(counters.device(), folders).ifPresent(found::add);
        errors(counters, found);
        return found;
    }

    /** Compares the speed of a link of InfiniBand with what the port has. Ports of Ethernet do not say what they have. */
    private static Optional<Weakness> speed(Port port) {
        int best = SPEEDS.entrySet().stream()
                .filter(speed -> port.capabilities2().contains(speed.getKey()))
                .mapToInt(Map.Entry::getValue)
                .max()
                .orElse(port.capabilities().contains(Port.Capability.EXTENDED_SPEEDS) ? FDR : 0);
        if (port.linkLayer() != Port.LinkLayer.INFINIBAND || port.speedCode() >= best) {
            return Optional.empty();
        }
        String has = switch (best) {
            case FDR -> "FDR";
            case 64 -> "HDR";
            case 128 -> "NDR";
            default -> "XDR";
        };
        return Optional.of(new Weakness(
                "link speed",
                "port " + port.number() + " runs at " + port.speedName() + ", and has " + has,
                "check the cable, and the switch's port: iblinkinfo shows both ends"));
    }

    /** Compares the link of an adapter of PCI Express with what the adapter has. */
    private static Optional<Weakness> slot(String device, DeviceFolders folders) {
        String now = pci(device, "current", folders);
        String most = pci(device, "max", folders);
        return now.equals(most) || now.isEmpty() || most.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        new Weakness(
                                "PCI Express",
                                PeerText.harmless(device + " has " + now + " of " + most),
                                "use a slot with more lanes, or check the firmware's settings: lspci -vv has LnkSta and LnkCap"));
    }

    private static String pci(String device, String which, DeviceFolders folders) {
        String speed = folders.text(device, "device/" + which + "_link_speed");
        String width = folders.text(device, "device/" + which + "_link_width");
        return speed.matches("[0-9.]+ GT/s.*") && width.matches("[1-9][0-9]*")
                ? speed.replace(" PCIe", "") + " x" + width
                : ""; // a virtual function has none, and software has no such file
    }

    private static void errors(PortCounters counters, List<Weakness> found) {
        Trouble.in(counters.values()).forEach((trouble, errors) -> {
            if (!NORMAL.contains(trouble)) {
                List<String> values = new ArrayList<>();
                errors.forEach((name, value) -> values.add(PeerText.harmless(name) + " " + value
                        + (counters.stuck().contains(name) ? " (maximum)" : "")));
                found.add(new Weakness(
                        "counters",
                        "port " + counters.port() + ": " + trouble.meaning() + ": " + String.join(", ", values),
                        trouble.remedy() + " ('verbena top' shows whether it goes on)"));
            }
        });
    }
}

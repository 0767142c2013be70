package dev.verbena.tools.report;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.address.GidEntry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Removes from texts what identifies a machine or gives access to its memory: host and user names, network addresses, GIDs,
 * GUIDs, memory addresses and keys. Addresses are found by their shape, wherever they come from, and by their value.
 */
final class Redaction {
    private static final String HEX = "[0-9a-fA-F]";

    /** Parts of a text that look like addresses or keys, with their replacements. */
    private enum Shape {
        KEY("(?i)\\b([lrpq]?key)([ =:]+)(?:0x|(?=[a-f]*\\d))" + HEX + "+\\b", "$1$2<key>"),
        POINTER("\\bat 0x" + HEX + "+\\b", "at <address>"),
        COLONS(
                "(?<![\\w:.])(?=" + HEX + "*:" + HEX + "*:|::)(" + HEX + "{0,4}:){2,15}(\\d{1,3}(\\.\\d{1,3}){3}|" + HEX
                        + "{0,4})(?![\\w:])",
                "<address>"),
        DOTS("(?<![\\w.-])\\d{1,3}(\\.\\d{1,3}){3}(?![\\w-]|\\.\\d)", "<address>"),
        LID("(?i)\\b((?:sm_|port_|base_)?lid)(:?[ \\t]+)(?:0x|(?=[a-f]*\\d))" + HEX + "+\\b", "$1$2<address>");

        private final Pattern pattern;
        private final String replacement;

        Shape(String pattern, String replacement) {
            this.pattern = Pattern.compile(pattern);
            this.replacement = replacement;
        }
    }

    private final List<String> names;
    private final Set<String> addresses;

    /**
     * Makes a redaction.
     *
     * @param names host and user names, which are removed where they stand as a word
     * @param addresses addresses as they are printed, which are removed everywhere
     */
    Redaction(Set<String> names, Set<String> addresses) {
        this.names = names.stream()
                .filter(name -> name.length() > 1)
                .sorted(Comparator.comparingInt(String::length).reversed())
                .toList();
        this.addresses = Set.copyOf(addresses);
    }

    /**
     * Returns the redaction for this machine and its devices.
     *
     * @param peer the name of the other machine, or an empty text
     */
    static Redaction ofThisMachine(String peer) throws IOException {
        Set<String> names = new TreeSet<>(Set.of(peer));
        Set<String> addresses = new TreeSet<>();
        names.add(System.getProperty("user.name", ""));
        names.add(String.valueOf(System.getenv("HOSTNAME")));
        for (String file : List.of("/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/etc/hostname")) {
            if (Files.isReadable(Path.of(file))) {
                names.add(Files.readString(Path.of(file)).strip());
            }
        }
        try {
            names.add(InetAddress.getLocalHost().getHostName());
        } catch (UnknownHostException unnamed) {
            names.add("");
        }
        for (String name : List.copyOf(names)) {
            names.add(name.replaceFirst("\\..*", ""));
        }
        names.removeAll(Set.of("", "null", "localhost", "(none)", "root"));
        for (NetworkInterface network : NetworkInterface.networkInterfaces().toList()) {
            network.inetAddresses()
                    .filter(address -> !address.isLoopbackAddress())
                    .forEach(address -> addresses.add(address.getHostAddress().replaceFirst("%.*", "")));
            byte[] hardware = network.getHardwareAddress();
            if (hardware != null) {
                addresses.add(HexFormat.ofDelimiter(":").formatHex(hardware));
            }
        }
        for (Device device : Device.list()) {
            addresses.add(device.guid().toString());
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = device.open(arena);
                addresses.add(context.attributes().nodeGuid().toString());
                addresses.add(context.attributes().systemImageGuid().toString());
                for (GidEntry entry : context.gids()) {
                    addresses.add(entry.gid().toString());
                }
            }
        }
        addresses.removeIf(address -> address.replaceAll("[0:.]", "").isEmpty()); // says nothing about the machine
        return new Redaction(names, addresses);
    }

    /** Returns a text without names, addresses and keys. */
    String of(String text) {
        String redacted = text;
        for (String address : addresses) {
            redacted = replace(redacted, Pattern.quote(address), "<address>");
        }
        for (Shape shape : Shape.values()) {
            redacted = shape.pattern.matcher(redacted).replaceAll(shape.replacement);
        }
        for (String name : names) {
            redacted = replace(redacted, "(?<![\\w-])" + Pattern.quote(name) + "(?![\\w-])", "<name>");
        }
        return redacted;
    }

    private static String replace(String text, String pattern, String by) {
        return Pattern.compile(pattern, Pattern.CASE_INSENSITIVE).matcher(text).replaceAll(by);
    }

    /** Returns the lines of a text without names, addresses and keys. */
    List<String> lines(String text) {
        return new ArrayList<>(of(text).lines().toList());
    }

    /**
     * Checks a finished text.
     *
     * @throws IllegalStateException if an address of this machine is in the text
     */
    void check(String text) {
        String small = text.toLowerCase(Locale.ROOT);
        for (String address : addresses) {
            if (small.contains(address.toLowerCase(Locale.ROOT))) {
                throw new IllegalStateException(
                        "the report would contain an address of this machine and was not written:"
                                + " please report this as a fault of Verbena");
            }
        }
    }
}

package dev.verbena.tools.device;

import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.PeerText;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.page.Json;
import dev.verbena.verbs.device.PortCounters;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Prints the counters of ports, or what has changed since an earlier output. */
public final class Counters {
    private static final String USAGE = """
            usage: verbena counters [--since=FILE] [--json] [DEVICE[:PORT]]

            Prints the counters of ports as the kernel shows them. They count since the
            driver was loaded. port_xmit_data and port_rcv_data count words of four bytes.
              --since=FILE   prints what has changed since FILE, an earlier output of this
                             tool (without --json), and the change for each second
              --json         prints JSON""";

    private static final Pattern PORT = Pattern.compile("(\\S+) port (\\d{1,3}) at (\\S+)");
    private static final Pattern VALUE = Pattern.compile("  (\\S.*?) +(\\d{1,20})(?:  .*)?");

    private Counters() {}

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     * @throws IOException if the earlier output can't be read
     */
    public static int run(String[] args, PrintStream out) throws IOException {
        return run(args, out, DeviceFolders.HERE);
    }

    static int run(String[] args, PrintStream out, DeviceFolders folders) throws IOException {
        Options options = Options.parse(args, USAGE, 1);
        String wanted = options.operand(0);
        options.check(DeviceFolders.isPort(wanted), "no DEVICE[:PORT]: " + wanted);
        List<Earlier> earlier = options.has("--since") ? read(Path.of(options.text("--since", ""))) : List.of();
        Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS);
        List<Map<String, Object>> ports = new ArrayList<>();
        for (PortCounters counters : folders.counters(wanted)) {
            Earlier before = earlier.stream()
                    .filter(each -> each.isOf(counters))
                    .findFirst()
                    .orElse(null);
            if (options.has("--since") && before == null) {
                throw new NoSuchElementException(options.text("--since", "") + " has no counters of port "
                        + counters.port() + " of " + counters.device());
            } else if (options.has("--json")) {
                ports.add(json(counters, before, now));
            } else if (before != null) {
                print(counters, before, now, out);
            } else {
                print(counters, now, out);
            }
        }
        if (options.has("--json")) {
            out.print(Json.of(Json.map("time", now, "ports", ports)));
        }
        return Tool.OK;
    }

    private static void print(PortCounters counters, Instant now, PrintStream out) {
        out.println(PeerText.harmless(counters.device()) + " port " + counters.port() + " at " + now);
        if (counters.values().isEmpty()) {
            out.println("  no counters: the driver of this device has none");
        }
        counters.values().forEach((name, value) -> {
            String stuck = counters.stuck().contains(name) ? "at its maximum" : "";
            line(out, name, Long.toUnsignedString(value), stuck, value == 0 ? Optional.empty() : Trouble.of(name));
        });
    }

    private static void print(PortCounters now, Earlier before, Instant time, PrintStream out) {
        double seconds = before.secondsUntil(time);
        out.println(PeerText.harmless(now.device()) + " port " + now.port() + " since " + before.time
                + String.format(Locale.ROOT, ": %.1f s", seconds));
        SortedMap<String, Long> changes = now.since(before.counters).values();
        if (changes.values().stream().allMatch(change -> change == 0)) {
            out.println("  nothing has changed");
        }
        changes.forEach((name, change) -> {
            if (change != 0) {
                String rate = Traffic.rate(name, change, seconds);
                line(out, name, (change > 0 ? "+" : "") + change, rate, Trouble.of(name));
            }
        });
    }

    private static void line(PrintStream out, String name, String value, String note, Optional<Trouble> trouble) {
        String meaning = trouble.map(Trouble::meaning).orElse("");
        String notes = note + (note.isEmpty() || meaning.isEmpty() ? "" : ": ") + meaning;
        out.println(String.format("  %-31s %12s  %s", PeerText.harmless(name), value, notes)
                .stripTrailing());
    }

    private static Map<String, Object> json(PortCounters now, @Nullable Earlier before, Instant time) {
        Map<String, Object> port = Json.map("device", now.device(), "port", now.port(), "counters", now.values());
        if (before != null) {
            port.putAll(Json.map(
                    "since",
                    before.time,
                    "seconds",
                    before.secondsUntil(time),
                    "changes",
                    now.since(before.counters).values()));
        }
        port.put("stuck", now.stuck());
        return port;
    }

    /** The counters of a port in an earlier output. */
    private record Earlier(Instant time, PortCounters counters) {
        boolean isOf(PortCounters now) {
            return counters.device().equals(now.device()) && counters.port() == now.port();
        }

        /** Returns the time that has gone by: at least a millisecond, because rates divide by it. */
        double secondsUntil(Instant now) {
            return Math.max(1, Duration.between(time, now).toMillis()) / 1e3;
        }
    }

    private static List<Earlier> read(Path file) throws IOException {
        List<Earlier> ports = new ArrayList<>();
        SortedMap<String, Long> values = new TreeMap<>();
        @Nullable Matcher header = null;
        for (String line : Files.readAllLines(file)) {
            Matcher port = PORT.matcher(line);
            Matcher value = VALUE.matcher(line);
            if (port.matches()) {
                add(ports, header, values);
                header = port;
                values.clear();
            } else if (value.matches()) {
                values.put(value.group(1), Long.parseUnsignedLong(value.group(2)));
            }
        }
        add(ports, header, values);
        if (ports.isEmpty()) {
            throw new IOException(file + " is no output of 'verbena counters'");
        }
        return ports;
    }

    private static void add(List<Earlier> ports, @Nullable Matcher header, SortedMap<String, Long> values) {
        if (header != null) {
            ports.add(new Earlier(
                    Instant.parse(header.group(3)),
                    new PortCounters(header.group(1), Integer.parseInt(header.group(2)), values, new TreeSet<>())));
        }
    }
}

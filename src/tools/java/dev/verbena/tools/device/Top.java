package dev.verbena.tools.device;

import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.PeerText;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.page.Json;
import dev.verbena.verbs.device.PortCounters;
import java.io.PrintStream;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;

/** Shows what happens at ports while it happens: trouble first, then the traffic, and who uses the devices. */
public final class Top {
    private static final String USAGE = """
            usage: verbena top [-n SECONDS] [--once] [--json] [DEVICE[:PORT]]

            Shows trouble and traffic of ports while they happen, the port with the worst
            trouble first, and the processes that use the devices, if there is the program
            'rdma' of iproute2. Needs neither root nor libibverbs. Ctrl-C ends it.
              -n, --interval=SECONDS   the time between two screens (default: 1); the first
                                       one comes at once, and so does new trouble
              --once                   ends after one screen, of a whole interval
              --json                   prints JSON for each interval""";

    /** The time until the first screen, and between two looks for new trouble, which does not wait for the next screen. */
    private static final Duration LOOK = Duration.ofMillis(250);

    private static final String CLEAR_SCREEN = "\u001b[H\u001b[2J";

    private final DeviceFolders folders;
    private final PrintStream out;

    private Top(DeviceFolders folders, PrintStream out) {
        this.folders = folders;
        this.out = out;
    }

    /** The surroundings of the tool, which a test replaces. */
    interface Surroundings {
        /** Returns the time in nanoseconds from some start. */
        long nanos();

        /** Waits between two looks. */
        void pause(Duration time) throws InterruptedException;

        /** Returns true if the output is a terminal. */
        boolean isTerminal();

        /** Returns the users of devices; empty if they are unknown. */
        Optional<Collection<DeviceUsers.User>> users();
    }

    private static final class Machine implements Surroundings {
        @Override
        public long nanos() {
            return System.nanoTime();
        }

        @Override
        public void pause(Duration time) throws InterruptedException {
            Thread.sleep(time);
        }

        @Override
        public boolean isTerminal() {
            return System.console() != null && System.console().isTerminal();
        }

        @Override
        public Optional<Collection<DeviceUsers.User>> users() {
            return DeviceUsers.here();
        }
    }

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     * @throws InterruptedException if the thread is interrupted, as by Ctrl-C
     */
    public static int run(String[] args, PrintStream out) throws InterruptedException {
        return run(args, out, DeviceFolders.HERE, new Machine());
    }

    static int run(String[] args, PrintStream out, DeviceFolders folders, Surroundings around)
            throws InterruptedException {
        Options options = Options.parse(args, USAGE, 1);
        String wanted = options.operand(0);
        options.check(DeviceFolders.isPort(wanted), "no DEVICE[:PORT]: " + wanted);
        Duration interval = Duration.ofSeconds(options.number("-n", 1, 1, 3600));
        boolean json = options.has("--json");
        boolean clears = !json && !options.has("--once") && around.isTerminal();
        Top top = new Top(folders, out);
        List<PortCounters> before = folders.counters(wanted);
        long last = around.nanos();
        boolean once = options.has("--once");
        Duration screen = once ? interval : LOOK;
        Set<String> shown = Set.of();
        do {
            List<PortCounters> now;
            List<Change> changes;
            long time;
            double seconds;
            do {
                Duration left = screen.minusNanos(around.nanos() - last); // the users of the screen before took a part
                around.pause(left.isNegative() ? Duration.ZERO : once || left.compareTo(LOOK) < 0 ? left : LOOK);
                now = folders.counters(wanted);
                time = around.nanos();
                seconds = Math.max(1, time - last) / 1e9;
                changes = top.changes(before, now, seconds);
            } while (time - last < screen.toNanos() && shown.containsAll(troubles(changes)));
            screen = interval;
            shown = troubles(changes);
            if (json) {
                top.printJson(seconds, changes, users(around, now));
            } else {
                out.print(clears ? CLEAR_SCREEN : "");
                top.print(changes);
                out.flush(); // before another program is asked, which takes longer
                top.printUsers(users(around, now));
            }
            out.flush();
            before = now;
            last = time;
        } while (!once && !out.checkError());
        return Tool.OK;
    }

    /** Returns the kinds of trouble at each port, to compare with those of another look. */
    private static Set<String> troubles(List<Change> changes) {
        Set<String> all = new HashSet<>();
        for (Change change : changes) {
            String port = change.now.device() + ":" + change.now.port() + " ";
            change.troubles().keySet().forEach(trouble -> all.add(port + trouble));
            if (!change.active) {
                all.add(port + "is down");
            }
        }
        return all;
    }

    /** The changes of the counters of a port in an interval. */
    private record Change(PortCounters now, boolean active, SortedMap<String, Long> counters, double seconds) {
        /** Returns the counters that have grown, by the trouble that they report. */
        Map<Trouble, Map<String, Long>> troubles() {
            return Trouble.in(counters);
        }

        /** Returns the place of a port in the order: a port that is down, then the one with the worst trouble. */
        int rank() {
            return !active
                    ? -1
                    : troubles().keySet().stream()
                            .mapToInt(Trouble::ordinal)
                            .min()
                            .orElse(Trouble.values().length);
        }
    }

    private List<Change> changes(List<PortCounters> before, List<PortCounters> now, double seconds) {
        List<Change> changes = new ArrayList<>();
        for (PortCounters port : now) {
            before.stream()
                    .filter(earlier -> earlier.device().equals(port.device()) && earlier.port() == port.port())
                    .forEach(earlier -> changes.add(
                            new Change(port, isActive(port), port.since(earlier).values(), seconds)));
        }
        changes.sort(Comparator.comparingInt(Change::rank)); // stable: else by name and number
        return changes;
    }

    /** Returns the users of the devices that are shown; empty if they are unknown. */
    private static Optional<List<DeviceUsers.User>> users(Surroundings around, List<PortCounters> ports) {
        return around.users()
                .map(all -> all.stream()
                        .filter(user ->
                                ports.stream().anyMatch(port -> port.device().equals(user.device())))
                        .toList());
    }

    private void print(List<Change> changes) {
        out.println(Instant.now().truncatedTo(ChronoUnit.SECONDS));
        changes.forEach(this::print);
    }

    private void printUsers(Optional<List<DeviceUsers.User>> users) {
        users.ifPresentOrElse(
                all -> all.forEach(user -> out.println(PeerText.harmless(user.device() + "  " + user))),
                () -> out.println("users unknown: there is no program 'rdma' (package iproute2)"));
        out.println();
    }

    private void print(Change change) {
        PortCounters now = change.now;
        out.println(PeerText.harmless(
                now.device() + " port " + now.port() + "  " + state(now) + "  " + folders.text(now, "rate")));
        out.printf(
                "  out %-16s %-14s in %-16s %s%n",
                rate(change, Traffic.BYTES_OUT),
                rate(change, Traffic.PACKETS_OUT),
                rate(change, Traffic.BYTES_IN),
                rate(change, Traffic.PACKETS_IN));
        if (!change.active) {
            out.println("  HURTS  the port is " + PeerText.harmless(state(now)) + ": no packet leaves or comes");
            out.println(
                    "         -> check the cable, the switch and the network device (ip link); 'verbena doctor' has more");
        }
        change.troubles().forEach((trouble, counters) -> {
            List<String> rates = new ArrayList<>();
            counters.forEach((counter, growth) ->
                    rates.add(PeerText.harmless(counter) + " " + Traffic.number(growth / change.seconds, "/s")));
            out.println("  HURTS  " + trouble.meaning() + ": " + String.join(", ", rates));
            out.println("         -> " + trouble.remedy());
        });
        List<String> old = new ArrayList<>();
        Trouble.in(now.values())
                .values()
                .forEach(counters -> counters.forEach((counter, value) -> {
                    if (change.counters.getOrDefault(counter, 0L) == 0) {
                        old.add(PeerText.harmless(counter) + " " + value
                                + (now.stuck().contains(counter) ? " (maximum)" : ""));
                    }
                }));
        if (!old.isEmpty()) {
            out.println("  before " + String.join(", ", old));
        }
    }

    /** Returns true for a port that works, or whose state is unknown. */
    private boolean isActive(PortCounters port) {
        String state = state(port);
        return state.isEmpty() || state.equals("ACTIVE");
    }

    /** Returns the word in a text such as {@code 4: ACTIVE}. */
    private String state(PortCounters port) {
        return folders.text(port, "state").replaceFirst("^[0-9]+: ", "");
    }

    private static String rate(Change change, Traffic traffic) {
        boolean bytes = traffic == Traffic.BYTES_IN || traffic == Traffic.BYTES_OUT;
        return traffic.in(change.counters)
                .map(value -> bytes
                        ? Traffic.bits(value, change.seconds)
                        : Traffic.number(value / change.seconds, " packets/s"))
                .orElse("");
    }

    private void printJson(double seconds, List<Change> changes, Optional<List<DeviceUsers.User>> users) {
        List<Object> ports = new ArrayList<>();
        for (Change change : changes) {
            Map<String, Object> rates = new LinkedHashMap<>();
            for (Traffic traffic : Traffic.values()) {
                traffic.in(change.counters).ifPresent(value -> rates.put(traffic.jsonName(), value / change.seconds));
            }
            List<Object> troubles = new ArrayList<>();
            change.troubles().forEach((trouble, counters) -> {
                Map<String, Object> perSecond = new LinkedHashMap<>();
                counters.forEach((counter, growth) -> perSecond.put(counter, growth / change.seconds));
                troubles.add(Json.map("trouble", trouble, "meaning", trouble.meaning(), "perSecond", perSecond));
            });
            ports.add(Json.map(
                    "device",
                    change.now.device(),
                    "port",
                    change.now.port(),
                    "state",
                    state(change.now),
                    "rate",
                    folders.text(change.now, "rate"),
                    "perSecond",
                    rates,
                    "troubles",
                    troubles,
                    "stuck",
                    change.now.stuck()));
        }
        Map<String, Object> frame = Json.map("time", Instant.now(), "seconds", seconds, "ports", ports);
        users.ifPresent(all ->
                frame.put("users", all.stream().map(DeviceUsers.User::json).toList()));
        out.print(Json.of(frame));
    }
}

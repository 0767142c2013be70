package dev.verbena.tools.node;

import dev.verbena.net.Latency;
import dev.verbena.net.NodeMXBean.OpenChannel;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.PeerText;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.device.Traffic;
import dev.verbena.tools.page.Json;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Shows the nodes of a running program: which peer is slow, which calls fail and why, who pins memory. */
public final class Nodes {
    private static final String USAGE = """
            usage: verbena nodes [-n SECONDS] [--once] [--json] [PID]

            Shows the nodes of a running program while it works, the channel with the worst
            trouble first, then the one whose calls take longest: which peer is slow or has
            no room, which calls fail and why, and who pins memory. Attaches to the JVM as
            jconsole does, so it needs the same user. Without PID, lists the JVMs of this
            user. Ctrl-C ends it.
              -n, --interval=SECONDS   the time between two looks (default: 1)
              --once                   ends after one interval
              --json                   prints JSON for each interval""";

    /** A node adds itself about a second after the first look has made the MBean server. */
    private static final int MOST_LOOKS_FOR_NODES = 50;

    private static final Duration BETWEEN_LOOKS_FOR_NODES = Duration.ofMillis(100);

    /** Other nodes of the program come within a second after the first one, unless a handler takes longer. */
    private static final Duration FOR_OTHER_NODES = Duration.ofMillis(1200);

    /** The number of channels of a node that fit a screen. */
    private static final int MOST_CHANNELS = 10;

    private final PrintStream out;

    private Nodes(PrintStream out) {
        this.out = out;
    }

    /** The programs of this machine, which a test replaces. */
    interface Programs {
        /** Returns the process and the name of each program. */
        List<String> names();

        /** Attaches to a program. */
        Program attach(String pid) throws IOException;

        /** Returns the time in nanoseconds from some start. */
        default long nanos() {
            return System.nanoTime();
        }

        /** Waits between two looks. */
        default void pause(Duration time) throws InterruptedException {
            Thread.sleep(time);
        }
    }

    /** A program that was attached to. */
    interface Program extends AutoCloseable {
        /** Looks at the nodes of the program, in the order of their addresses. */
        List<Look> look() throws IOException;

        @Override
        void close() throws IOException;
    }

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     * @throws IOException if the program can't be attached to, or has ended
     * @throws InterruptedException if the thread is interrupted, as by Ctrl-C
     */
    public static int run(String[] args, PrintStream out) throws IOException, InterruptedException {
        return run(args, out, new RunningPrograms());
    }

    static int run(String[] args, PrintStream out, Programs programs) throws IOException, InterruptedException {
        Options options = Options.parse(args, USAGE, 1);
        String pid = options.operand(0);
        options.check(pid.matches("[0-9]{0,10}"), "no process id: " + pid);
        Duration interval = Duration.ofSeconds(options.number("-n", 1, 1, 3600));
        if (pid.isEmpty()) {
            programs.names().forEach(name -> out.println(PeerText.harmless(name)));
            return Tool.OK;
        }
        try (Program program = programs.attach(pid)) {
            List<Look> before = firstLook(program, programs);
            long last = programs.nanos();
            do {
                programs.pause(interval);
                List<Look> now = program.look();
                long time = programs.nanos();
                new Nodes(out).show(before, now, Math.max(1, time - last) / 1e9, options.has("--json"));
                out.flush();
                before = now;
                last = time;
            } while (!options.has("--once") && !out.checkError());
            return Tool.OK;
        }
    }

    private static List<Look> firstLook(Program program, Programs programs) throws IOException, InterruptedException {
        for (int i = 0; i < MOST_LOOKS_FOR_NODES; i++) {
            if (!program.look().isEmpty()) {
                if (i > 0) { // else they were there already
                    programs.pause(FOR_OTHER_NODES);
                }
                return program.look();
            }
            programs.pause(BETWEEN_LOOKS_FOR_NODES);
        }
        throw new IOException("the program has no open node, or none that makes progress");
    }

    private void show(List<Look> before, List<Look> now, double seconds, boolean json) {
        List<Map<String, Object>> nodes = new ArrayList<>();
        if (!json) {
            out.println(Instant.now().truncatedTo(ChronoUnit.SECONDS));
        }
        for (Look node : now) {
            Look earlier = before.stream()
                    .filter(each -> each.name().equals(node.name()))
                    .findFirst()
                    .orElse(node);
            List<Work> channels = channels(earlier, node, seconds);
            if (json) {
                nodes.add(json(earlier, node, channels, seconds));
            } else {
                print(earlier, node, channels, seconds);
            }
        }
        if (json) {
            out.print(Json.of(Json.map("time", Instant.now(), "seconds", seconds, "nodes", nodes)));
        } else {
            out.println();
        }
    }

    /** The work of a channel in an interval. */
    private record Work(
            OpenChannel now, Map<String, Long> changes, Latency calls, Latency handler, Map<Hurt, String> hurts) {
        static Work of(OpenChannel before, OpenChannel now, double seconds) {
            Map<String, Long> changes = Look.changes(before.statistics(), now.statistics());
            return new Work(
                    now,
                    changes,
                    Look.changes(before.latency(), now.latency()),
                    Look.changes(before.handlerLatency(), now.handlerLatency()),
                    Hurt.all(changes, seconds));
        }

        /** Returns the place of a channel in the order. */
        int rank() {
            return hurts.keySet().stream().mapToInt(Hurt::ordinal).min().orElse(Hurt.values().length);
        }
    }

    private static List<Work> channels(Look before, Look now, double seconds) {
        List<Work> all = new ArrayList<>();
        for (OpenChannel channel : now.channels()) {
            OpenChannel earlier = before.channels().stream()
                    .filter(each -> each.channel().equals(channel.channel()))
                    .findFirst()
                    .orElse(channel);
            all.add(Work.of(earlier, channel, seconds));
        }
        all.sort(Comparator.comparingInt(Work::rank)
                .thenComparing(Comparator.comparingDouble((Work work) -> mean(work.calls))
                        .reversed()));
        return all;
    }

    /** Returns the mean of times; 0 if there are none. */
    private static double mean(Latency times) {
        return times.count() == 0 ? 0 : (double) times.totalNanos() / times.count();
    }

    private void print(Look before, Look now, List<Work> channels, double seconds) {
        out.println(PeerText.harmless(now.description()) + "  pins "
                + Traffic.number(now.statistics().getOrDefault("pinnedBytes", 0L), "B") + " of "
                + Traffic.number((double) now.pinnedBytesOfProcess(), "B") + " of the process");
        for (Work work : channels.subList(0, Math.min(channels.size(), MOST_CHANNELS))) {
            out.println("  " + PeerText.harmless(work.now.channel()));
            print("calls", work.calls, seconds);
            print("handler", work.handler, seconds);
            out.printf(
                    Locale.ROOT,
                    "    messages out %s, in %s%n",
                    Traffic.number(work.changes.getOrDefault("sent", 0L) / seconds, "/s"),
                    Traffic.number(work.changes.getOrDefault("received", 0L) / seconds, "/s"));
            print("    ", work.hurts, work.now.statistics());
        }
        if (channels.size() > MOST_CHANNELS) {
            out.println("  and " + (channels.size() - MOST_CHANNELS) + " more channels: --json shows all");
        }
        Map<String, Long> changes = Look.changes(before.statistics(), now.statistics());
        long ended = changes.getOrDefault("ended", 0L);
        if (ended > 0) {
            out.println("  HURTS  channels have ended: " + ended);
            out.println("         -> dev.verbena.ChannelEnd has the reasons");
        } else if (now.statistics().getOrDefault("ended", 0L) > 0) {
            out.println("  before ended " + now.statistics().get("ended"));
        }
        long strangers = changes.getOrDefault("strangers", 0L);
        if (strangers > 0) {
            out.println("  HURTS  peers without the secret: " + strangers);
            out.println("         -> dev.verbena.Stranger has their addresses");
        }
        printReason("a call failed last", now.callFailure());
        printReason("a handler threw last", now.handlerFailure());
    }

    private void printReason(String what, String reason) {
        if (!reason.isEmpty()) {
            out.println("  " + what + ": " + PeerText.harmless(reason));
        }
    }

    private void print(String what, Latency times, double seconds) {
        if (times.p50Nanos() > 0) {
            out.printf(
                    Locale.ROOT,
                    "    %-8s %-12s mean %-10s since the start: median %s, p99 %s, longest %s%n",
                    what,
                    Traffic.number(times.count() / seconds, "/s"),
                    times.count() == 0 ? "-" : text(mean(times)),
                    text((double) times.p50Nanos()),
                    text((double) times.p99Nanos()),
                    text((double) times.maxNanos()));
        }
    }

    private void print(String indent, Map<Hurt, String> hurts, Map<String, Long> counters) {
        hurts.forEach((hurt, amount) -> {
            out.println(indent + "HURTS  " + hurt.meaning() + ": " + amount);
            out.println(indent + "       -> " + hurt.remedy());
        });
        List<String> old = new ArrayList<>();
        Hurt.before(counters, hurts)
                .forEach((counter, value) ->
                        old.add(counter.equals("stalledNanos") ? "stalled " + text(value) : counter + " " + value));
        if (!old.isEmpty()) {
            out.println(indent + "before " + String.join(", ", old));
        }
    }

    /** Returns a time with its unit. */
    private static String text(double nanos) {
        String[] units = {"ns", "us", "ms", "s"};
        double scaled = nanos;
        int unit = 0;
        while (scaled >= 1000 && unit < units.length - 1) {
            scaled /= 1000;
            unit++;
        }
        return String.format(Locale.ROOT, scaled < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", scaled, units[unit]);
    }

    private static Map<String, Object> json(Look before, Look now, List<Work> channels, double seconds) {
        List<Object> works = new ArrayList<>();
        for (Work work : channels) {
            List<Object> hurts = new ArrayList<>();
            work.hurts.forEach((hurt, amount) ->
                    hurts.add(Json.map("trouble", hurt, "meaning", hurt.meaning(), "amount", amount)));
            works.add(Json.map(
                    "channel",
                    work.now.channel(),
                    "perSecond",
                    perSecond(work.changes, seconds),
                    "statistics",
                    work.now.statistics(),
                    "calls",
                    json(work.calls),
                    "handler",
                    json(work.handler),
                    "troubles",
                    hurts));
        }
        return Json.map(
                "node",
                now.description(),
                "perSecond",
                perSecond(Look.changes(before.statistics(), now.statistics()), seconds),
                "statistics",
                now.statistics(),
                "callFailure",
                now.callFailure(),
                "handlerFailure",
                now.handlerFailure(),
                "pinnedBytesOfProcess",
                now.pinnedBytesOfProcess(),
                "channels",
                works);
    }

    private static Map<String, Object> perSecond(Map<String, Long> changes, double seconds) {
        Map<String, Object> rates = new LinkedHashMap<>();
        new TreeMap<>(changes).forEach((counter, change) -> rates.put(counter, change / seconds));
        return rates;
    }

    private static Map<String, Object> json(Latency times) {
        return Json.map(
                "count",
                times.count(),
                "meanNanos",
                mean(times),
                "p50NanosSinceStart",
                times.p50Nanos(),
                "p99NanosSinceStart",
                times.p99Nanos(),
                "maxNanosSinceStart",
                times.maxNanos());
    }
}

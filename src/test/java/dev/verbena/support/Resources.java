package dev.verbena.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The kernel's RDMA objects of this process, as listed by {@code rdma resource show} of iproute2. */
public final class Resources {
    private static final Pattern ENTRY = Pattern.compile("\\{[^{}]*}");
    private static final Pattern PID = Pattern.compile("\"pid\":(\\d+)");

    /** The kinds, each with the field that its entries have, and those of later kinds have not. */
    private static final Map<String, String> KINDS = kinds();

    private Resources() {}

    private static Map<String, String> kinds() {
        Map<String, String> kinds = new LinkedHashMap<>();
        kinds.put("cm_id", "\"cm-idn\":");
        kinds.put("srq", "\"srqn\":");
        kinds.put("qp", "\"lqpn\":");
        kinds.put("mr", "\"mrn\":");
        kinds.put("cq", "\"cqn\":");
        kinds.put("pd", "\"pdn\":");
        kinds.put("ctx", "\"ctxn\":");
        return kinds;
    }

    /**
     * Returns the objects with their kinds, without two of each device that the connection manager in C keeps: a context,
     * which it opens when it first needs the device, and keeps until the process ends; and the protection domain of that
     * context that it makes for ids. C frees this domain when the last user of the device goes, but only if the user is an
     * id ({@code ucma_put_device}). A list of devices is a user too ({@code rdma_get_devices}), and each of our contexts of
     * the connection manager holds one, often longer than the last id lives. {@code rdma_free_devices} does not free the
     * domain: the next id of the device gets it, and frees it in the end.
     *
     * <p>The kernel names the thread that made an object, whose number is not that of the process. If the thread has
     * ended, the kernel names no owner at all, unlike for its own objects.
     */
    public static List<String> ofThisProcess() throws IOException {
        List<String> ours = of(KINDS.keySet());
        Map<String, String> contexts = new HashMap<>();
        ours.removeIf(entry ->
                entry.startsWith("ctx ") && contexts.putIfAbsent(field(entry, "ifname"), field(entry, "ctxn")) == null);
        Set<String> devices = new HashSet<>();
        ours.removeIf(entry -> entry.startsWith("pd ")
                && field(entry, "users").equals("0")
                && field(entry, "ctxn").equals(contexts.get(field(entry, "ifname")))
                && devices.add(field(entry, "ifname")));
        return ours;
    }

    /** Returns a field of an entry without its quotation marks; empty if there is none. */
    private static String field(String entry, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(entry);
        return found.find() ? found.group(1) : "";
    }

    private static List<String> of(Collection<String> kinds) throws IOException {
        List<String> ours = new ArrayList<>();
        for (String entry : show(kinds)) {
            Matcher pid = PID.matcher(entry);
            boolean its =
                    pid.find() ? Files.exists(Path.of("/proc/self/task", pid.group(1))) : !entry.contains("\"comm\":");
            if (its) {
                ours.add(kindOf(entry) + " " + entry);
            }
        }
        return ours;
    }

    private static String kindOf(String entry) {
        return KINDS.entrySet().stream()
                .filter(kind -> entry.contains(kind.getValue()))
                .findFirst()
                .orElseThrow()
                .getKey();
    }

    /** Returns the number of queues that drivers have mapped into this process. */
    public static long mappedQueues() throws IOException {
        try (Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
            return mappings.filter(line -> line.contains("/dev/infiniband/uverbs"))
                    .count();
        }
    }

    /** Waits until some process listens on a port of the connection manager. */
    public static void awaitListener(int port) {
        Pattern listener = Pattern.compile("\"state\":\"LISTEN\".*\"src-addr\":\"[^\"]*:" + port + "\"");
        Await.until(
                "a listener on port " + port,
                () -> show(List.of("cm_id")).stream()
                        .anyMatch(entry -> listener.matcher(entry).find()));
    }

    /** Waits until a request to connect has come to a port of a listener that does not take it. */
    public static void awaitRequest(int port) {
        Pattern own = Pattern.compile("\"src-addr\":\"[^\"]*:" + port + "\"");
        Await.until(
                "a request at port " + port,
                () -> show(List.of("cm_id")).stream()
                                .filter(entry -> own.matcher(entry).find())
                                .count()
                        == 2);
    }

    /** Returns the number of queue pairs of this process that are ready to send. */
    public static long readyQueuePairs() {
        try {
            return of(List.of("qp")).stream()
                    .filter(pair -> pair.contains("\"state\":\"RTS\""))
                    .count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the number of queue pairs of this process. */
    public static long queuePairs() throws IOException {
        return of(List.of("qp")).size();
    }

    /** Asks one process for all kinds: to start one takes an emulated processor longer than all the rest. */
    private static List<String> show(Collection<String> kinds) throws IOException {
        Process process = new ProcessBuilder("rdma", "-f", "-j", "-b", "-")
                .redirectErrorStream(true)
                .start();
        try (Writer commands = process.outputWriter()) {
            for (String kind : kinds) {
                commands.write("resource show " + kind + "\n");
            }
        }
        return ENTRY.matcher(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .results()
                .map(MatchResult::group)
                .toList();
    }

    /** Returns the resident memory of this process in KiB after a garbage collection: work that leaves none behind keeps it. */
    public static long residentKib() throws IOException {
        System.gc();
        String line = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(each -> each.startsWith("VmRSS:"))
                .findFirst()
                .orElseThrow();
        return Long.parseLong(line.replaceAll("\\D", ""));
    }
}

package dev.verbena.tools.device;

import dev.verbena.tools.page.Json;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The processes that use devices, as {@code rdma resource show} lists them. */
final class DeviceUsers {
    private static final Pattern PROCESS = Pattern.compile("(?m)^Tgid:\\s*([0-9]{1,10})$");

    /** The kinds of resources, by their names for the program: protection domains are those of the others. */
    private static final List<String> KINDS = List.of("pd", "qp", "mr", "cm_id");

    /** The name of a user that the kernel does not know any more. */
    private static final String UNKNOWN = "?";

    private final Map<String, User> users = new TreeMap<>();

    /** The users of protection domains, by device and number. */
    private final Map<String, User> owners = new HashMap<>();

    /** The folder of processes. */
    private final Path proc;

    private DeviceUsers(Path proc) {
        this.proc = proc;
    }

    /** A process, or a part of the kernel, with what it has of one device. */
    static final class User {
        private final String device;
        private final String name;
        private final long pid;
        private final Map<Long, String> pairs = new TreeMap<>();
        private int regions;
        private long bytes;
        private int ids;

        private User(String device, String name, long pid) {
            this.device = device;
            this.name = name;
            this.pid = pid;
        }

        String device() {
            return device;
        }

        /** Returns the numbers of queue pairs by state. */
        private Map<String, Integer> pairsByState() {
            Map<String, Integer> states = new TreeMap<>();
            pairs.values().forEach(state -> states.merge(state, 1, Integer::sum));
            return states;
        }

        /** Returns text such as {@code java[1234]: 3 queue pairs (1 INIT, 2 RTS), 2 memory regions (64.0 KiB), 1 id}. */
        @Override
        public String toString() {
            List<String> parts = new ArrayList<>();
            if (!pairs.isEmpty()) {
                List<String> states = new ArrayList<>();
                pairsByState().forEach((state, count) -> states.add(count + " " + state));
                parts.add(counted(pairs.size(), "queue pair") + " (" + String.join(", ", states) + ")");
            }
            if (regions > 0) {
                parts.add(counted(regions, "memory region") + " (" + Traffic.number((double) bytes, "B") + ")");
            }
            if (ids > 0) {
                parts.add(counted(ids, "connection id"));
            }
            String who = name.equals(UNKNOWN)
                    ? "a thread that has ended"
                    : name + (pid == 0 ? " (kernel)" : "[" + pid + "]");
            return who + ": " + String.join(", ", parts);
        }

        private static String counted(int count, String what) {
            return count + " " + what + (count == 1 ? "" : "s");
        }

        Map<String, Object> json() {
            return Json.map(
                    "device",
                    device,
                    "name",
                    name,
                    "pid",
                    pid,
                    "queuePairs",
                    pairsByState(),
                    "memoryRegions",
                    regions,
                    "registeredBytes",
                    bytes,
                    "connectionIds",
                    ids);
        }
    }

    /** Returns the users of all devices of this machine; empty if there is no program that lists them. */
    static Optional<Collection<User>> here() {
        return of(DeviceUsers::ask, Path.of("/proc"));
    }

    /**
     * Returns the users of all devices.
     *
     * @param rdma returns the JSON that {@code rdma resource show} prints for kinds of resources, a line each
     * @param proc the folder of processes
     */
    static Optional<Collection<User>> of(Function<List<String>, String> rdma, Path proc) {
        DeviceUsers all = new DeviceUsers(proc);
        try {
            List<String> found = rdma.apply(KINDS).lines().toList();
            if (found.size() != KINDS.size()) { // another release, which takes more lines
                found = KINDS.stream().map(kind -> rdma.apply(List.of(kind))).toList();
            }
            List<Map<?, ?>> domains = read(found.get(0));
            List<Map<?, ?>> pairs = read(found.get(1)); // may list a queue pair twice: with and without its port
            List<Map<?, ?>> regions = read(found.get(2));
            List.of(domains, pairs, regions).forEach(kind -> kind.forEach(all::learn));
            pairs.forEach(qp -> all.user(qp).pairs.put(number(qp, "lqpn"), text(qp, "state")));
            for (Map<?, ?> region : regions) {
                all.user(region).regions++;
                all.user(region).bytes += number(region, "mrlen");
            }
            read(found.get(3)).forEach(id -> all.user(id).ids++);
        } catch (IllegalArgumentException | UncheckedIOException noProgram) { // or another one of this name
            return Optional.empty();
        }
        return Optional.of(all.users.values());
    }

    /** Learns whose protection domain it is in which a thread that lives has made a resource. */
    private void learn(Map<?, ?> resource) {
        if (resource.get("pid") != null && resource.get("pdn") != null) {
            owners.putIfAbsent(domain(resource), user(resource));
        }
    }

    private static String domain(Map<?, ?> resource) {
        return text(resource, "ifname") + " " + text(resource, "pdn");
    }

    private User user(Map<?, ?> resource) {
        if (resource.get("pid") == null && resource.get("comm") == null) { // the thread that has made it has ended
            User owner = owners.get(domain(resource));
            if (owner != null) {
                return owner;
            }
        }
        String device = text(resource, "ifname");
        long thread = number(resource, "pid"); // the kernel's number of the thread that made the resource
        long pid = process(thread);
        String name = pid == thread ? text(resource, "comm") : file(pid + "/comm");
        return users.computeIfAbsent(device + " " + name + " " + pid, key -> new User(device, name, pid));
    }

    /** Returns the process of a thread; the thread itself if it has ended, and 0 for the kernel. */
    private long process(long thread) {
        Matcher process = PROCESS.matcher(thread == 0 ? "" : file(thread + "/status"));
        return process.find() ? Long.parseLong(process.group(1)) : thread;
    }

    private String file(String name) {
        try {
            return Files.readString(proc.resolve(name)).strip();
        } catch (IOException ended) {
            return UNKNOWN;
        }
    }

    private static List<Map<?, ?>> read(String json) {
        List<Map<?, ?>> resources = new ArrayList<>();
        if (!json.isBlank() && Json.read(json) instanceof List<?> list) {
            for (Object each : list) {
                if (each instanceof Map<?, ?> map) {
                    resources.add(map);
                }
            }
        }
        return resources;
    }

    private static String text(Map<?, ?> resource, String key) {
        Object value = resource.get(key);
        return value == null ? UNKNOWN : value.toString();
    }

    private static long number(Map<?, ?> resource, String key) {
        return resource.get(key) instanceof Long number ? number : 0;
    }

    /** Asks for all kinds at once: to start a process takes longer than its work. */
    private static String ask(List<String> kinds) {
        try {
            Process rdma = new ProcessBuilder("rdma", "-j", "-b", "-")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            try (OutputStream input = rdma.getOutputStream()) {
                for (String kind : kinds) {
                    input.write(("resource show " + kind + "\n").getBytes(StandardCharsets.US_ASCII));
                }
            }
            try (InputStream output = rdma.getInputStream()) {
                return new String(output.readAllBytes(), StandardCharsets.UTF_8);
            }
        } catch (IOException noProgram) {
            throw new UncheckedIOException(noProgram);
        }
    }
}

package dev.verbena.tools.device;

import dev.verbena.Rdma;
import dev.verbena.RdmaUnavailableException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.PeerText;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.page.Json;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.address.EthernetAddress;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.address.Grh;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.PortCounters;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Checks whether RDMA works on this machine, and prints a remedy for each problem. */
public final class Doctor {
    private static final String USAGE = """
            usage: verbena doctor [-d DEVICE] [--json]

            Checks libraries, kernel modules, devices, permissions, ports with their speed
            and counters of errors, addresses and limits, and moves some bytes by RDMA from
            this machine to itself. Prints a remedy for each problem and each warning.
            Exit status: 0 if there is no problem, else 1. Warnings are no problems.
              -d, --ib-dev=DEVICE   only this device (default: all)
              --json                prints JSON""";

    private static final String GUEST = "run programs in a guest with soft-RoCE: scripts/soft-roce run -- COMMAND";
    private static final Duration STEP = Duration.ofSeconds(3);
    private static final Path NODES = Path.of("/dev/infiniband");
    private static final long ENOUGH_MEBIBYTES = 64;
    private static final long ENOUGH_FILES = 4096;
    private static final Path INLINE_DEFAULT = Path.of("/etc/rdma/rsocket/inline_default");

    /** The bytes of inline data that rsockets asks for without the file. */
    private static final int SOCKET_INLINE = 64;

    private static final long CAP_IPC_LOCK = 1L << 14;

    private final Consumer<Check> report;
    private int findings;
    private String step = "";

    private Doctor(Consumer<Check> report) {
        this.report = report;
    }

    /**
     * A check and its result.
     *
     * @param result {@code ok}, {@code warn} or {@code BAD}
     * @param what the thing that was checked
     * @param how the state of the thing
     * @param remedy the remedy for a problem; empty if all is well
     */
    record Check(String result, String what, String how, String remedy) {
        void print(PrintStream out) {
            out.printf("  %-5s %-14s %s%n", result, what, how);
            if (!remedy.isEmpty()) {
                out.printf("        %-14s -> %s%n", "", remedy);
            }
        }

        Map<String, Object> json() {
            return Json.map("result", result, "check", what, "state", how, "remedy", remedy);
        }
    }

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     * @throws Exception if the tool fails
     */
    public static int run(String[] args, PrintStream out) throws Exception {
        Options options = Options.parse(args, USAGE, 0);
        List<Object> checks = new ArrayList<>();
        boolean json = options.has("--json");
        Doctor doctor = new Doctor(json ? check -> checks.add(check.json()) : check -> check.print(out));
        doctor.examine(options.has("-d") ? Optional.of(options.text("-d", "")) : Optional.empty());
        if (json) {
            out.print(Json.of(Json.map("problems", doctor.findings, "checks", checks)));
        } else {
            out.println(
                    doctor.findings == 0
                            ? "No problems found."
                            : doctor.findings == 1 ? "1 problem found." : doctor.findings + " problems found.");
        }
        return doctor.findings == 0 ? Tool.OK : Tool.FAILED;
    }

    private void well(String what, Object how) {
        report.accept(new Check("ok", what, how.toString(), ""));
    }

    private void bad(String what, Object how, String remedy) {
        findings++;
        report.accept(new Check("BAD", what, how.toString(), remedy));
    }

    private void examine(Optional<String> wanted) throws Exception {
        well("Java", Runtime.version());
        boolean callable = libraries();
        modules();
        List<String> names = DeviceFolders.HERE.names();
        if (names.isEmpty()) {
            bad(
                    "devices",
                    "none found",
                    "load the driver of the adapter; or, for a software device, as root: "
                            + "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0; or " + GUEST);
        }
        lockedMemory();
        report.accept(openFiles(limit("Max open files")));
        report.accept(socketInline(INLINE_DEFAULT));
        if (!callable) {
            return;
        }
        List<Device> devices = Device.list();
        for (String name : names) {
            if (devices.stream().noneMatch(device -> device.name().equals(name))) {
                bad(
                        "device",
                        name + " is known to the kernel, but not to rdma-core",
                        "install its user-space driver: 'apt install ibverbs-providers' on Debian and Ubuntu, "
                                + "'dnf install libibverbs' on Fedora and RHEL; and as root: modprobe ib_uverbs");
            }
        }
        if (wanted.isPresent()) {
            devices = List.of(Device.named(wanted.get()));
        }
        for (Device device : devices) {
            device(device);
        }
    }

    private boolean libraries() throws IOException {
        Optional<RdmaUnavailableException> problem = Rdma.unavailability();
        if (problem.isPresent()) {
            boolean denied = problem.get().getCause() instanceof IllegalCallerException;
            String message = String.valueOf(problem.get().getMessage());
            int colon = message.indexOf(denied ? ": " : ". ");
            bad(denied ? "native access" : "libraries", message.substring(0, colon), message.substring(colon + 2));
            return false;
        }
        well("native access", "enabled");
        for (String library : List.of("libibverbs", "librdmacm")) {
            well(library, loaded(library));
        }
        return true;
    }

    /** Returns the file from which a library was loaded. The file name contains the version. */
    private static String loaded(String library) throws IOException {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.filter(line -> line.contains("/" + library + ".so"))
                    .findFirst()
                    .map(line -> line.substring(line.indexOf('/')))
                    .orElse("loaded");
        }
    }

    private void modules() throws IOException {
        String release = Files.readString(Path.of("/proc/sys/kernel/osrelease")).strip();
        Path modules = Path.of("/lib/modules", release);
        for (String module : List.of("ib_core", "ib_uverbs", "rdma_ucm")) {
            boolean there = Files.exists(Path.of("/sys/module", module))
                    || switch (module) {
                        case "ib_uverbs" -> Files.exists(Path.of("/sys/class/infiniband_verbs"));
                        case "rdma_ucm" -> Files.exists(Path.of("/sys/class/misc/rdma_cm"));
                        default -> Files.exists(DeviceFolders.HERE.all());
                    };
            if (there) {
                well("kernel module", module);
            } else {
                bad(
                        "kernel module",
                        module + " is not loaded",
                        loading(module, modules)
                                + (module.equals("rdma_ucm") ? " (the connection manager needs it)" : ""));
            }
        }
        Path manager = NODES.resolve("rdma_cm");
        if (Files.exists(manager)) {
            rights(manager);
        }
    }

    /**
     * Returns the advice on a module that is not loaded.
     *
     * @param modules the folder of the kernel's modules, which a container or a small virtual machine may lack
     */
    static String loading(String module, Path modules) throws IOException {
        Path list = modules.resolve("modules.dep");
        if (Files.exists(list)) {
            try (Stream<String> lines = Files.lines(list)) {
                if (lines.anyMatch(line -> line.contains("/" + module + ".ko"))) {
                    return "as root: modprobe " + module;
                }
            }
        }
        return "this kernel (" + modules.getFileName() + ") has no module " + module + " here: " + GUEST;
    }

    private void rights(Path node) {
        if (!Files.exists(node)) {
            bad("rights", node + " is missing", "as root: modprobe ib_uverbs; for a container, pass --device=" + node);
        } else if (Files.isReadable(node) && Files.isWritable(node)) {
            well("rights", node + " is readable and writable");
        } else {
            bad(
                    "rights",
                    node + " is not readable and writable for user " + System.getProperty("user.name"),
                    "install rdma-core, whose udev rules grant access; or, as root: chmod 666 " + node);
        }
    }

    /** Returns a limit of this process: a number, or {@code unlimited}. */
    private static String limit(String name) throws IOException {
        return Files.readAllLines(Path.of("/proc/self/limits")).stream()
                .filter(line -> line.startsWith(name))
                .findFirst()
                .orElseThrow()
                .substring(name.length())
                .strip()
                .split("\\s+")[0];
    }

    static Check openFiles(String limit) {
        return limit.equals("unlimited") || Long.parseLong(limit) >= ENOUGH_FILES
                ? new Check("ok", "open files", limit + " is the limit for this process", "")
                : new Check(
                        "warn",
                        "open files",
                        limit + " is the limit for this process",
                        "for many connections: 'ulimit -n 65536', or 'nofile' in /etc/security/limits.conf, or "
                                + "LimitNOFILE=65536 in a systemd service");
    }

    /**
     * Checks how much inline data RDMA sockets ask a device for.
     *
     * @param file the file that sets the number of bytes
     */
    static Check socketInline(Path file) throws IOException {
        String what = "RDMA sockets";
        if (!Files.isReadable(file)) {
            String how = "inline data of " + SOCKET_INLINE + " bytes, because there is no " + file;
            return new Check("ok", what, how, "");
        }
        String bytes = PeerText.harmless(Files.readString(file).strip());
        return bytes.matches("[0-9]{1,5}")
                ? new Check("ok", what, "inline data of " + bytes + " bytes, as " + file + " says", "")
                : new Check("warn", what, file + " has '" + bytes + "'", "write a number of bytes into it; 0 for none");
    }

    private void lockedMemory() throws IOException {
        String limit = limit("Max locked memory");
        String capabilities = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("CapEff:"))
                .findFirst()
                .orElseThrow()
                .split("\\s+")[1];
        if (limit.equals("unlimited")) {
            well("locked memory", "unlimited");
        } else if ((Long.parseUnsignedLong(capabilities, 16) & CAP_IPC_LOCK) != 0) {
            well("locked memory", "no limit: this process has CAP_IPC_LOCK");
        } else {
            long kibibytes = Long.parseLong(limit) >> 10;
            String have = (kibibytes < 10_240 ? kibibytes + " KiB" : (kibibytes >> 10) + " MiB")
                    + " is the limit for this process";
            if (kibibytes >> 10 >= ENOUGH_MEBIBYTES) {
                well("locked memory", have);
            } else {
                bad(
                        "locked memory",
                        have,
                        "'ulimit -l unlimited', or 'memlock' in /etc/security/limits.conf, or "
                                + "LimitMEMLOCK=infinity in a systemd service");
            }
        }
    }

    private void device(Device device) throws Exception {
        well("device", device);
        driver(device);
        rights(NODES.resolve(device.characterDevice()));
        int before = findings;
        boolean active = false;
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = device.open(arena);
            for (Port port : context.ports()) {
                port(context, port);
                active |= port.state() == Port.State.ACTIVE;
            }
            if (active && findings == before) {
                selfTest(context);
            }
        } catch (VerbsException refused) {
            bad(
                    "open",
                    String.valueOf(refused.getMessage()),
                    "check the rights above; a container needs access to " + NODES);
        }
    }

    /** Prints the driver and what it lacks of verbs, and warns of a default of rsockets that is wrong for it. */
    private void driver(Device device) throws IOException {
        String name = device.driver().isEmpty() ? "in software" : device.driver();
        List<String> limits = device.limits();
        well("driver", limits.isEmpty() ? name + ", no limits of verbs are known" : name + ", without some of verbs:");
        for (String limit : limits) {
            report.accept(new Check("note", "limit", limit, ""));
        }
        if (device.ignoresInlineData() && asksForInlineData(INLINE_DEFAULT)) {
            bad(
                    "rsockets",
                    "they send inline data by default, which " + device.name() + " replaces by other memory",
                    "as root: mkdir -p " + INLINE_DEFAULT.getParent() + " && echo 0 > " + INLINE_DEFAULT);
        }
    }

    /**
     * Returns true if rsockets ask for inline data.
     *
     * @param file the file with the number of bytes; without it, they ask for 64
     */
    static boolean asksForInlineData(Path file) throws IOException {
        return !Files.exists(file) || !Files.readString(file).strip().equals("0");
    }

    private void port(Context context, Port port) {
        if (port.state() != Port.State.ACTIVE) {
            bad(
                    "port",
                    port,
                    port.linkLayer() == Port.LinkLayer.ETHERNET
                            ? "bring its network device up ('ip link set " + networkDevice(context, port)
                                    + " up') and check the cable"
                            : "check the cable and the subnet manager: a port stays in INIT without one");
            return;
        }
        well("port", port);
        weaknesses(context, port);
        try {
            GidEntry best = context.bestGid(port.number());
            if (best.type() == GidEntry.Type.ROCE_V1) {
                bad("GID", best, "RoCE v1 can't be routed: give the network device an IP address to get a RoCE v2 GID");
            } else if (best.type() == GidEntry.Type.ROCE_V2 && best.gid().isLinkLocal()) {
                bad(
                        "GID",
                        best,
                        "a link-local address can't be routed: ip addr add ADDRESS/24 dev "
                                + (best.networkDevice().isEmpty() ? "DEVICE" : best.networkDevice()));
            } else {
                well("GID", best);
            }
        } catch (NoSuchElementException none) {
            bad(
                    "GID",
                    "port " + port.number() + " has none",
                    "give its network device an IP address: ip addr add ADDRESS/24 dev DEVICE");
        }
    }

    /** Returns the network device of a port, or a word for it. */
    private static String networkDevice(Context context, Port port) {
        return context.gids().stream()
                .filter(entry -> entry.port() == port.number())
                .map(GidEntry::networkDevice)
                .filter(name -> !name.isEmpty())
                .findFirst()
                .orElse("DEVICE");
    }

    private void weaknesses(Context context, Port port) {
        PortCounters counters = context.counters(port.number());
        for (PortHealth.Weakness weakness : PortHealth.of(port, counters, DeviceFolders.HERE)) {
            report.accept(new Check("warn", weakness.what(), weakness.how(), weakness.remedy()));
        }
    }

    /** Moves bytes from this machine to itself. */
    private void selfTest(Context context) throws InterruptedException, IOException {
        long start = System.nanoTime();
        step = "connect";
        try {
            String moved = move(context);
            well(
                    "self-test",
                    String.format(Locale.ROOT, "%s succeeded in %.0f ms", moved, (System.nanoTime() - start) / 1e6));
        } catch (RuntimeException failure) {
            bad(
                    "self-test",
                    step + " failed: " + failure.getMessage(),
                    "open UDP port 4791 in the firewall (RoCE); see also the kernel's log: dmesg | tail");
        }
    }

    /** Moves bytes in the first way that the driver has, and returns the way in words. */
    private String move(Context context) throws InterruptedException, IOException {
        try {
            exchange(LoopbackPair.connect(context));
            return "send, RDMA write and RDMA read";
        } catch (VerbsException refused) {
            if (context.device().limits().stream().noneMatch(String.valueOf(refused.getMessage())::contains)) {
                throw refused;
            }
        }
        if (context.device().transport() != Device.TransportType.IWARP) {
            sendDatagram(context);
            return "send of a datagram";
        }
        try (VerbsArena arena = VerbsArena.ofShared()) {
            exchange(LoopbackPair.connect(address(context), STEP, arena));
            return "send, RDMA write and RDMA read by the connection manager";
        }
    }

    /** Returns an IP address of the first port. Over iWARP, a GID begins with the hardware address of its network device. */
    private static InetAddress address(Context context) throws IOException {
        Gid gid = context.bestGid(1).gid();
        if (gid.isIpv4Mapped()) {
            return gid.toInetAddress();
        }
        byte[] hardware = Arrays.copyOf(gid.toBytes(), EthernetAddress.BYTES);
        for (NetworkInterface device : NetworkInterface.networkInterfaces().toList()) {
            if (Arrays.equals(device.getHardwareAddress(), hardware)) {
                return device.inetAddresses()
                        .filter(each -> !each.isLinkLocalAddress())
                        .findFirst()
                        .orElseThrow(() -> new IllegalStateException(device.getName()
                                + " has no IP address: ip addr add ADDRESS/24 dev " + device.getName()));
            }
        }
        throw new IllegalStateException("no network device has the hardware address that " + gid + " begins with");
    }

    private void exchange(LoopbackPair both) throws InterruptedException {
        LoopbackPair.End left = both.left();
        LoopbackPair.End right = both.right();
        step = "send";
        right.pair().postReceive(1, right.buffer());
        left.buffer().segment().setString(0, "sent");
        left.pair().postSend(2, left.buffer().slice(0, 5));
        left.queue().await(STEP).orThrow();
        right.queue().await(STEP).orThrow();
        require(right.buffer().segment().getString(0).equals("sent"));
        step = "RDMA write";
        left.buffer().segment().setString(0, "written");
        left.pair().postWrite(3, left.buffer().slice(0, 8), right.buffer().remote());
        left.queue().await(STEP).orThrow();
        require(right.buffer().segment().getString(0).equals("written"));
        step = "RDMA read";
        right.buffer().segment().setString(0, "read");
        left.pair().postRead(4, left.buffer().slice(0, 5), right.buffer().remote());
        left.queue().await(STEP).orThrow();
        require(left.buffer().segment().getString(0).equals("read"));
    }

    /** Sends a datagram from a queue pair to itself. */
    private void sendDatagram(Context context) throws InterruptedException {
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(2);
        QueuePair pair = domain.createQueuePair(QueuePair.ud(queue).sendDepth(1).receiveDepth(1));
        pair.toReady(1);
        MemoryRegion memory = domain.register(context.arena().allocate(128), AccessFlag.LOCAL_WRITE);
        step = "send of a datagram";
        memory.segment().setString(0, "sent");
        pair.postReceive(1, memory.slice(64, 64));
        pair.postSend(
                2, memory.slice(0, 5), domain.createAddressHandle(pair.pathTo(pair.endpoint())), pair.number(), 1);
        queue.await(STEP).orThrow();
        queue.await(STEP).orThrow();
        require(memory.segment().getString(64 + Grh.BYTES).equals("sent"));
    }

    private static void require(boolean arrived) {
        if (!arrived) {
            throw new IllegalStateException("the operation completed, but the data is wrong");
        }
    }
}

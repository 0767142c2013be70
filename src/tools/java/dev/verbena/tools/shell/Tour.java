package dev.verbena.tools.shell;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.sockets.RdmaSocketChannel;
import dev.verbena.sockets.RdmaSockets;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.device.LoopbackPair;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Port;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * A guided tour, run by {@code scripts/demo}: two queue pairs of one device move bytes by send, write, read and atomic.
 */
public final class Tour {
    /** The time without a completion after which the tour fails. */
    private static final Duration DEADLINE = Duration.ofSeconds(30);

    private static final Duration WARM_UP = Duration.ofSeconds(6);
    private static final Duration MEASUREMENT = Duration.ofSeconds(4);
    private static final int SERIES = 250;
    private static final int ROUNDS = 20;
    private static final int MESSAGE = 64;
    private static final int POLL_SERIES = 25;
    private static final int POLLS = 10_000;
    private static final int COLUMNS = 80;

    private final PrintStream out;
    private final Duration warmUp;
    private final Duration measurement;
    private boolean silent;

    private Tour(PrintStream out, Duration warmUp, Duration measurement) {
        this.out = out;
        this.warmUp = warmUp;
        this.measurement = measurement;
    }

    /** One step of the tour, which returns the object to show. */
    private interface Step {
        Object show() throws Exception;
    }

    /**
     * Runs the tour.
     *
     * @param args the name of a device, nothing for the first one, or {@code --train} to load classes of the tour
     *     without a device, for a class cache
     */
    public static void main(String[] args) {
        if (args.length == 1 && args[0].equals("--train")) {
            train();
            return;
        }
        // The same as this option of java. It is read when a program opens its first channel.
        System.setProperty("java.nio.channels.spi.SelectorProvider", RdmaSelectorProvider.class.getName());
        System.exit(run(args.length == 0 ? "" : args[0], System.out, System.err, WARM_UP, MEASUREMENT));
    }

    /** Runs the tour and returns the exit status. A failure is one line. */
    static int run(String device, PrintStream out, PrintStream err, Duration warmUp, Duration measurement) {
        try {
            new Tour(out, warmUp, measurement).run(device.isEmpty() ? Device.first() : Device.named(device));
            return Tool.OK;
        } catch (Exception e) {
            out.flush();
            err.println("The tour has stopped: " + e.getMessage());
            return Tool.FAILED;
        }
    }

    /** Loads what the tour uses and needs no device for, by use or by name. */
    private static void train() {
        Device.list();
        RemoteMemory memory = new RemoteMemory(1 << 12, 7, 64);
        System.out.printf(Locale.ROOT, "%s %.1f %s%n", RemoteMemory.from(memory.toBytes()), 1.5, Gid.parse("::1"));
        try (VerbsArena arena = VerbsArena.ofShared()) {
            arena.allocate(64, 64).setString(0, "text");
        }
        try {
            sendMessage();
            System.out.println(WebPage.fetch(InetAddress.getLoopbackAddress())); // by TCP
        } catch (IOException | InterruptedException e) {
            System.out.println(e); // the classes are loaded
        }
        System.out.println(List.of(
                AddressHandle.class,
                AddressVector.class,
                CompletionQueue.class,
                CompletionQueueOptions.class,
                Completions.class,
                QueuePairAttributes.class,
                Context.class,
                Endpoint.class,
                LoopbackPair.class,
                LoopbackPair.End.class,
                MemoryRegion.class,
                Port.class,
                ProtectionDomain.class,
                QueuePair.class,
                QueuePairAttributes.class,
                QueuePairOptions.class,
                QueuePairState.class,
                RdmaSelectorProvider.class,
                RdmaSocketChannel.class,
                RdmaSockets.class,
                RoundTrips.class,
                SendBatch.class,
                WorkCompletion.class));
    }

    /** Loads nodes and channels for the program that runs after the tour. */
    private static void sendMessage() throws InterruptedException {
        InetSocketAddress own = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        NodeOptions byTcp = NodeOptions.defaults().transport(Transport.TCP);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node server = Node.open(own, byTcp, arena);
            Channel channel = Node.open(own, byTcp, arena).connect(server.address(), DEADLINE);
            channel.send(channel.message(DEADLINE).length(1), DEADLINE);
            System.out.println(server.accept(DEADLINE).receive(DEADLINE));
        }
    }

    private void run(Device device) throws Exception {
        out.println("Two queue pairs of one device exchange bytes.");
        out.print("Rehearsing once, which loads and links the classes ... ");
        out.flush();
        long start = System.nanoTime();
        silent = true;
        try (VerbsArena arena = VerbsArena.ofShared()) {
            steps(device, arena);
        }
        silent = false;
        out.printf(Locale.ROOT, "%.1f s%n", (System.nanoTime() - start) / 1e9);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            LoopbackPair pair = steps(device, arena);
            showPage(pair.left().pair().domain().context());
            measure(pair);
        }
    }

    /** Shows each step, and returns the connected pair. */
    private LoopbackPair steps(Device device, VerbsArena arena) throws Exception {
        Context[] opened = new Context[1];
        LoopbackPair[] connected = new LoopbackPair[1];

        step("The device", () -> device);
        step("Open the device", () -> opened[0] = device.open(arena));
        Context context = opened[0];
        step("Port 1 of the device", () -> context.port(1));
        step("Its address (GID)", () -> context.bestGid(1));
        step("Register memory, connect two queue pairs", () -> connected[0] = LoopbackPair.connect(context));
        LoopbackPair.End left = connected[0].left();
        LoopbackPair.End right = connected[0].right();
        say(left.buffer());
        say(left.pair().endpoint() + " to");
        say(right.pair().endpoint());

        step("Send with immediate data", () -> {
            right.pair().postReceive(1, right.buffer());
            left.buffer().segment().setString(0, "Hello, RDMA");
            left.pair().postSendImmediate(2, left.buffer().slice(0, 12), 2026);
            left.queue().await(DEADLINE).orThrow();
            WorkCompletion received = right.queue().await(DEADLINE).orThrow();
            return '"' + right.buffer().segment().getString(0) + "\", " + received.byteLength() + " bytes, immediate "
                    + received.immediate();
        });
        step("RDMA write: the peer's CPU takes no part", () -> {
            left.buffer().segment().setString(0, "written by the other side");
            left.pair().postWrite(3, left.buffer().slice(0, 26), right.buffer().remote());
            left.queue().await(DEADLINE).orThrow();
            return '"' + right.buffer().segment().getString(0) + '"';
        });
        step("RDMA read", () -> {
            right.buffer().segment().setString(0, "read from the other side");
            left.pair().postRead(4, left.buffer().slice(0, 25), right.buffer().remote());
            left.queue().await(DEADLINE).orThrow();
            return '"' + left.buffer().segment().getString(0) + '"';
        });
        if (context.attributes().atomicCapability() != DeviceAttributes.AtomicCapability.NONE) { // as with mana
            step("Atomic fetch-and-add on the peer's memory", () -> {
                MemorySegment counter = right.buffer().segment();
                counter.set(ValueLayout.JAVA_LONG, 0, 40);
                left.pair().postFetchAndAdd(5, left.buffer(), right.buffer().remote(), 2);
                left.queue().await(DEADLINE).orThrow();
                return left.buffer().segment().get(ValueLayout.JAVA_LONG, 0) + " became "
                        + counter.get(ValueLayout.JAVA_LONG, 0);
            });
        }
        step("A failed request: the wrong key", () -> {
            RemoteMemory wrong =
                    new RemoteMemory(right.buffer().address(), ~right.buffer().remoteKey(), 8);
            left.pair().postRead(6, left.buffer().slice(0, 8), wrong);
            return left.queue().await(DEADLINE);
        });
        recover(left, right);
        return connected[0];
    }

    /** Has a server and a client of the JDK meet over RDMA, if the program was started for that. */
    private void showPage(Context context) throws Exception {
        Optional<Gid> four = context.gids().stream()
                .map(GidEntry::gid)
                .filter(Gid::isIpv4Mapped)
                .findFirst();
        if (four.isPresent() && SelectorProvider.provider() instanceof RdmaSelectorProvider) {
            step(
                    "The JDK's HttpClient fetches a page from its HttpServer, by RDMA sockets",
                    () -> WebPage.fetch(four.get().toInetAddress()));
        }
    }

    /** Resets a failed pair and connects it anew, with the same memory and queues. */
    private static void recover(LoopbackPair.End left, LoopbackPair.End right) {
        for (LoopbackPair.End end : new LoopbackPair.End[] {left, right}) {
            end.pair().reset();
        }
        left.pair().connect(right.pair().endpoint());
        right.pair().connect(left.pair().endpoint());
    }

    private void measure(LoopbackPair pair) throws InterruptedException {
        RoundTrips trips = new RoundTrips(pair, MESSAGE, DEADLINE);
        trips.median(ROUNDS, 1_000, warmUp);
        double micros = trips.median(ROUNDS, SERIES, measurement);
        out.printf(
                Locale.ROOT,
                "%nA poll of an empty completion queue     %9.3f usec%n",
                pollOfNothing(pair.left().queue()));
        out.printf(Locale.ROOT, "A round trip of %d bytes, Java           %9.2f usec%n", MESSAGE, micros);
        out.flush();
    }

    /** Returns the microseconds of a poll that finds nothing: the library and the driver alone, without the device. */
    private static double pollOfNothing(CompletionQueue queue) {
        Completions done = queue.completions(8);
        long least = Long.MAX_VALUE;
        for (int series = 0; series < POLL_SERIES; series++) {
            long start = System.nanoTime();
            for (int i = 0; i < POLLS; i++) {
                if (done.poll() != 0) {
                    throw new IllegalStateException("an unexpected completion: " + done.completion());
                }
            }
            least = Math.min(least, System.nanoTime() - start);
        }
        return least / 1e3 / POLLS;
    }

    private void step(String title, Step step) throws Exception {
        long start = System.nanoTime();
        Object seen = step.show();
        double millis = (System.nanoTime() - start) / 1e6;
        if (!silent) {
            out.printf(Locale.ROOT, "%n%s  (%.2f ms)%n", title, millis);
        }
        if (!(seen instanceof LoopbackPair)) {
            say(seen);
        }
    }

    /** Prints an object, indented, in lines that fit a terminal. */
    private void say(Object what) {
        if (silent) {
            return;
        }
        StringBuilder line = new StringBuilder("   ");
        for (String word : what.toString().split(" ")) {
            if (line.length() + 1 + word.length() > COLUMNS && !line.toString().isBlank()) {
                out.println(line);
                line.replace(0, line.length(), "     ");
            }
            line.append(' ').append(word);
        }
        out.println(line);
    }
}

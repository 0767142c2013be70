package dev.verbena.examples.nvme;

import static dev.verbena.examples.nvme.Nvme.*;
import static dev.verbena.examples.nvme.Refusal.unless;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectRequest;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PrivateData;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Scanner;

/**
 * A target of NVMe over Fabrics: serves memory of this process, or a file, as a disk over RDMA. Linux mounts it. A transfer
 * goes straight between the memory and the pages of the host.
 */
public final class MemoryDisk {
    /** The largest number of commands of a queue. */
    static final int DEPTH = 128;

    /** The largest number of queues of a host for reads and writes. */
    static final int QUEUES = 16;

    static final Duration FOREVER = ChronoUnit.FOREVER.getDuration();

    private static final int MOST_QUEUES = 256; // of all hosts
    private static final int MOST_OF_HOST = 4 * (QUEUES + 1); // a host without keep-alive may never say that it is gone
    private static final int DYNAMIC = 0xffff; // the number of a controller that is not made yet
    private static final int IN_DATA = 1 << 16; // a wrong field is in the data, not in the command

    final String name;
    final Disk disk;
    private final Listener listener;
    private final Map<Integer, Controller> controllers = new HashMap<>();
    private final Map<Optional<InetAddress>, Integer> queues = new HashMap<>(); // their number, by host
    private int last;

    private MemoryDisk(String name, Disk disk, Listener listener) {
        this.name = name;
        this.disk = disk;
        this.listener = listener;
    }

    private void listen() throws InterruptedException {
        while (true) {
            try {
                answer(listener.id().awaitRequest(FOREVER));
            } catch (VerbsException e) {
                System.out.println("a host could not connect: " + e.getMessage());
            }
        }
    }

    /** Answers a host's request to connect a queue, whose private data tells the queue's number and depth. */
    private void answer(ConnectRequest request) {
        MemorySegment wanted = MemorySegment.ofArray(request.privateData().toBytes());
        try {
            unless(wanted.byteSize() >= 32, BAD_LENGTH);
            unless(u16(wanted, 0) == 0, BAD_FORMAT);
            int id = u16(wanted, 2);
            int depth = u16(wanted, 6) + 1;
            unless(id <= QUEUES, BAD_QUEUE);
            unless(depth > 1 && depth <= (id == 0 ? ADMIN_DEPTH : DEPTH), BAD_DEPTH);
            Optional<InetAddress> host = request.peer().map(InetSocketAddress::getAddress);
            begin(host);
            Thread.ofPlatform().daemon().name("queue " + id).start(() -> serve(request, host, id, depth));
        } catch (Refusal refused) {
            request.reject(PrivateData.of(new byte[] {0, 0, (byte) refused.status, 0}));
        }
    }

    /** Counts a queue of a host. */
    private synchronized void begin(Optional<InetAddress> host) throws Refusal {
        int all = queues.values().stream().mapToInt(Integer::intValue).sum();
        int own = queues.getOrDefault(host, 0);
        unless(all < MOST_QUEUES && own < MOST_OF_HOST, NO_RESOURCES);
        queues.put(host, own + 1);
    }

    private synchronized void end(Optional<InetAddress> host) {
        queues.computeIfPresent(host, (of, own) -> own == 1 ? null : own - 1);
    }

    /** Executes Connect: makes a controller for an administrator's queue, or finds that of another queue. */
    synchronized Controller connect(Queue queue, MemorySegment command, MemorySegment data, int depth) throws Refusal {
        int number = u16(data, 16);
        String subsystem = data.asSlice(256, 256).getString(0);
        String host = data.asSlice(512, 256).getString(0);
        boolean discovers = subsystem.equals(DISCOVERY);
        unless(u16(command, 40) == 0, CONNECT_FORMAT);
        unless(u16(command, 42) == queue.id, CONNECT_PARAMETER, 42);
        unless(u16(command, 44) > 0 && u16(command, 44) < depth, CONNECT_PARAMETER, 44);
        unless(discovers || subsystem.equals(name), CONNECT_PARAMETER, IN_DATA | 256);
        boolean named = !host.isEmpty() && host.chars().allMatch(each -> each > ' ' && each <= '~'); // it is printed
        unless(named, CONNECT_PARAMETER, IN_DATA | 512);
        Controller controller = controllers.get(number);
        if (queue.id == 0) {
            unless(number == DYNAMIC, CONNECT_PARAMETER, IN_DATA | 16);
            do {
                last = last % 0xffef + 1;
            } while (controllers.containsKey(last));
            controller = new Controller(this, last, host, discovers, command.get(INT, 48));
            controllers.put(last, controller);
            System.out.println("controller " + last + " of " + host + " begins");
        } else {
            unless(controller != null && controller.host.equals(host), CONNECT_PARAMETER, IN_DATA | 16);
            unless(controller.isEnabled() && !controller.queues.containsKey(queue.id), SEQUENCE_ERROR);
        }
        controller.queues.put(queue.id, queue);
        return controller;
    }

    /** Serves a queue until its connection ends. */
    private void serve(ConnectRequest request, Optional<InetAddress> host, int id, int depth) {
        try (VerbsArena arena = VerbsArena.ofShared();
                Queue queue = new Queue(this, request, id, depth, arena)) {
            queue.serve();
        } catch (RuntimeException | InterruptedException e) {
            System.out.println("queue " + id + " ends: " + e.getMessage());
        } finally {
            end(host);
        }
    }

    /** Forgets a queue. A controller ends with its administrator's queue, and its other queues with it. */
    synchronized void remove(Queue queue, Controller of) {
        of.queues.remove(queue.id);
        if (queue.id == 0) {
            controllers.remove(of.id);
            of.queues.values().forEach(other -> other.connection.close());
            System.out.println("controller " + of.id + " of " + of.host + " ends");
        }
    }

    /** Returns the log page of discovery: a header, and the entry of this disk. */
    byte[] discovered() {
        byte[] log = new byte[2048];
        MemorySegment page = MemorySegment.ofArray(log);
        InetSocketAddress address = listener.address();
        page.set(LONG, 0, 1); // version of the contents
        page.set(LONG, 8, 1); // entries
        put8(page, 1024, 1); // RDMA
        put8(page, 1025, address.getAddress() instanceof java.net.Inet4Address ? 1 : 2);
        put8(page, 1026, 2); // a subsystem with disks
        put16(page, 1028, 1); // port
        put16(page, 1030, DYNAMIC);
        put16(page, 1032, ADMIN_DEPTH);
        page.setString(1056, "%-32d".formatted(address.getPort()));
        page.setString(1280, name);
        page.setString(1536, "%-256s".formatted(address.getAddress().getHostAddress()));
        put8(page, 1792, 1); // connected
        put8(page, 1793, 1); // no provider named
        put8(page, 1794, 1); // by the connection manager
        return log;
    }

    /** Serves a disk until the process ends. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 2 || arguments.length > 4) {
            System.out.println("""
                    usage: MemoryDisk ADDRESS[:PORT] SIZE [NAME [FILE]]

                    Serves SIZE bytes of memory, or of FILE, to hosts of NVMe over Fabrics as the disk NAME. SIZE may end
                    with k, m or g. To make the disk larger while hosts use it, type a larger SIZE.""");
            System.exit(2);
        }
        String[] address = arguments[0].split(":");
        String name = arguments.length > 2 ? arguments[2] : "nqn.2026-11.dev.verbena:disk";
        InetSocketAddress at =
                new InetSocketAddress(address[0], address.length > 1 ? Integer.parseInt(address[1]) : 4420);
        boolean inMemory = arguments.length < 4;
        Path path = inMemory ? Files.createTempFile(Path.of("/dev/shm"), "disk", null) : Path.of(arguments[3]);
        try (VerbsArena arena = VerbsArena.ofShared();
                FileChannel file = new RandomAccessFile(path.toFile(), "rw").getChannel()) {
            if (inMemory) {
                Files.delete(path); // the memory ends with the process
            }
            Listener listener = Listener.open(at, arena);
            Disk disk = new Disk(size(arguments[1]), file, listener.id().protectionDomain(), arena);
            MemoryDisk target = new MemoryDisk(name, disk, listener);
            System.out.println("serving " + disk.size() + " bytes at " + listener.address() + " as " + name);
            Thread.ofPlatform().daemon().name("commands").start(target::obey);
            target.listen();
        }
    }

    /** Makes the disk as large as the lines of the standard input say, and tells all hosts. */
    private void obey() {
        for (Scanner lines = new Scanner(System.in); lines.hasNextLine(); ) {
            try {
                disk.grow(size(lines.nextLine()));
                System.out.println("the disk has " + disk.size() + " bytes");
                synchronized (this) {
                    controllers.values().forEach(each -> each.changed(each.queues.get(0)));
                }
            } catch (IOException | IllegalArgumentException | VerbsException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    private static long size(String text) {
        int unit = "kmg".indexOf(text.charAt(text.length() - 1)) + 1;
        return Long.parseLong(text.substring(0, text.length() - (unit > 0 ? 1 : 0))) << 10 * unit;
    }
}

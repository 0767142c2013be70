package dev.verbena.examples.nvme;

import static dev.verbena.examples.nvme.Nvme.*;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.PrivateData;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;

/**
 * A host of NVMe over Fabrics: reads and writes a disk of another machine, such as one of Linux's target, with one command at
 * a time. The target moves the data straight from or to the memory that a command names.
 */
public final class NvmeHost {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final String HOST = "nqn.2026-11.dev.verbena:host";
    private static final int DEPTH = 32;
    private static final int LARGEST = 128 << 10;
    private static final int NEW = 0xffff; // the number of a controller that does not exist yet
    private static final int CONFIGURATION = 0x14, STATUS = 0x1c; // properties
    private static final int ENABLE = 0x460001; // with commands of 64 bytes and responses of 16
    private static final int QUEUES = 0x07; // a feature
    private static final int DISCOVERED = 0x70; // a log
    private static final int NAMESPACE = 1;
    private static final int RECEIVE = 1, SEND = 2;

    private final InetSocketAddress target;
    private final VerbsArena arena;
    private final Queue administrator;
    private final Queue queue;
    private int blockShift;
    private long size;

    /** A queue: one connection, whose memory has a command, a response, and a page for data. */
    private final class Queue {
        private final Connection connection;
        private final MemoryRegion region;
        private final MemorySegment command;
        private final MemorySegment page;

        Queue(int id) throws InterruptedException {
            connection = Connection.to(target, TIMEOUT, arena);
            region = connection.register(
                    arena.allocate(2 * PAGE, PAGE),
                    AccessFlag.LOCAL_WRITE,
                    AccessFlag.REMOTE_READ,
                    AccessFlag.REMOTE_WRITE);
            command = region.segment().asSlice(0, CAPSULE);
            page = region.segment().asSlice(PAGE);
            byte[] request = new byte[32];
            MemorySegment fields = MemorySegment.ofArray(request);
            put16(fields, 2, id);
            put16(fields, 4, DEPTH);
            put16(fields, 6, DEPTH - 1);
            connection.connect(ConnectionParameters.defaults().privateData(PrivateData.of(request)), TIMEOUT);
        }

        /** Begins a command. For commands of Fabrics, the kind of command takes the place of the namespace. */
        MemorySegment begin(int opcode, int namespace) {
            command.fill((byte) 0);
            put8(command, 0, opcode);
            put8(command, 1, 0x40); // with a descriptor
            command.set(INT, 4, namespace);
            put8(command, 39, KEYED);
            return command;
        }

        /** Has the command name memory for its data. */
        void describe(RemoteMemory data) {
            command.set(LONG, 24, data.address());
            command.set(INT, 32, (int) data.length());
            command.set(INT, 35, data.key());
            put8(command, 39, KEYED);
        }

        RemoteMemory data(int size) {
            return region.remote().slice(PAGE, size);
        }

        /** Sends the command, waits for the response, and returns the result. */
        long execute() throws InterruptedException, IOException {
            connection.queuePair().postReceive(RECEIVE, region, CAPSULE, RESPONSE);
            connection.queuePair().postSend(SEND, region, 0, CAPSULE);
            while (connection.awaitCompletion(TIMEOUT).orThrow().id() != RECEIVE) {
                // The command was sent, or the one before.
            }
            MemorySegment response = region.segment().asSlice(CAPSULE, RESPONSE);
            int status = u16(response, 14) >> 1;
            if (status != SUCCESS) {
                throw new IOException("command 0x%x failed with status 0x%x, result 0x%x"
                        .formatted(u8(command, 0), status, response.get(INT, 0)));
            }
            return response.get(LONG, 0);
        }

        /** Connects this queue to a subsystem, and returns the number of the controller. */
        int connect(int id, int number, String subsystem) throws InterruptedException, IOException {
            begin(FABRICS, CONNECT);
            describe(data(CONNECT_DATA));
            put16(command, 42, id);
            put16(command, 44, DEPTH - 1);
            page.fill((byte) 0);
            put16(page, 16, number);
            page.setString(256, subsystem);
            page.setString(512, HOST);
            return (int) execute() & 0xffff;
        }
    }

    private NvmeHost(InetSocketAddress target, String subsystem, VerbsArena arena)
            throws InterruptedException, IOException {
        this.target = target;
        this.arena = arena;
        administrator = new Queue(0);
        int controller = administrator.connect(0, NEW, subsystem);
        MemorySegment command = administrator.begin(FABRICS, PROPERTY_SET);
        command.set(INT, 44, CONFIGURATION);
        command.set(LONG, 48, ENABLE);
        administrator.execute();
        do {
            administrator.begin(FABRICS, PROPERTY_GET).set(INT, 44, STATUS);
        } while ((administrator.execute() & 1) == 0);
        if (subsystem.equals(DISCOVERY)) {
            queue = administrator;
            return;
        }
        administrator.begin(SET_FEATURES, 0).set(INT, 40, QUEUES); // one to submit, and one to complete
        administrator.execute();
        administrator.begin(IDENTIFY, NAMESPACE);
        administrator.describe(administrator.data(PAGE));
        administrator.execute();
        blockShift = u8(administrator.page, 130 + 4 * (u8(administrator.page, 26) & 15));
        size = administrator.page.get(LONG, 0) << blockShift;
        queue = new Queue(1);
        queue.connect(1, controller, subsystem);
    }

    /**
     * Connects to a subsystem, and opens its disk.
     *
     * @param target the target's address
     * @param subsystem the subsystem's name
     * @param arena the arena that ends the connections
     * @return the host
     * @throws InterruptedException if the thread was interrupted
     * @throws IOException if the target refuses
     */
    public static NvmeHost connect(InetSocketAddress target, String subsystem, VerbsArena arena)
            throws InterruptedException, IOException {
        return new NvmeHost(target, subsystem, arena);
    }

    /** Returns the names of the subsystems that a target has. */
    private List<String> subsystems() throws InterruptedException, IOException {
        MemorySegment command = administrator.begin(GET_LOG_PAGE, 0);
        command.set(INT, 40, PAGE / Integer.BYTES - 1 << 16 | DISCOVERED);
        administrator.describe(administrator.data(PAGE));
        administrator.execute();
        return LongStream.rangeClosed(1, Math.min(3, administrator.page.get(LONG, 8)))
                .mapToObj(entry -> administrator.page.getString(entry * 1024 + 256))
                .toList();
    }

    /**
     * Returns the size of the disk in bytes.
     *
     * @return the size
     */
    public long size() {
        return size;
    }

    /**
     * Registers memory to read into, or to write from.
     *
     * @param memory a segment that outlives the registration
     * @return the memory region, closed with the connections
     */
    public MemoryRegion register(MemorySegment memory) {
        return queue.connection.register(
                memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
    }

    /**
     * Reads blocks.
     *
     * @param offset where they begin on the disk, in bytes
     * @param to memory that {@link #register} has registered, as long as the blocks
     * @throws InterruptedException if the thread was interrupted
     * @throws IOException if the target refuses
     */
    public void read(long offset, RemoteMemory to) throws InterruptedException, IOException {
        transfer(READ, offset, to);
    }

    /**
     * Writes blocks.
     *
     * @param offset where they begin on the disk, in bytes
     * @param from memory that {@link #register} has registered, as long as the blocks
     * @throws InterruptedException if the thread was interrupted
     * @throws IOException if the target refuses
     */
    public void write(long offset, RemoteMemory from) throws InterruptedException, IOException {
        transfer(WRITE, offset, from);
    }

    private void transfer(int opcode, long offset, RemoteMemory memory) throws InterruptedException, IOException {
        for (long done = 0; done < memory.length(); done += LARGEST) {
            long part = Math.min(LARGEST, memory.length() - done);
            MemorySegment command = queue.begin(opcode, NAMESPACE);
            queue.describe(memory.slice(done, part));
            command.set(LONG, 40, offset + done >> blockShift);
            put16(command, 48, (int) (part >> blockShift) - 1);
            queue.execute();
        }
    }

    /**
     * Has the target keep what was written.
     *
     * @throws InterruptedException if the thread was interrupted
     * @throws IOException if the target refuses
     */
    public void flush() throws InterruptedException, IOException {
        queue.begin(FLUSH, NAMESPACE);
        queue.execute();
    }

    /** Lists the disks of a target, or copies a file to the begin of a disk, or from there. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 1 && arguments.length != 4) {
            System.out.println("""
                    usage: NvmeHost ADDRESS[:PORT] [NAME get|put FILE]

                    Lists the disks of a target; or fills FILE from the disk NAME; or writes FILE to the disk. The size of
                    FILE is a multiple of the size of the disk's blocks.""");
            System.exit(2);
        }
        String[] address = arguments[0].split(":");
        InetSocketAddress target =
                new InetSocketAddress(address[0], address.length > 1 ? Integer.parseInt(address[1]) : 4420);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            if (arguments.length == 1) {
                connect(target, DISCOVERY, arena).subsystems().forEach(System.out::println);
                return;
            }
            NvmeHost host = connect(target, arguments[1], arena);
            try (FileChannel file = new RandomAccessFile(arguments[3], "rw").getChannel()) {
                MemorySegment memory = file.map(FileChannel.MapMode.READ_WRITE, 0, file.size(), arena);
                RemoteMemory all = host.register(memory).remote();
                if (arguments[2].equals("get")) {
                    host.read(0, all);
                } else {
                    host.write(0, all);
                    host.flush();
                }
            }
            System.out.println(arguments[2] + " " + arguments[3] + " of " + host.size() + " bytes");
        }
    }
}

package dev.verbena.examples;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.PrivateData;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** One queue of a host of NVMe over Fabrics, which sends what a test wants, right or wrong, one command at a time. */
final class RawHost implements AutoCloseable {
    static final int PAGE = 4096;

    private static final int RESPONSES = 4 * PAGE;
    private static final int RECEIVE = 1;
    private static final int SEND = 2;

    final Connection connection;
    final MemoryRegion region;
    private final VerbsArena arena = VerbsArena.ofConfined();

    /** A response: the status without the bit of the phase, and the first bytes of the result. */
    record Response(int status, int result) {}

    /** Connects a queue, whose number and depth the private data of the request tells. */
    RawHost(InetSocketAddress target, int format, int queue, int depth) throws InterruptedException {
        try {
            connection = Connection.to(target, DEADLINE, arena);
            region = connection.register(
                    arena.allocate(8 * PAGE, PAGE),
                    AccessFlag.LOCAL_WRITE,
                    AccessFlag.REMOTE_READ,
                    AccessFlag.REMOTE_WRITE);
            ByteBuffer request = little(32);
            request.putShort(0, (short) format).putShort(2, (short) queue);
            request.putShort(4, (short) depth).putShort(6, (short) (depth - 1));
            connection.connect(ConnectionParameters.defaults().privateData(PrivateData.of(request.array())), DEADLINE);
        } catch (Throwable t) {
            arena.close();
            throw t;
        }
    }

    static ByteBuffer little(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Returns a command with a descriptor of no data. */
    static ByteBuffer command(int opcode, int namespace) {
        ByteBuffer made = little(64);
        made.put(0, (byte) opcode).put(1, (byte) 0x40).putInt(4, namespace).put(39, (byte) 0x40);
        return made;
    }

    /** Has a command describe the data page of this host by its key. */
    ByteBuffer keyed(ByteBuffer command, int size) {
        command.putLong(24, region.address() + PAGE).putInt(32, size);
        return command.putInt(35, region.remoteKey()).put(39, (byte) 0x40);
    }

    /** Returns the data page. */
    MemorySegment data() {
        return region.segment().asSlice(PAGE, 2 * PAGE);
    }

    /** Connects to a subsystem as queue of a controller, or of a new one with 0xffff. */
    Response connect(int queue, int depth, int controller, String subsystem) throws InterruptedException {
        ByteBuffer command = keyed(command(0x7f, 0x01), 1024);
        command.putShort(42, (short) queue).putShort(44, (short) (depth - 1)).putInt(48, 120_000);
        MemorySegment data = data().fill((byte) 0);
        data.set(ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 16, (short) controller);
        data.setString(256, subsystem, StandardCharsets.UTF_8);
        data.setString(512, "nqn.2026-11.dev.verbena:raw", StandardCharsets.UTF_8);
        return execute(command);
    }

    /** Connects an administrator's queue, enables the controller, and returns its number. */
    int enable(String subsystem) throws InterruptedException {
        Response connected = connect(0, 32, 0xffff, subsystem);
        if (connected.status() != 0) {
            throw new AssertionError(connected);
        }
        execute(command(0x7f, 0x00).putInt(44, 0x14).putInt(48, 0x460001));
        return connected.result();
    }

    /** Sends a capsule, and waits for the response. */
    Response execute(ByteBuffer capsule) throws InterruptedException {
        connection.queuePair().postReceive(RECEIVE, region.slice(RESPONSES, 16));
        send(capsule);
        for (WorkCompletion done = next(); done.id() != RECEIVE; ) {
            done = next();
        }
        ByteBuffer response =
                region.segment().asSlice(RESPONSES, 16).asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
        return new Response(Short.toUnsignedInt(response.getShort(14)) >> 1, response.getInt(0));
    }

    void send(ByteBuffer capsule) {
        region.segment().copyFrom(MemorySegment.ofBuffer(capsule));
        connection.queuePair().postSend(SEND, region.slice(0, capsule.remaining()));
    }

    /** Waits for the next completion. Throws when the connection ends. */
    WorkCompletion next() throws InterruptedException {
        return connection.awaitCompletion(DEADLINE).orThrow();
    }

    @Override
    public void close() {
        arena.close();
    }
}

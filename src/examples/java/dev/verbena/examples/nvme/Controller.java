package dev.verbena.examples.nvme;

import static dev.verbena.examples.nvme.Nvme.*;
import static dev.verbena.examples.nvme.Refusal.unless;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** The part of the target that one host sees: properties, features, and the commands of the administrator's queue. */
final class Controller {
    static final int NAMESPACE = 1;

    private static final int CAPABILITIES = 0x00, VERSION = 0x08, CONFIGURATION = 0x14, STATUS = 0x1c;
    private static final int V14 = 0x10400, NONE = -1;
    private static final int NAMESPACE_CHANGED = 1 << 8; // of the events that a host can ask for
    private static final int WRITE_CACHE = 0x06, QUEUES = 0x07, EVENTS = 0x0b, KEEP_ALIVE_TIMER = 0x0f; // features
    private static final int CHANGED_NAMESPACES = 0x04, DISCOVERED = 0x70; // logs

    final int id;
    final String host;
    final Map<Integer, Queue> queues = new HashMap<>(); // guarded by the target
    private final MemoryDisk target;
    private final boolean discovers;
    private volatile int configuration, events;
    private int keepAlive; // milliseconds

    // Guarded by this object
    private boolean changed, told;
    private int waiting = NONE; // the slot of the command that waits for an event

    Controller(MemoryDisk target, int id, String host, boolean discovers, int keepAlive) {
        this.target = target;
        this.id = id;
        this.host = host;
        this.discovers = discovers;
        this.keepAlive = keepAlive;
    }

    boolean isEnabled() {
        return (configuration & 1) != 0;
    }

    /** Returns the time without a command after which the host is gone: a packet that was lost takes seconds to come again. */
    Duration keepAlive() {
        return keepAlive == 0 ? MemoryDisk.FOREVER : Duration.ofMillis(2L * keepAlive);
    }

    private long property(int offset) {
        return switch (offset) {
            case CAPABILITIES -> 1L << 37 | 15 << 24 | 1 << 16 | MemoryDisk.DEPTH - 1;
            case VERSION -> V14;
            case CONFIGURATION -> configuration;
            case STATUS -> (isEnabled() ? 1 : 0) | ((configuration & 3 << 14) != 0 ? 2 << 2 : 0);
            default -> 0;
        };
    }

    /** Executes a command of the administrator's queue, and answers it. */
    void execute(Queue queue, int slot, int opcode) throws Refusal {
        MemorySegment command = queue.commands[slot];
        switch (opcode) {
            case FABRICS -> queue.answer(slot, fabrics(command), SUCCESS);
            case IDENTIFY -> identify(queue, slot, command);
            case GET_LOG_PAGE -> log(queue, slot, command);
            case KEEP_ALIVE -> queue.answer(slot, 0, SUCCESS);
            case ABORT -> queue.answer(slot, 1, SUCCESS); // not aborted
            case GET_FEATURES, SET_FEATURES -> queue.answer(slot, feature(command, opcode == SET_FEATURES), SUCCESS);
            case ASYNC_EVENT -> await(queue, slot);
            default -> throw new Refusal(INVALID_OPCODE | DO_NOT_RETRY, 0);
        }
    }

    private long fabrics(MemorySegment command) throws Refusal {
        int type = u8(command, 4);
        int offset = command.get(INT, 44);
        unless(type == PROPERTY_GET || type == PROPERTY_SET && offset == CONFIGURATION, INVALID_FIELD);
        if (type == PROPERTY_GET) {
            return property(offset);
        }
        configuration = command.get(INT, 48);
        return 0;
    }

    private int feature(MemorySegment command, boolean set) throws Refusal {
        int value = command.get(INT, 44);
        return switch (u8(command, 40)) {
            case QUEUES -> Math.min(Math.min(value & 0xffff, value >>> 16), MemoryDisk.QUEUES - 1) * 0x10001;
            case EVENTS -> set ? events = value : events;
            case KEEP_ALIVE_TIMER -> set ? keepAlive = value : keepAlive;
            case WRITE_CACHE -> 1;
            default -> throw new Refusal(INVALID_FIELD | DO_NOT_RETRY, 0);
        };
    }

    private synchronized void await(Queue queue, int slot) throws Refusal {
        unless(waiting == NONE, EVENT_LIMIT);
        waiting = slot;
        tell(queue);
    }

    /** Notes that the disk has grown, and tells the host. Another thread calls this. */
    synchronized void changed(Queue queue) {
        changed = true;
        tell(queue);
    }

    private void tell(Queue queue) {
        if (changed && !told && (events & NAMESPACE_CHANGED) != 0 && waiting != NONE) {
            told = true; // until the host reads the log
            queue.report(waiting, CHANGED_NAMESPACES << 16 | 2); // a notice
            waiting = NONE;
        }
    }

    private synchronized byte[] changes() {
        byte[] log = {(byte) (changed ? NAMESPACE : 0)};
        changed = false;
        told = false;
        return log;
    }

    private void log(Queue queue, int slot, MemorySegment command) throws Refusal {
        int log = u8(command, 40);
        long from = command.get(LONG, 48);
        long size = ((u16(command, 42) | (long) u16(command, 44) << 16) + 1) * Integer.BYTES;
        unless(log > 0 && log <= CHANGED_NAMESPACES || log == DISCOVERED, INVALID_LOG_PAGE);
        unless(size <= PAGE && from >= 0 && discovers == (log == DISCOVERED), INVALID_FIELD);
        byte[] content = switch (log) {
            case CHANGED_NAMESPACES -> changes();
            case DISCOVERED -> target.discovered();
            default -> new byte[0]; // no errors, a healthy device, no firmware
        };
        int first = (int) Math.min(from, content.length);
        MemorySegment page = queue.page(slot).fill((byte) 0);
        page.asByteBuffer().put(content, first, (int) Math.min(size, content.length - first));
        queue.reply(slot, (int) size);
    }

    private void identify(Queue queue, int slot, MemorySegment command) throws Refusal {
        int namespace = command.get(INT, 4);
        MemorySegment page = queue.page(slot).fill((byte) 0);
        int what = u8(command, 40);
        unless(what == 1 || !discovers && (what == 0 || what == 2 || what == 3), INVALID_FIELD);
        unless(what == 1 || what == 2 || namespace == NAMESPACE, INVALID_NAMESPACE);
        switch (what) {
            case 0 -> describeNamespace(page);
            case 1 -> describeController(page);
            case 2 ->
                page.set(INT, 0, Integer.compareUnsigned(namespace, NAMESPACE) < 0 ? NAMESPACE : 0); // the next ones
            default -> { // names of the namespace: a UUID
                UUID identity = UUID.nameUUIDFromBytes(target.name.getBytes(StandardCharsets.UTF_8));
                put16(page, 0, 16 << 8 | 3);
                page.set(LONG, 4, identity.getMostSignificantBits());
                page.set(LONG, 12, identity.getLeastSignificantBits());
            }
        }
        queue.reply(slot, PAGE);
    }

    private void describeController(MemorySegment page) {
        String serial = Integer.toHexString(target.name.hashCode());
        page.setString(4, "%-20s%-40s%-8s".formatted(serial, "Verbena MemoryDisk", "1"));
        put8(page, 76, 2); // several controllers
        put8(page, 77, 8); // transfers of 256 pages
        put16(page, 78, id);
        page.set(INT, 80, V14);
        page.set(INT, 92, NAMESPACE_CHANGED);
        put8(page, 111, discovers ? 2 : 1);
        put16(page, 320, 1); // keeps alive in units of 100 ms
        put16(page, 512, 0x4466); // commands of 64 bytes, responses of 16
        put16(page, 514, MemoryDisk.DEPTH);
        page.set(INT, 516, NAMESPACE);
        put16(page, 520, 1 << 2 | 1 << 3); // dataset management, write zeroes
        put8(page, 525, 1);
        page.set(INT, 536, 1 | 1 << 2 | 1 << 20); // descriptors with keys, and of data in the capsule
        page.setString(768, discovers ? DISCOVERY : target.name);
        page.set(INT, 1792, (CAPSULE + PAGE) / 16);
        page.set(INT, 1796, RESPONSE / 16);
        put8(page, 1803, 1); // descriptor
    }

    private void describeNamespace(MemorySegment page) {
        long blocks = target.disk.size() >> BLOCK_SHIFT;
        page.set(LONG, 0, blocks);
        page.set(LONG, 8, blocks);
        page.set(LONG, 16, blocks);
        put8(page, 30, 1); // for several controllers
        put8(page, 130, BLOCK_SHIFT);
    }
}

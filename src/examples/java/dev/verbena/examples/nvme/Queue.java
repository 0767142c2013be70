package dev.verbena.examples.nvme;

import static dev.verbena.examples.nvme.Nvme.*;
import static dev.verbena.examples.nvme.Refusal.unless;

import dev.verbena.VerbsArena;
import dev.verbena.cm.ConnectRequest;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.PrivateData;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A queue of a host: one connection, served by one thread. A command lives in a slot, from the receive of its capsule until
 * its response is made. The slot's next receive is posted before the response, so that a host that sends the next command at
 * once finds it.
 */
final class Queue implements AutoCloseable {
    /** The memory of a slot: the command, and a page for data in the capsule, or for the answer. */
    private static final int SLOT = CAPSULE + PAGE;

    private static final int BATCH = 32, POLLING = 500_000; // ns from the last completion until the thread sleeps
    private static final Duration HANDSHAKE = Duration.ofSeconds(10);

    // What a completion reports, in the lowest bits of its id. The others are the slot.
    private static final int RECEIVED = 0, FETCHED = 1, ANSWERED = 2;

    final int id;
    private final int depth;
    private final MemoryDisk target;
    final Connection connection;
    private final MemoryRegion region;
    final MemorySegment[] commands;
    private final SendBatch sends;
    private final ReceiveBatch receives;
    private @Nullable Controller controller;
    private int head;

    Queue(MemoryDisk target, ConnectRequest request, int id, int depth, VerbsArena arena) {
        this.target = target;
        this.id = id;
        this.depth = depth;
        QueueCapabilities sizes = QueueCapabilities.of(4 * depth, depth).inlineSize(RESPONSE);
        connection = request.connection(ConnectionResources.of(sizes), arena);
        region = connection.register(arena.allocate((long) depth * SLOT, PAGE), AccessFlag.LOCAL_WRITE);
        sends = connection.queuePair().sendBatch(2 * BATCH);
        receives = connection.queuePair().receiveBatch(depth);
        commands = new MemorySegment[depth];
        for (int slot = 0; slot < depth; slot++) {
            commands[slot] = region.segment().asSlice(at(slot), CAPSULE);
            receive(slot);
        }
    }

    /** Serves the queue until its connection ends, of which an exception tells. */
    void serve() throws InterruptedException {
        post();
        PrivateData accept = PrivateData.of(new byte[] {0, 0, (byte) depth, 0});
        connection.accept(ConnectionParameters.defaults().privateData(accept), HANDSHAKE);
        Completions done = connection.completions(BATCH);
        while (true) {
            int found = 0;
            for (long end = System.nanoTime() + POLLING; found == 0 && System.nanoTime() < end; found = done.poll()) {
                Thread.yield(); // a host on the same machine needs the processor
            }
            if (found == 0) {
                done.await(controller == null ? HANDSHAKE : id == 0 ? controller.keepAlive() : MemoryDisk.FOREVER);
            }
            while (done.next()) {
                int number = (int) done.orThrow().id();
                int slot = number >> 2;
                try {
                    switch (number & 3) {
                        case RECEIVED -> received(slot, done.byteLength());
                        case FETCHED -> fetched(slot);
                        default -> {} // a response has arrived, and those before it
                    }
                } catch (Refusal refused) {
                    answer(slot, refused.field, refused.status);
                }
            }
            post();
        }
    }

    private void receive(int slot) {
        receives.receive(slot << 2 | RECEIVED, region, at(slot), SLOT);
    }

    private void post() {
        receives.post();
        receives.clear();
        sends.post();
        sends.clear();
    }

    private static long at(int slot) {
        return (long) slot * SLOT;
    }

    /** Returns the page of a slot. */
    MemorySegment page(int slot) {
        return region.segment().asSlice(at(slot) + CAPSULE, PAGE);
    }

    private void received(int slot, int length) throws Refusal {
        if (length < CAPSULE) {
            throw new IllegalStateException("a capsule must have at least 64 bytes, got " + length);
        }
        MemorySegment command = commands[slot];
        int opcode = u8(command, 0);
        unless((u8(command, 1) & 0xc3) == 0x40, INVALID_FIELD); // not fused, with a descriptor
        if (opcode == FABRICS && u8(command, 4) == CONNECT) {
            unless(controller == null, SEQUENCE_ERROR);
            if (inCapsule(command, CONNECT_DATA, length, true)) {
                connect(slot, command.get(LONG, 24));
            } else {
                sends.read(slot << 2 | FETCHED, region, at(slot) + CAPSULE, CONNECT_DATA, host(command));
            }
            return;
        }
        unless(controller != null && (opcode == FABRICS || controller.isEnabled()), SEQUENCE_ERROR);
        if (id == 0) {
            controller.execute(this, slot, opcode);
        } else {
            execute(slot, opcode, length);
        }
    }

    private void connect(int slot, long offset) throws Refusal {
        controller = target.connect(this, commands[slot], page(slot).asSlice(offset, CONNECT_DATA), depth);
        answer(slot, controller.id, SUCCESS);
    }

    /** Executes a command that reads or writes the disk. */
    private void execute(int slot, int opcode, int length) throws Refusal {
        MemorySegment command = commands[slot];
        Disk disk = target.disk;
        if (opcode == FLUSH) {
            disk.flush();
        } else if (opcode != DATASET_MANAGEMENT) { // which gives hints that this disk does not need
            unless(opcode == READ || opcode == WRITE || opcode == WRITE_ZEROES, INVALID_OPCODE);
            unless(command.get(INT, 4) == Controller.NAMESPACE, INVALID_NAMESPACE);
            long size = size(command);
            long block = command.get(LONG, 40);
            unless(block >= 0 && block <= disk.size() - size >> BLOCK_SHIFT, OUT_OF_RANGE);
            long offset = block << BLOCK_SHIFT;
            if (opcode == WRITE_ZEROES) {
                disk.part(offset, size).fill((byte) 0);
            } else if (inCapsule(command, size, length, opcode == WRITE)) {
                disk.part(offset, size).copyFrom(page(slot).asSlice(command.get(LONG, 24), size));
            } else {
                disk.transfer(sends, slot << 2 | FETCHED, opcode == WRITE, offset, host(command));
                if (opcode == WRITE) {
                    return; // until the data has come
                }
            }
        }
        answer(slot, 0, SUCCESS); // arrives after the data
    }

    private void fetched(int slot) throws Refusal {
        if (controller == null) {
            connect(slot, 0);
        } else {
            target.disk.written(commands[slot].get(LONG, 40) << BLOCK_SHIFT, size(commands[slot]));
            answer(slot, 0, SUCCESS);
        }
    }

    private static long size(MemorySegment command) {
        return u16(command, 48) + 1L << BLOCK_SHIFT;
    }

    /** Returns true if the data of a command is in its capsule, false if it is moved by RDMA. Checks its place and length. */
    private static boolean inCapsule(MemorySegment command, long size, int length, boolean toDisk) throws Refusal {
        int kind = u8(command, 39);
        if (kind == IN_CAPSULE && toDisk) {
            long offset = command.get(LONG, 24);
            unless(command.get(INT, 32) == size, DATA_LENGTH);
            unless(offset >= 0 && offset <= length - CAPSULE - size, DATA_OFFSET);
            return true;
        }
        unless(kind == KEYED || kind == KEYED_INVALIDATE, DESCRIPTOR_TYPE);
        unless((command.get(INT, 32) & 0xffffff) == size, DATA_LENGTH);
        return false;
    }

    /** Returns the memory of the host that a command describes by a key. */
    private static RemoteMemory host(MemorySegment command) {
        return new RemoteMemory(command.get(LONG, 24), command.get(INT, 35), command.get(INT, 32) & 0xffffff);
    }

    /** Sends the first bytes of the page of a slot to the host, and then the response. */
    void reply(int slot, int size) throws Refusal {
        MemorySegment command = commands[slot];
        inCapsule(command, size, 0, false);
        sends.write(slot << 2, region, at(slot) + CAPSULE, size, host(command)).unsignaled();
        answer(slot, 0, SUCCESS);
    }

    /** Sends the response of a slot. Only some are signaled, so that their place in the queue pair gets free. */
    void answer(int slot, long result, int status) {
        MemorySegment command = commands[slot];
        sends.sendInline(slot << 2 | ANSWERED, response(command, result, status));
        if (u8(command, 39) == KEYED_INVALIDATE) {
            sends.invalidate(command.get(INT, 35));
        }
        if (head % (depth / 2) != 0) {
            sends.unsignaled();
        }
        receive(slot);
    }

    /** Completes the command of a slot that waits for an event. Any thread can call this. */
    void report(int slot, int event) {
        MemorySegment response = response(commands[slot], event, SUCCESS);
        connection.queuePair().postReceive(slot << 2 | RECEIVED, region, at(slot), SLOT);
        connection.queuePair().postSendInline(slot << 2 | ANSWERED, response);
    }

    private synchronized MemorySegment response(MemorySegment command, long result, int status) {
        MemorySegment to = MemorySegment.ofArray(new byte[RESPONSE]);
        head = (head + 1) % depth;
        to.set(LONG, 0, result);
        put16(to, 8, head);
        put16(to, 10, id);
        put16(to, 12, u16(command, 2)); // the host's number of the command
        put16(to, 14, status << 1);
        return to;
    }

    @Override
    public void close() {
        if (controller != null) {
            target.remove(this, controller);
        }
    }
}

package dev.verbena.tools.perf;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.tools.command.Spin;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Grh;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One end of a measurement: connected queue pairs, their completions, and their memory. One part of the memory is sent,
 * the other is for the peer's writes.
 */
final class PerfLink {
    /** The number of ids of each queue pair: one for its receives, and one for all other requests. */
    private static final int IDS = 2;

    private static final int RECEIVE = 1;

    /** The queue key of datagram queue pairs made by the connection manager ({@code RDMA_UDP_QKEY}). */
    private static final int UDP_KEY = 0x01234567;

    private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();
    private static final int SPINS = 1_000;
    private static final int CURSOR = 64;

    private final PerfPlan plan;
    private final ProtectionDomain domain;
    private final List<QueuePair> pairs;
    private final MemoryRegion memory;
    private final MemorySegment bytes;
    private final Completions done;
    private final int header;
    private final long part;
    private final int[] receives;
    private int sends;
    private final @Nullable AddressHandle[] paths;
    private final int[] peers;
    private int key;
    private RemoteMemory remote;

    PerfLink(
            PerfPlan plan, ProtectionDomain domain, List<QueuePair> pairs, CompletionQueue queue, MemoryRegion memory) {
        this.plan = plan;
        this.domain = domain;
        this.pairs = pairs;
        this.receives = new int[pairs.size()];
        this.paths = new AddressHandle[pairs.size()];
        this.peers = new int[pairs.size()];
        this.memory = memory;
        this.bytes = memory.segment();
        this.done = queue.completions(CURSOR);
        this.header = plan.type() == QueuePairType.UD ? Grh.BYTES : 0;
        this.part = memory.length() / parts(plan);
        this.remote = memory.remote();
    }

    /** Returns the size of an end's memory, of which at least {@code least} bytes are open to the peer. */
    static long memorySize(PerfPlan plan, long least) {
        return parts(plan) * ((Math.max(Math.max(8, least), plan.largest()) + Grh.BYTES + 63) & -64L);
    }

    /** Returns the number of parts of the memory. When both ends write, incoming and outgoing data are apart. */
    private static int parts(PerfPlan plan) {
        return plan.operation() == Operation.WRITE ? 2 : 1;
    }

    private long incoming() {
        return plan.operation() == Operation.WRITE ? part : 0;
    }

    /** Returns the memory that is open to the peer. */
    RemoteMemory open() {
        return memory.remote().slice(incoming(), part);
    }

    /** Sets the memory of the peer. */
    void reach(RemoteMemory theirs) {
        remote = theirs;
    }

    /** Sets the destination of the datagrams of a queue pair. */
    void sendTo(int from, AddressVector way, int number, int secret) {
        paths[from] = domain.createAddressHandle(way);
        peers[from] = number;
        key = secret;
    }

    /** Returns the number of receives to keep posted: enough for all outstanding operations. */
    private int most() {
        return 2 * plan.depth();
    }

    void postReceives() {
        for (int i = 0; i < receives.length; i++) {
            while (receives[i] < most()) {
                postReceive(i);
            }
        }
    }

    private void postReceive(int on) {
        pairs.get(on).postReceive((long) on * IDS + RECEIVE, memory);
        receives[on]++;
    }

    /** Returns true if the current completion is of a receive. */
    boolean isReceive() {
        return done.id() % IDS == RECEIVE;
    }

    /** Returns the queue pair of the current completion, by its index. */
    int completed() {
        return (int) done.id() / IDS;
    }

    /** Replaces a completed receive by a new one. The first datagram determines the destination of the answers. */
    void received() {
        int on = completed();
        if (paths[on] == null && plan.type() == QueuePairType.UD) {
            paths[on] = domain.createAddressHandle(done.completion(), bytes);
            peers[on] = done.sourceQueuePair();
            key = UDP_KEY;
        }
        receives[on]--;
        postReceive(on);
    }

    /** Posts one operation on the first queue pair. */
    void post(int size) {
        post(0, size);
    }

    /** Posts one operation. */
    void post(int on, int size) {
        QueuePair pair = pairs.get(on);
        long id = (long) on * IDS;
        LocalMemory local = memory.slice(header, size);
        boolean inline = size <= plan.inline();
        AddressHandle to = paths[on];
        switch (plan.operation()) {
            case SEND -> {
                if (to != null && inline) {
                    pair.postSendInline(id, local.segment(), to, peers[on], key);
                } else if (to != null) {
                    pair.postSend(id, local, to, peers[on], key);
                } else if (inline) {
                    pair.postSendInline(id, local.segment());
                } else {
                    pair.postSend(id, local);
                }
            }
            case WRITE -> {
                if (inline) {
                    pair.postWriteInline(id, local.segment(), remote.slice(0, size));
                } else {
                    pair.postWrite(id, local, remote.slice(0, size));
                }
            }
            case READ -> pair.postRead(id, local, remote.slice(0, size));
            case ATOMIC -> pair.postFetchAndAdd(id, memory.slice(0, 8), remote.slice(0, 8), 1);
        }
    }

    // Ping-pong of writes

    /** Clears the mark of the peer's last write. */
    void clearMark(int size) {
        BYTE.setRelease(bytes, incoming() + size - 1, (byte) 0);
    }

    /** Writes {@code size} bytes into the peer's memory, the last of which is a mark. */
    void writeMark(int size, byte mark) {
        bytes.set(ValueLayout.JAVA_BYTE, size - 1, mark);
        post(size);
        sends++;
    }

    /** Waits for the peer to write a mark as the last of {@code size} bytes. Returns false if the time is over. */
    boolean awaitMark(int size, byte mark, Duration time) throws InterruptedException {
        long last = incoming() + size - 1;
        return Spin.until(() -> (byte) BYTE.getAcquire(bytes, last) == mark, SPINS, time);
    }

    /** Polls completions of writes and returns the number of writes still outstanding. */
    int unfinishedWrites() {
        done.poll();
        while (done.next()) {
            done.orThrow();
            sends--;
        }
        return sends;
    }

    // Waits

    /** Waits for completions, which are then in the cursor. Returns false if the time is over. */
    boolean await(Duration time) throws InterruptedException {
        if (!plan.events()) {
            return Spin.until(() -> done.poll() > 0, SPINS, time);
        }
        Spin.checkInterrupt();
        try {
            done.await(time);
            return true;
        } catch (VerbsTimeoutException over) {
            return false;
        }
    }

    Completions completions() {
        return done;
    }
}

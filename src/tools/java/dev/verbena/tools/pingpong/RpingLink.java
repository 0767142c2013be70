package dev.verbena.tools.pingpong;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One side of a connection of {@code rping}: its queue pair, its buffers, and the messages of 16 bytes in which both
 * sides describe their memory to each other.
 */
final class RpingLink {
    private static final ConnectionParameters PARAMETERS = ConnectionParameters.defaults()
            .responderResources(1)
            .initiatorDepth(1)
            .retryCount(7)
            .rnrRetryCount(7);

    /** Interval at which a waiting thread checks whether the connection has ended. */
    private static final Duration LOOKING = Duration.ofSeconds(1);

    private final ConnectionId id;
    private final Consumer<String> debug;
    private final CompletionQueue completions;
    private final QueuePair pair;
    private final boolean own;
    private final MemoryRegion heard;
    private final MemoryRegion said;
    private final MemoryRegion source;
    private final MemoryRegion sink;
    private @Nullable Thread watcher;
    private volatile boolean ended;
    private boolean sent;
    private boolean received;
    private boolean told;

    /** Makes queues and buffers for an id that is bound to a device, in the id's arena, and posts a receive. */
    RpingLink(ConnectionId id, int size, boolean own, Consumer<String> debug) {
        this.id = id;
        this.own = own;
        this.debug = debug;
        Context context = id.context();
        VerbsArena arena = id.arena();
        ProtectionDomain domain = context.allocateProtectionDomain(arena);
        completions = context.createCompletionQueue(
                CompletionQueueOptions.of(32).channel(context.createCompletionChannel(arena)), arena);
        QueuePairOptions wanted = QueuePair.rc(completions).sendDepth(16).receiveDepth(2);
        if (own) {
            pair = domain.createQueuePair(wanted, arena);
            id.bring(pair, QueuePairState.INIT);
        } else {
            pair = id.createQueuePair(domain, wanted, arena);
        }
        debug.accept("created " + domain + ", " + completions + ", " + pair);
        heard = domain.register(arena.allocate(RemoteMemory.BYTES, 8), AccessFlag.LOCAL_WRITE);
        said = domain.register(arena.allocate(RemoteMemory.BYTES, 8));
        source = open(domain, arena.allocate(size, 64));
        sink = open(domain, arena.allocate(size, 64));
        debug.accept("allocated & registered buffers...");
        pair.postReceive(0, heard);
    }

    private static MemoryRegion open(ProtectionDomain domain, MemorySegment memory) {
        return domain.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
    }

    /** Returns the buffer that the server reads. */
    MemoryRegion source() {
        return source;
    }

    /** Returns the buffer to which the server writes. */
    MemoryRegion sink() {
        return sink;
    }

    void connect() throws InterruptedException {
        if (own) {
            id.connect(pair, PARAMETERS, Tool.PATIENCE);
        } else {
            id.connect(PARAMETERS, Tool.PATIENCE);
        }
        watch();
    }

    void accept() throws InterruptedException {
        if (own) {
            id.accept(pair, PARAMETERS, Tool.PATIENCE);
        } else {
            id.accept(PARAMETERS, Tool.PATIENCE);
        }
        watch();
    }

    // Messages

    /** Sends a description of memory to read or to write. A client ignores the contents. */
    void say(RemoteMemory memory) throws InterruptedException {
        said.segment().copyFrom(MemorySegment.ofArray(memory.toBytes()));
        pair.postSend(0, said);
        finishSend();
    }

    /** Receives a description of the peer's memory, or null if the peer has gone. */
    @Nullable
    RemoteMemory hear() throws InterruptedException {
        if (!finishReceive()) {
            return null;
        }
        RemoteMemory memory = RemoteMemory.from(heard.segment().toArray(ValueLayout.JAVA_BYTE));
        debug.accept("Received rkey " + Integer.toHexString(memory.key()) + " addr "
                + Long.toHexString(memory.address()) + " len " + memory.length() + " from peer");
        pair.postReceive(0, heard);
        return memory;
    }

    /** Reads the peer's memory. Returns false if the peer has gone. */
    boolean read(LocalMemory to, RemoteMemory from) throws InterruptedException {
        pair.postRead(1, to, from);
        debug.accept("server posted rdma read req");
        return finishSend();
    }

    boolean write(LocalMemory from, RemoteMemory to) throws InterruptedException {
        debug.accept("rdma write " + from + " to " + to);
        pair.postWrite(1, from, to);
        return finishSend();
    }

    private boolean finishSend() throws InterruptedException {
        while (!sent) {
            if (!finishOne()) {
                return false;
            }
        }
        sent = false;
        return true;
    }

    private boolean finishReceive() throws InterruptedException {
        while (!received) {
            if (!finishOne()) {
                return false;
            }
        }
        received = false;
        return true;
    }

    /** Waits for a send or a receive to complete. Returns false if the connection has ended. */
    private boolean finishOne() throws InterruptedException {
        WorkCompletion done = awaitOne();
        if (done == null || done.status() == WorkStatus.WORK_REQUEST_FLUSHED) {
            return false;
        }
        if (done.orThrow().isReceive()) {
            if (done.byteLength() != RemoteMemory.BYTES) {
                throw new IllegalStateException("the peer sent a message of " + done.byteLength() + " bytes, but a"
                        + " description of memory has " + RemoteMemory.BYTES + ": is it another tool?");
            }
            received = true;
        } else {
            sent = true;
        }
        return true;
    }

    /** Waits for a completion, or returns null if the connection has ended: some devices then complete no request. */
    private @Nullable WorkCompletion awaitOne() throws InterruptedException {
        while (true) {
            try {
                return completions.await(LOOKING);
            } catch (VerbsTimeoutException nothing) {
                if (ended) {
                    return null;
                }
            }
        }
    }

    // The end

    private void watch() {
        watcher = Thread.ofVirtual().name("watches " + id).start(this::flushWhenItEnds);
    }

    /** Disconnects when the peer does: this flushes the posted requests, and so ends all waits. */
    private void flushWhenItEnds() {
        try {
            while (id.awaitEvent(Tool.FOR_EVER).type() != CmEvent.Type.DISCONNECTED) {
                continue;
            }
            end();
            ended = true;
        } catch (InterruptedException | IllegalStateException over) {
            return;
        }
    }

    private void end() {
        debug.accept("cma_event type RDMA_CM_EVENT_DISCONNECTED " + id);
        id.beginDisconnect();
        if (own) {
            pair.fail();
        }
    }

    /** Disconnects and waits for the peer's answer. */
    void disconnect() throws InterruptedException {
        endWatching();
        if (!id.isDisconnected()) {
            told = true;
            try {
                id.disconnect(Tool.PATIENCE);
                debug.accept("rdma_disconnect");
            } catch (ConnectionException gone) {
                debug.accept(String.valueOf(gone.getMessage()));
            }
        }
    }

    /** Disconnects without waiting for the peer's answer, unless the connection has ended already. */
    void giveUp() throws InterruptedException {
        endWatching();
        if (!told && !id.isDisconnected()) {
            id.beginDisconnect();
        }
    }

    private void endWatching() throws InterruptedException {
        Thread watching = watcher;
        if (watching != null) {
            watching.interrupt();
            watching.join();
        }
    }
}

package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A program for {@link ChildJvm} with a small heap and without buffers for the allocations of threads: takes all of the heap,
 * and has the device report events meanwhile. A thread that takes an event of another thread's queue, and the thread of a
 * listener, lack memory for that. Once the heap is free again, the other thread gets its queue, and the listener its event.
 */
public final class WaitsWithoutHeap {
    private static final int ROUNDS = 10;
    private static final long HUNGER_NANOS = 30_000_000;

    private final AtomicInteger served = new AtomicInteger();
    private final AtomicInteger heard = new AtomicInteger();
    private final Context context;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final CompletionQueue other;
    private final QueuePair pair;
    private final MemoryRegion memory;
    private final RemoteMemory remote;

    private WaitsWithoutHeap(VerbsArena arena) {
        context = TestDevice.get().open(arena);
        channel = context.createCompletionChannel();
        queue = context.createCompletionQueue(CompletionQueueOptions.of(16).channel(channel));
        other = context.createCompletionQueue(CompletionQueueOptions.of(16).channel(channel));
        ProtectionDomain domain = context.allocateProtectionDomain();
        pair = domain.createQueuePair(QueuePair.rc(queue));
        QueuePair peer = domain.createQueuePair(QueuePair.rc(context.createCompletionQueue(16)));
        pair.connect(peer.endpoint());
        peer.connect(pair.endpoint());
        memory = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        remote = memory.remote();
    }

    public static void main(String[] arguments) {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            new WaitsWithoutHeap(arena).run();
        }
        System.out.println("left " + Fenced.remains());
        System.exit(0); // threads may still wait
    }

    private void run() {
        context.events().subscribe(event -> heard.incrementAndGet());
        Thread taking = start(() -> other.await(Loopback.DEADLINE));
        Await.until("the thread that takes events sleeps", () -> Await.isAsleep(taking));
        Thread serving = start(() -> {
            queue.requestNotification(false);
            CompletionQueue ready = channel.await(Loopback.DEADLINE);
            while (ready.poll() != null) {
                served.incrementAndGet();
            }
        });
        cause(serving);
        for (int round = 0; round < ROUNDS; round++) {
            NodesWithoutHeap.takeHeap();
            try {
                post();
            } catch (OutOfMemoryError hungry) {
                continue; // in this thread
            }
            long end = System.nanoTime() + HUNGER_NANOS;
            while (System.nanoTime() - end < 0) {
                NodesWithoutHeap.takeHeap();
            }
        }
        NodesWithoutHeap.giveHeapBack();
        int servedBefore = served.get();
        int heardBefore = heard.get();
        post();
        Await.until("the queue of the event", () -> served.get() > servedBefore);
        Await.until("the event of the listener", () -> heard.get() > heardBefore);
    }

    /** Causes events before memory is missing, so that all classes are there. */
    private void cause(Thread serving) {
        Await.until("the thread that serves the queue sleeps", () -> Await.isAsleep(serving));
        post();
        Await.until("the event", () -> served.get() == 1 && heard.get() == 1);
        Await.until("the thread that serves the queue sleeps", () -> Await.isAsleep(serving));
    }

    private void post() {
        pair.postWrite(1, memory, remote);
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
    }

    private interface Work {
        void once() throws InterruptedException;
    }

    /** Starts a thread that does work again and again, whatever it lacks. */
    private static Thread start(Work work) {
        return Thread.ofPlatform().daemon().start(() -> {
            while (true) {
                try {
                    work.once();
                } catch (OutOfMemoryError hungry) {
                    Thread.onSpinWait();
                } catch (InterruptedException | RuntimeException closed) {
                    return;
                }
            }
        });
    }
}

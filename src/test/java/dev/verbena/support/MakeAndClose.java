package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.SharedReceiveQueue;

/**
 * Makes, uses and closes an object of each kind that soft-RoCE supports, again and again. Also a program for {@link
 * ChildJvm} on the provider for tests, which prints the growth of its resident memory in KiB and its remaining objects.
 * Arguments: warm-up cycles, cycles.
 */
public final class MakeAndClose {
    private MakeAndClose() {}

    public static void main(String[] arguments) throws Exception {
        cycles(Integer.parseInt(arguments[0]));
        long before = ResidentMemory.kib();
        cycles(Integer.parseInt(arguments[1]));
        System.out.println("grown " + (ResidentMemory.kib() - before));
        System.out.println("left " + Fenced.remains());
    }

    /** Makes and closes all objects, each time in an arena of its own: confined and shared ones by turns. */
    public static void cycles(int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            try (VerbsArena arena = i % 2 == 0 ? VerbsArena.ofConfined() : VerbsArena.ofShared()) {
                cycle(arena);
            }
        }
    }

    private static void cycle(VerbsArena arena) throws InterruptedException {
        Context context = TestDevice.get().open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionChannel channel = context.createCompletionChannel();
        CompletionQueue queue =
                context.createCompletionQueue(CompletionQueueOptions.of(16).channel(channel));
        CompletionQueue extended =
                context.createCompletionQueue(CompletionQueueOptions.of(16).fields(CompletionField.standard()));
        MemoryRegion region = domain.register(
                arena.allocate(4096, 4096),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_READ,
                AccessFlag.MW_BIND);
        SharedReceiveQueue shared =
                domain.createSharedReceiveQueue(SharedReceiveQueue.basic().depth(4));
        domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
        domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2).close();

        QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
        pair.connect(pair.endpoint());
        pair.postReceive(1, region.slice(0, 8));
        pair.postSend(2, region.slice(8, 8));
        queue.await(Loopback.DEADLINE).orThrow();
        queue.await(Loopback.DEADLINE).orThrow();

        QueuePair both = domain.createQueuePair(QueuePair.rc(extended)
                .sharedReceiveQueue(shared)
                .operations(QueuePairOptions.OfferedOperation.RDMA_WRITE));
        both.connect(both.endpoint());
        both.postWrite(3, region.slice(0, 8), region.slice(8, 8).remote());
        extended.await(Loopback.DEADLINE).orThrow();

        QueuePair datagrams = domain.createQueuePair(QueuePair.ud(queue));
        datagrams.toReady(1);
        domain.createAddressHandle(datagrams.pathTo(datagrams.endpoint()));
        context.events().poll();
    }
}

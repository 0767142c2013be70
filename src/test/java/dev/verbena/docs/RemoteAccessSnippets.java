package dev.verbena.docs;

import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/** Examples of reads, writes and atomic operations on the peer's memory. */
final class RemoteAccessSnippets {
    private RemoteAccessSnippets() {}

    static void write(QueuePair qp, CompletionQueue cq, MemoryRegion local, RemoteMemory remote, Duration timeout)
            throws InterruptedException {
        // @start region="write"
        local.segment().setString(0, "written by the peer");
        qp.postWrite(1, local.slice(0, 64), remote.slice(0, 64)); // no code of the peer runs
        cq.await(timeout).orThrow();
        // @end
    }

    static String read(QueuePair qp, CompletionQueue cq, MemoryRegion local, RemoteMemory remote, Duration timeout)
            throws InterruptedException {
        // @start region="read"
        qp.postRead(2, local.slice(0, 64), remote.slice(0, 64));
        cq.await(timeout).orThrow();
        String text = local.segment().getString(0);
        // @end
        return text;
    }

    static long count(QueuePair qp, CompletionQueue cq, MemoryRegion local, RemoteMemory counter, Duration timeout)
            throws InterruptedException {
        // @start region="atomic"
        qp.postFetchAndAdd(3, local.slice(0, 8), counter, 1);
        cq.await(timeout).orThrow();
        long before = local.segment().get(ValueLayout.JAVA_LONG, 0);
        // @end
        return before;
    }
}

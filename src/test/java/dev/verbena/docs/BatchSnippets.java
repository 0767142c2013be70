package dev.verbena.docs;

import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;

/** Examples of batches. */
final class BatchSnippets {
    private BatchSnippets() {}

    static void mixed(QueuePair qp, MemoryRegion local, RemoteMemory remote) {
        // @start region="mixed"
        SendBatch batch = qp.sendBatch(16); // made once
        batch.clear();
        batch.write(1, local.slice(0, 64), remote.slice(0, 64)).unsignaled();
        batch.send(2, local.slice(64, 8)).immediate(42);
        batch.post(); // one call into C
        // @end
    }

    static long loop(QueuePair qp, CompletionQueue cq, MemoryRegion local, RemoteMemory remote, int rounds) {
        // @start region="loop"
        SendBatch batch = qp.sendBatch(4);
        for (int i = 0; i < 4; i++) {
            batch.write(i, local.slice(i * 64, 64), remote.slice(i * 64, 64));
        }
        Completions done = cq.completions(4);
        long sum = 0;
        for (int round = 0; round < rounds; round++) {
            batch.post(); // the same requests again: nothing is written, nothing is allocated
            int left = 4;
            while (left > 0) {
                left -= done.poll();
                while (done.next()) {
                    sum += done.orThrow().id();
                }
            }
        }
        // @end
        return sum;
    }

    static void receives(QueuePair qp, MemoryRegion local) {
        // @start region="receives"
        ReceiveBatch receives = qp.receiveBatch(4);
        for (int i = 0; i < 4; i++) {
            receives.receive(i, local.slice(i * 1024, 1024));
        }
        receives.post();
        // @end
    }
}

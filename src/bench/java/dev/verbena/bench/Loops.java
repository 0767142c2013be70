package dev.verbena.bench;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ExtendedCompletions;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.WorkCompletion;
import java.util.function.Consumer;

/** The loops of the rows, as a user writes them. Each returns the number of wrong completions. */
final class Loops {
    private static final int MAX = 64;
    private static final int LENGTH = 64;
    private static final int DEPTH = 128;
    private static final int BATCH = 16;

    private final QueuePair pair;
    private final LocalMemory local;
    private final RemoteMemory remote;
    private final SendBatch one;
    private final SendBatch batch16;
    private final SendBatch batch64;
    private final ReceiveBatch receives;
    private final Completions done;
    private final Completions many;
    private final Completions received;
    private final WorkCompletion[] kept = new WorkCompletion[MAX];
    private final Consumer<Completions>[] callbacks;
    private long wrong;
    private long expected;

    @SuppressWarnings({"unchecked", "rawtypes"})
    Loops(Row row, VerbsArena arena, int gidIndex) {
        Context context = Device.list().getFirst().open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue sent = context.createCompletionQueue(row.of(CompletionQueueOptions.of(DEPTH)));
        CompletionQueue receiving = context.createCompletionQueue(DEPTH);
        pair = domain.createQueuePair(row.of(QueuePair.rc(sent, receiving)
                .sendDepth(DEPTH)
                .receiveDepth(DEPTH)
                .gidIndex(gidIndex)));
        pair.connect(pair.endpoint());
        MemoryRegion region = domain.register(arena.allocate(8192, 4096), LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ);
        local = region.slice(0, LENGTH);
        remote = region.slice(4096, LENGTH).remote();
        one = filled(1);
        batch16 = filled(BATCH);
        batch64 = filled(MAX);
        receives = pair.receiveBatch(1).receive(0, local);
        done = sent.isExtended() ? sent.extendedCompletions(1) : sent.completions(1);
        many = sent.completions(MAX);
        received = receiving.completions(1);
        callbacks = new Consumer[] {
            (Consumer<Completions>) this::first,
            (Consumer<Completions>) this::second,
            (Consumer<Completions>) this::third
        };
    }

    private SendBatch filled(int size) {
        SendBatch batch = pair.sendBatch(size);
        for (int i = 0; i < size; i++) {
            batch.write(i, local, remote);
        }
        return batch;
    }

    private long takeOne(Completions from, long id) {
        while (from.poll() == 0) {
            // spin, as the loop in C does
        }
        from.next();
        return from.isSuccess() && from.id() == id ? 0 : 1;
    }

    /** Posts a request that stays in the batch, with a new id each time. */
    long postAndPoll(int n) {
        SendBatch batch = one;
        Completions from = done;
        long bad = 0;
        for (int i = 0; i < n; i++) {
            batch.id(i).post();
            bad += takeOne(from, i);
        }
        return bad;
    }

    long reads(int n) {
        one.clear().read(0, local, remote);
        return postAndPoll(n);
    }

    long single(int n) {
        long bad = 0;
        for (int i = 0; i < n; i++) {
            pair.postWrite(i, local, remote);
            bad += takeOne(done, i);
        }
        return bad;
    }

    long rebuilt(int n) {
        long bad = 0;
        for (int i = 0; i < n; i++) {
            one.clear().write(i, local, remote).post();
            bad += takeOne(done, i);
        }
        return bad;
    }

    long batch16(int n) {
        return batches(batch16, BATCH, n);
    }

    long batch64(int n) {
        return batches(batch64, MAX, n);
    }

    private long batches(SendBatch batch, int size, int n) {
        long bad = 0;
        for (int i = 0; i < n; i += size) {
            for (int j = 0; j < size; j++) {
                batch.id(j, i + j);
            }
            batch.post();
            bad += takeBatch(size, i);
        }
        return bad;
    }

    long batch16Rebuilt(int n) {
        long bad = 0;
        for (int i = 0; i < n; i += BATCH) {
            batch16.clear();
            for (int j = 0; j < BATCH; j++) {
                batch16.write(i + j, local, remote);
            }
            batch16.post();
            bad += takeBatch(BATCH, i);
        }
        return bad;
    }

    private long takeBatch(int size, long firstId) {
        long bad = 0;
        long id = firstId;
        for (int left = size; left > 0; ) {
            left -= many.poll();
            while (many.next()) {
                bad += many.isSuccess() && many.id() == id++ ? 0 : 1;
            }
        }
        return bad;
    }

    long receive(int n) {
        long bad = 0;
        for (int i = 0; i < n; i++) {
            receives.id(i).post();
            bad += takeOne(received, i);
        }
        return bad;
    }

    long emptyPoll(int n) {
        long bad = 0;
        for (int i = 0; i < n; i++) {
            bad += done.poll();
        }
        return bad;
    }

    long extendedQueue(int n) {
        ExtendedCompletions extended = (ExtendedCompletions) done;
        long bad = 0;
        for (int i = 0; i < n; i++) {
            one.id(i).post();
            bad += takeOne(extended, i) + (extended.byteLength() == LENGTH ? 0 : 1);
        }
        return bad;
    }

    long extendedPair(int n) {
        return rebuilt(n);
    }

    /** Three callbacks by turns, so that none of their calls is inlined. */
    long callbacks(int n) {
        wrong = 0;
        for (int i = 0; i < n; i += BATCH) {
            for (int j = 0; j < BATCH; j++) {
                batch16.id(j, i + j);
            }
            batch16.post();
            expected = i;
            for (int left = BATCH; left > 0; ) {
                left -= many.poll();
                for (int k = 0; many.next(); k = k == 2 ? 0 : k + 1) {
                    callbacks[k].accept(many);
                }
            }
        }
        return wrong;
    }

    private void first(Completions completion) {
        wrong += completion.isSuccess() && completion.id() == expected++ ? 0 : 1;
    }

    private void second(Completions completion) {
        wrong += completion.id() == expected++ && completion.isSuccess() ? 0 : 1;
    }

    private void third(Completions completion) {
        wrong += completion.id() != expected++ || !completion.isSuccess() ? 1 : 0;
    }

    long records(int n) {
        long bad = 0;
        for (int i = 0; i < n; i += BATCH) {
            for (int j = 0; j < BATCH; j++) {
                batch16.id(j, i + j);
            }
            batch16.post();
            int count = 0;
            while (count < BATCH) {
                many.poll();
                while (many.next()) {
                    kept[count++] = many.completion();
                }
            }
            for (int j = 0; j < BATCH; j++) {
                bad += kept[j].isSuccess() && kept[j].id() == i + j ? 0 : 1;
            }
        }
        return bad;
    }
}

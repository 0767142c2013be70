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
import java.util.List;
import java.util.function.Consumer;

/**
 * The queues of a program in Java, and what it does with them, as a user writes it. Loops have their objects in local
 * variables, as those in C have them in registers. Steps have them in fields, as the layers of a program do.
 */
final class Loops {
    static final int BATCH = 16;
    static final int SLICES = 64;
    private static final int MAX = 64;
    private static final int LENGTH = 64;
    private static final int DEPTH = 128;

    private final QueuePair pair;
    private final LocalMemory local;
    private final RemoteMemory remote;
    private final LocalMemory[] locals = new LocalMemory[SLICES];
    private final RemoteMemory[] remotes = new RemoteMemory[SLICES];
    private final Completions done;
    private final Completions many;
    private final Completions received;
    private long wrong;
    private long expected;

    Loops(Row row, VerbsArena arena, int gidIndex) {
        Context context = Device.list().getFirst().open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue sent = context.createCompletionQueue(row.of(CompletionQueueOptions.of(DEPTH)));
        CompletionQueue receiving = row.oneQueue() ? sent : context.createCompletionQueue(DEPTH);
        pair = domain.createQueuePair(row.of(QueuePair.rc(sent, receiving)
                .sendDepth(DEPTH)
                .receiveDepth(DEPTH)
                .gidIndex(gidIndex)));
        pair.connect(pair.endpoint());
        MemoryRegion region = domain.register(arena.allocate(8192, 4096), LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ);
        for (int i = 0; i < SLICES; i++) {
            locals[i] = region.slice(i * LENGTH, LENGTH);
            remotes[i] = region.slice(4096 + i * LENGTH, LENGTH).remote();
        }
        local = locals[0];
        remote = remotes[0];
        done = sent.isExtended() ? sent.extendedCompletions(1) : sent.completions(1);
        many = sent.completions(MAX);
        received = receiving.completions(1);
    }

    private SendBatch filled(int size) {
        SendBatch batch = pair.sendBatch(size);
        for (int i = 0; i < size; i++) {
            batch.write(i, local, remote);
        }
        return batch;
    }

    private static long takeOne(Completions from, long id) {
        while (from.poll() == 0) {
            // spin, as the loop in C does
        }
        from.next();
        return from.isSuccess() && from.id() == id ? 0 : 1;
    }

    private static long takeBatch(Completions from, int size, long firstId) {
        long bad = 0;
        long id = firstId;
        for (int left = size; left > 0; ) {
            left -= from.poll();
            while (from.next()) {
                bad += from.isSuccess() && from.id() == id++ ? 0 : 1;
            }
        }
        return bad;
    }

    /** Posts a request that stays in the batch, with a new id each time. */
    Work standing() {
        return standing(filled(1));
    }

    private Work standing(SendBatch batch) {
        Completions from = done;
        return new Work(n -> standing(batch, from, n), id -> standing(batch, from, id));
    }

    private static long standing(SendBatch batch, Completions from, long id) {
        batch.id(id).post();
        return takeOne(from, id);
    }

    private static long standing(SendBatch batch, Completions from, int n) {
        long bad = 0;
        for (long id = 0; id < n; id++) {
            bad += standing(batch, from, id);
        }
        return bad;
    }

    Work reads() {
        return standing(pair.sendBatch(1).read(0, local, remote));
    }

    Work single() {
        QueuePair to = pair;
        LocalMemory here = local;
        RemoteMemory there = remote;
        Completions from = done;
        return new Work(n -> single(to, here, there, from, n), id -> single(to, here, there, from, id));
    }

    private static long single(QueuePair to, LocalMemory here, RemoteMemory there, Completions from, long id) {
        to.postWrite(id, here, there);
        return takeOne(from, id);
    }

    private static long single(QueuePair to, LocalMemory here, RemoteMemory there, Completions from, int n) {
        long bad = 0;
        for (long id = 0; id < n; id++) {
            bad += single(to, here, there, from, id);
        }
        return bad;
    }

    /** As {@link #single}, from and to other memory each time. */
    Work slices() {
        QueuePair to = pair;
        LocalMemory[] here = locals;
        RemoteMemory[] there = remotes;
        Completions from = done;
        return new Work(n -> slices(to, here, there, from, n), id -> slices(to, here, there, from, id));
    }

    private static long slices(QueuePair to, LocalMemory[] here, RemoteMemory[] there, Completions from, long id) {
        int slice = (int) id % SLICES;
        to.postWrite(id, here[slice], there[slice]);
        return takeOne(from, id);
    }

    private static long slices(QueuePair to, LocalMemory[] here, RemoteMemory[] there, Completions from, int n) {
        long bad = 0;
        for (long id = 0; id < n; id++) {
            bad += slices(to, here, there, from, id);
        }
        return bad;
    }

    Work rebuilt() {
        SendBatch batch = pair.sendBatch(1);
        return new Work(n -> rebuilt(batch, local, remote, done, n));
    }

    private static long rebuilt(SendBatch batch, LocalMemory here, RemoteMemory there, Completions from, int n) {
        long bad = 0;
        for (long id = 0; id < n; id++) {
            batch.clear().write(id, here, there).post();
            bad += takeOne(from, id);
        }
        return bad;
    }

    Work batch16() {
        return batches(BATCH);
    }

    Work batch64() {
        return batches(MAX);
    }

    private Work batches(int size) {
        SendBatch batch = filled(size);
        return new Work(n -> batches(batch, many, size, n));
    }

    private static long batches(SendBatch batch, Completions from, int size, int n) {
        long bad = 0;
        for (long id = 0; id < n; id += size) {
            postBatch(batch, size, id);
            bad += takeBatch(from, size, id);
        }
        return bad;
    }

    /** Posts a batch with new ids. */
    private static void postBatch(SendBatch batch, int size, long firstId) {
        for (int i = 0; i < size; i++) {
            batch.id(i, firstId + i);
        }
        batch.post();
    }

    Work batch16Rebuilt() {
        SendBatch batch = pair.sendBatch(BATCH);
        return new Work(n -> batch16Rebuilt(batch, local, remote, many, n));
    }

    private static long batch16Rebuilt(SendBatch batch, LocalMemory here, RemoteMemory there, Completions from, int n) {
        long bad = 0;
        for (long id = 0; id < n; id += BATCH) {
            batch.clear();
            for (int i = 0; i < BATCH; i++) {
                batch.write(id + i, here, there);
            }
            batch.post();
            bad += takeBatch(from, BATCH, id);
        }
        return bad;
    }

    Work batch16Slices() {
        SendBatch batch = pair.sendBatch(BATCH);
        LocalMemory[] here = locals;
        RemoteMemory[] there = remotes;
        Completions from = many;
        return new Work(
                n -> batch16Slices(batch, here, there, from, n), id -> batch16Slices(batch, here, there, from, id));
    }

    private static long batch16Slices(
            SendBatch batch, LocalMemory[] here, RemoteMemory[] there, Completions from, long id) {
        batch.clear();
        for (int i = 0; i < BATCH; i++) {
            int slice = (int) (id + i) % SLICES;
            batch.write(id + i, here[slice], there[slice]);
        }
        batch.post();
        return takeBatch(from, BATCH, id);
    }

    private static long batch16Slices(
            SendBatch batch, LocalMemory[] here, RemoteMemory[] there, Completions from, int n) {
        long bad = 0;
        for (long id = 0; id < n; id += BATCH) {
            bad += batch16Slices(batch, here, there, from, id);
        }
        return bad;
    }

    Work receive() {
        ReceiveBatch batch = pair.receiveBatch(1).receive(0, local);
        Completions from = received;
        return new Work(n -> receive(batch, from, n), id -> receive(batch, from, id));
    }

    private static long receive(ReceiveBatch batch, Completions from, long id) {
        batch.id(id).post();
        return takeOne(from, id);
    }

    private static long receive(ReceiveBatch batch, Completions from, int n) {
        long bad = 0;
        for (long id = 0; id < n; id++) {
            bad += receive(batch, from, id);
        }
        return bad;
    }

    Work emptyPoll() {
        return new Work(n -> emptyPoll(done, n));
    }

    private static long emptyPoll(Completions from, int n) {
        long bad = 0;
        for (int i = 0; i < n; i++) {
            bad += from.poll();
        }
        return bad;
    }

    Work extendedQueue() {
        SendBatch batch = filled(1);
        ExtendedCompletions extended = (ExtendedCompletions) done;
        return new Work(n -> extendedQueue(batch, extended, n));
    }

    private static long extendedQueue(SendBatch batch, ExtendedCompletions from, int n) {
        long bad = 0;
        for (long id = 0; id < n; id++) {
            batch.id(id).post();
            bad += takeOne(from, id) + (from.byteLength() == LENGTH ? 0 : 1);
        }
        return bad;
    }

    /** Three callbacks by turns, so that none of their calls is inlined. */
    Work callbacks() {
        SendBatch batch = filled(BATCH);
        List<Consumer<Completions>> callbacks = List.of(this::first, this::second, this::third);
        return new Work(n -> callbacks(batch, many, callbacks, n));
    }

    private long callbacks(SendBatch batch, Completions from, List<Consumer<Completions>> callbacks, int n) {
        wrong = 0;
        for (long id = 0; id < n; id += BATCH) {
            postBatch(batch, BATCH, id);
            expected = id;
            for (int left = BATCH; left > 0; ) {
                left -= from.poll();
                for (int k = 0; from.next(); k = k == 2 ? 0 : k + 1) {
                    callbacks.get(k).accept(from);
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

    Work records() {
        SendBatch batch = filled(BATCH);
        WorkCompletion[] kept = new WorkCompletion[MAX];
        return new Work(n -> records(batch, many, kept, n));
    }

    private static long records(SendBatch batch, Completions from, WorkCompletion[] kept, int n) {
        long bad = 0;
        for (long id = 0; id < n; id += BATCH) {
            postBatch(batch, BATCH, id);
            int count = 0;
            while (count < BATCH) {
                from.poll();
                while (from.next()) {
                    kept[count++] = from.completion();
                }
            }
            for (int i = 0; i < BATCH; i++) {
                bad += kept[i].isSuccess() && kept[i].id() == id + i ? 0 : 1;
            }
        }
        return bad;
    }
}

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

/** The queues of a program in Java, and what it does with them: the steps of the rows, as a user writes them. */
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
    Step standing() {
        return standing(filled(1));
    }

    private Step standing(SendBatch batch) {
        return new Step() {
            @Override
            public long once(long id) {
                batch.id(id).post();
                return takeOne(done, id);
            }
        };
    }

    Step reads() {
        return standing(pair.sendBatch(1).read(0, local, remote));
    }

    Step single() {
        return new Step() {
            @Override
            public long once(long id) {
                pair.postWrite(id, local, remote);
                return takeOne(done, id);
            }
        };
    }

    /** As {@link #single}, from and to other memory each time. */
    Step slices() {
        return new Step() {
            @Override
            public long once(long id) {
                int slice = (int) id % SLICES;
                pair.postWrite(id, locals[slice], remotes[slice]);
                return takeOne(done, id);
            }
        };
    }

    Step rebuilt() {
        SendBatch batch = pair.sendBatch(1);
        return new Step() {
            @Override
            public long once(long id) {
                batch.clear().write(id, local, remote).post();
                return takeOne(done, id);
            }
        };
    }

    Step batch16() {
        return batches(BATCH);
    }

    Step batch64() {
        return batches(MAX);
    }

    private Step batches(int size) {
        SendBatch batch = filled(size);
        return new Step() {
            @Override
            public long once(long id) {
                for (int i = 0; i < size; i++) {
                    batch.id(i, id + i);
                }
                batch.post();
                return takeBatch(many, size, id);
            }
        };
    }

    Step batch16Rebuilt() {
        SendBatch batch = pair.sendBatch(BATCH);
        return new Step() {
            @Override
            public long once(long id) {
                batch.clear();
                for (int i = 0; i < BATCH; i++) {
                    batch.write(id + i, local, remote);
                }
                batch.post();
                return takeBatch(many, BATCH, id);
            }
        };
    }

    Step batch16Slices() {
        SendBatch batch = pair.sendBatch(BATCH);
        return new Step() {
            @Override
            public long once(long id) {
                batch.clear();
                for (int i = 0; i < BATCH; i++) {
                    int slice = (int) (id + i) % SLICES;
                    batch.write(id + i, locals[slice], remotes[slice]);
                }
                batch.post();
                return takeBatch(many, BATCH, id);
            }
        };
    }

    Step receive() {
        ReceiveBatch batch = pair.receiveBatch(1).receive(0, local);
        return new Step() {
            @Override
            public long once(long id) {
                batch.id(id).post();
                return takeOne(received, id);
            }
        };
    }

    Step emptyPoll() {
        return new Step() {
            @Override
            public long once(long id) {
                return done.poll();
            }
        };
    }

    Step extendedQueue() {
        SendBatch batch = filled(1);
        ExtendedCompletions extended = (ExtendedCompletions) done;
        return new Step() {
            @Override
            public long once(long id) {
                batch.id(id).post();
                return takeOne(extended, id) + (extended.byteLength() == LENGTH ? 0 : 1);
            }
        };
    }

    /** Three callbacks by turns, so that none of their calls is inlined. */
    Step callbacks() {
        SendBatch batch = filled(BATCH);
        List<Consumer<Completions>> callbacks = List.of(this::first, this::second, this::third);
        return new Step() {
            @Override
            public long once(long id) {
                wrong = 0;
                for (int i = 0; i < BATCH; i++) {
                    batch.id(i, id + i);
                }
                batch.post();
                expected = id;
                for (int left = BATCH; left > 0; ) {
                    left -= many.poll();
                    for (int k = 0; many.next(); k = k == 2 ? 0 : k + 1) {
                        callbacks.get(k).accept(many);
                    }
                }
                return wrong;
            }
        };
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

    Step records() {
        SendBatch batch = filled(BATCH);
        WorkCompletion[] kept = new WorkCompletion[MAX];
        return new Step() {
            @Override
            public long once(long id) {
                for (int i = 0; i < BATCH; i++) {
                    batch.id(i, id + i);
                }
                batch.post();
                int count = 0;
                while (count < BATCH) {
                    many.poll();
                    while (many.next()) {
                        kept[count++] = many.completion();
                    }
                }
                long bad = 0;
                for (int i = 0; i < BATCH; i++) {
                    bad += kept[i].isSuccess() && kept[i].id() == id + i ? 0 : 1;
                }
                return bad;
            }
        };
    }
}

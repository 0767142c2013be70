package dev.verbena.bench;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.bench.Row.Change;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairOptions.OfferedOperation;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;

/** The public API, as a user calls it. */
final class Verbena extends Subject {
    private final QueuePair pair;
    private final LocalMemory[] locals;
    private final RemoteMemory[] remotes;
    private final SendBatch sends;
    private final ReceiveBatch receives;
    private final Completions done;

    Verbena(Device device, VerbsArena arena, int gidIndex) {
        Context context = device.open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueueOptions plain = CompletionQueueOptions.of(DEPTH);
        CompletionQueue sent =
                context.createCompletionQueue(EXTENDED_QUEUE ? plain.fields(CompletionField.BYTE_LENGTH) : plain);
        CompletionQueue received = ROW.is(Row.Kind.ONE_QUEUE) ? sent : context.createCompletionQueue(DEPTH);
        QueuePairOptions options = QueuePair.rc(sent, received)
                .sendDepth(DEPTH)
                .receiveDepth(DEPTH)
                .gidIndex(gidIndex);
        options = INLINE ? options.inlineSize(LENGTH) : options;
        pair = domain.createQueuePair(EXTENDED_PAIR ? options.operations(OfferedOperation.RDMA_WRITE) : options);
        pair.connect(pair.endpoint());
        MemoryRegion region = domain.register(arena.allocate(8192, 4096), LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ);
        locals = new LocalMemory[SLICES];
        remotes = new RemoteMemory[SLICES];
        for (int i = 0; i < SLICES; i++) {
            locals[i] = region.slice(i * LENGTH, LENGTH);
            remotes[i] = region.slice(4096 + i * LENGTH, LENGTH).remote();
        }
        sends = pair.sendBatch(SIZE);
        for (int i = 0; i < SIZE; i++) {
            if (READS) {
                sends.read(i, locals[0], remotes[0]);
            } else if (INLINE) {
                sends.writeInline(i, region.segment().asSlice(0, LENGTH), remotes[0]);
            } else {
                sends.write(i, locals[0], remotes[0]);
            }
        }
        receives = pair.receiveBatch(1).receive(0, locals[0]);
        done = EXTENDED_QUEUE ? sent.extendedCompletions(SIZE) : (RECEIVES ? received : sent).completions(SIZE);
    }

    @Override
    long turn(long id) {
        return posts(pair, sends, receives, locals, remotes, id) + takes(done, id);
    }

    @Override
    long run(int operations) {
        return run(pair, sends, receives, locals, remotes, done, operations);
    }

    @Override
    long posts(long id) {
        return posts(pair, sends, receives, locals, remotes, id);
    }

    @Override
    long takes(long id) {
        return takes(done, id);
    }

    @Override
    long half(boolean posts, long from, int operations) {
        return posts ? posts(pair, sends, receives, locals, remotes, from, operations) : takes(done, from, operations);
    }

    private static long posts(
            QueuePair to,
            SendBatch batch,
            ReceiveBatch receive,
            LocalMemory[] here,
            RemoteMemory[] there,
            long from,
            int operations) {
        long bad = 0;
        for (long id = from; id < from + operations; id += SIZE) {
            bad += posts(to, batch, receive, here, there, id);
        }
        return bad;
    }

    private static long takes(Completions done, long from, int operations) {
        long bad = 0;
        for (long id = from; id < from + operations; id += SIZE) {
            bad += takes(done, id);
        }
        return bad;
    }

    private static long run(
            QueuePair to,
            SendBatch batch,
            ReceiveBatch receive,
            LocalMemory[] here,
            RemoteMemory[] there,
            Completions from,
            int operations) {
        long bad = 0;
        if (AHEAD > 0) {
            for (long id = 0; id < operations + AHEAD; id++) {
                bad += id < operations ? posts(to, batch, receive, here, there, id) : 0;
                bad += id >= AHEAD ? takes(from, id - AHEAD) : 0;
            }
            return bad;
        }
        for (long id = 0; id < operations; id += SIZE) {
            bad += posts(to, batch, receive, here, there, id) + takes(from, id);
        }
        return bad;
    }

    private static long posts(
            QueuePair to, SendBatch batch, ReceiveBatch receive, LocalMemory[] here, RemoteMemory[] there, long id) {
        if (CHANGE == Change.NOTHING) {
            return 0;
        }
        if (RECEIVES) {
            receive.id(id).post();
        } else if (CHANGE == Change.CALL) {
            call(to, here, there, id);
        } else {
            post(batch, here, there, id);
        }
        return 0;
    }

    private static long takes(Completions from, long id) {
        if (CHANGE == Change.NOTHING) {
            return from.poll();
        }
        return SIZE == 1 ? takeOne(from, id) : takeBatch(from, id);
    }

    private static void call(QueuePair to, LocalMemory[] here, RemoteMemory[] there, long id) {
        int slice = (int) id % SLICES;
        if (RANGES) {
            to.postWrite(id, here[slice], 0, LENGTH, there[slice]);
        } else {
            to.postWrite(id, here[slice], there[slice]);
        }
    }

    private static void post(SendBatch batch, LocalMemory[] here, RemoteMemory[] there, long id) {
        if (CHANGE == Change.REQUEST) {
            batch.clear();
            for (int i = 0; i < SIZE; i++) {
                int slice = (int) (id + i) % SLICES;
                batch.write(id + i, here[slice], there[slice]);
            }
        } else if (SIZE == 1) {
            batch.id(id).post();
            return;
        } else {
            for (int i = 0; i < SIZE; i++) {
                batch.id(i, id + i);
            }
        }
        batch.post();
    }

    private static long takeOne(Completions from, long id) {
        while (from.poll() == 0) {
            // spin, as the loop in C does
        }
        from.next();
        if (EXTENDED_QUEUE && from.byteLength() > LENGTH) {
            return 1; // less where ibv_poll_cq does the same: libmlx5 then tells the length of no write
        }
        return from.isSuccess() && from.id() == id ? 0 : 1;
    }

    private static long takeBatch(Completions from, long firstId) {
        long bad = 0;
        long id = firstId;
        for (int left = SIZE; left > 0; ) {
            left -= from.poll();
            while (from.next()) {
                bad += from.isSuccess() && from.id() == id++ ? 0 : 1;
            }
        }
        return bad;
    }
}

package dev.verbena.bench;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Opens the device, connects a queue pair to itself, posts a write and polls its completion, as a first program does. */
final class FirstCompletion {
    private static final int LENGTH = 64;
    private static final String REGISTERED = "registered in nanoseconds: ";

    private FirstCompletion() {}

    /** Takes no arguments. */
    public static void main(String[] args) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Device.first().open(arena);
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionQueue queue = context.createCompletionQueue(LENGTH);
            QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
            pair.connect(pair.endpoint());
            MemorySegment memory = arena.allocate(2 * LENGTH, LENGTH);
            long before = System.nanoTime();
            MemoryRegion region = domain.register(memory, LOCAL_WRITE, REMOTE_WRITE);
            long after = System.nanoTime();
            pair.postWrite(
                    1, region.slice(0, LENGTH), region.slice(LENGTH, LENGTH).remote());
            Completions done = queue.completions(1);
            while (done.poll() == 0) {
                Thread.onSpinWait();
            }
            done.next();
            if (!done.isSuccess() || done.id() != 1) {
                throw new AssertionError("the first completion is not what was posted");
            }
            System.out.print(REGISTERED); // the first concatenation of a program takes milliseconds
            System.out.println(after - before);
        }
    }

    /** Returns the milliseconds that a run registered memory for, from its output; 0 for another program's output. */
    static double registering(List<String> output) {
        for (String line : output) {
            if (line.startsWith(REGISTERED)) {
                return Long.parseLong(line.substring(REGISTERED.length())) / 1e6;
            }
        }
        return 0;
    }
}

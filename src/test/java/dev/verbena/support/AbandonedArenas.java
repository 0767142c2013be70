package dev.verbena.support;

import dev.verbena.VerbsArena;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;

/** A program for {@link ChildJvm}: closes confined arenas with memory whose threads have ended. */
public final class AbandonedArenas {
    private static final int ARENAS = 16;
    private static final long SIZE = 16 << 20;

    private AbandonedArenas() {}

    /** Returns the bytes of memory that this process uses. */
    private static long resident() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) << 10;
            }
        }
        throw new AssertionError("no VmRSS");
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        long before = resident();
        for (int i = 0; i < ARENAS; i++) {
            AtomicReference<VerbsArena> arena = new AtomicReference<>();
            AtomicReference<Throwable> failure = new AtomicReference<>();
            Thread thread = Thread.ofPlatform().start(() -> {
                try {
                    arena.set(VerbsArena.ofConfined());
                    arena.get().allocate(SIZE);
                } catch (Throwable t) {
                    failure.set(t);
                }
            });
            Await.end(thread);
            if (failure.get() != null) {
                throw new AssertionError("arena " + i, failure.get());
            }
            arena.get().close();
        }
        System.out.println("grown by " + (resident() - before) + " of " + ARENAS * SIZE);
        if (resident() - before > ARENAS * SIZE / 2) {
            throw new AssertionError("the memory was not freed");
        }
    }
}

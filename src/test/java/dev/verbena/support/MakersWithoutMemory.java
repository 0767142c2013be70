package dev.verbena.support;

import dev.verbena.VerbsArena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A program for {@link ChildJvm} on the provider for tests. Uses up the direct memory while C makes an object, so that the
 * maker fails afterwards; then leaves room for one allocation more each time, until the maker succeeds. Prints how often
 * each maker has failed, and what is left. The argument is the limit of direct memory in bytes.
 */
public final class MakersWithoutMemory {
    private MakersWithoutMemory() {}

    public static void main(String[] arguments) throws InterruptedException {
        long limit = Long.parseLong(arguments[0]);
        int before = Fenced.liveObjects();
        for (Makers.Maker maker : Makers.all()) {
            System.out.println(maker.name() + " failed " + failures(maker, limit));
        }
        System.out.println("left " + (Fenced.liveObjects() - before) + " objects and " + Fenced.violations()
                + " violations " + Fenced.firstViolation());
    }

    private static int failures(Makers.Maker maker, long limit) throws InterruptedException {
        try (Makers parents = new Makers();
                VerbsArena arena = VerbsArena.ofShared()) {
            maker.make(parents, arena).close(); // loads what a first call loads
        }
        long room = 0;
        for (int failed = 0; ; failed++) {
            long missing = fail(maker, limit, room);
            if (missing == 0) {
                return failed;
            }
            room += missing;
        }
    }

    /** Makes an object with little room. Returns the number of bytes that were missing, 0 on success. */
    private static long fail(Makers.Maker maker, long limit, long room) throws InterruptedException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        try (Makers parents = new Makers();
                VerbsArena arena = VerbsArena.ofShared()) {
            maker.make(parents, arena).close(); // the parents are there from now on
            int before = Fenced.liveObjects();
            Fenced.stop(maker.function());
            Thread making = Thread.ofPlatform().start(() -> {
                try {
                    maker.make(parents, arena);
                } catch (Throwable t) {
                    failure.set(t);
                }
            });
            Fenced.awaitStopped(maker.function(), 1);
            MemorySegment rest = DirectMemory.takeAllBut(room, limit);
            Fenced.goOn(maker.function());
            making.join();
            Reference.reachabilityFence(rest);
            Throwable thrown = failure.get();
            if (thrown != null && Fenced.liveObjects() != before) {
                throw new AssertionError(maker + " has left an object in C", thrown);
            }
            return thrown == null ? 0 : DirectMemory.missing(thrown);
        }
    }
}

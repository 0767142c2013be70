package dev.verbena.support;

import dev.verbena.VerbsArena;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A program for {@link ChildJvm} on the provider for tests. Uses up the direct memory while C makes an object, so that the
 * maker fails afterwards; then leaves room for one allocation more each time, until the maker succeeds. Prints how often
 * each maker has failed, and what is left. The argument is the limit of direct memory in bytes.
 */
public final class MakersWithoutMemory {
    private static final Pattern REFUSED = Pattern.compile(
            "Cannot reserve (\\d+) bytes of direct buffer memory \\(allocated: (\\d+), limit: (\\d+)\\)");

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
            freeGarbage();
            MemorySegment rest = Arena.ofAuto().allocate(limit - used() - room, 1);
            Fenced.goOn(maker.function());
            making.join();
            Reference.reachabilityFence(rest);
            Throwable thrown = failure.get();
            if (thrown != null && Fenced.liveObjects() != before) {
                throw new AssertionError(maker + " has left an object in C", thrown);
            }
            return thrown == null ? 0 : missing(thrown);
        }
    }

    /** Frees the memory of automatic arenas that are garbage. Only these arenas count as direct memory. */
    private static void freeGarbage() {
        for (int i = 0; i < 2; i++) {
            long size = 1 << 16;
            Arena.ofAuto().allocate(size);
            long before = used();
            Await.until("memory to be freed", () -> {
                System.gc();
                return used() <= before - size;
            });
        }
    }

    private static long used() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
    }

    private static long missing(Throwable thrown) {
        Matcher refused = REFUSED.matcher(String.valueOf(thrown.getMessage()));
        if (!(thrown instanceof OutOfMemoryError) || !refused.matches()) {
            throw new AssertionError("not for want of direct memory", thrown);
        }
        long wanted = Long.parseLong(refused.group(1));
        return wanted - (Long.parseLong(refused.group(3)) - Long.parseLong(refused.group(2)));
    }
}

package dev.verbena.support;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Direct memory, which {@code -XX:MaxDirectMemorySize} limits. Only automatic arenas and direct buffers take it. */
final class DirectMemory {
    private static final Pattern REFUSED = Pattern.compile(
            "Cannot reserve (\\d+) bytes of direct buffer memory \\(allocated: (\\d+), limit: (\\d+)\\)");

    private DirectMemory() {}

    /** Takes all direct memory but some. The memory is taken as long as the result is reachable. */
    static MemorySegment takeAllBut(long room, long limit) {
        freeGarbage();
        return Arena.ofAuto().allocate(limit - used() - room, 1);
    }

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

    /** Returns the number of bytes that were missing when something failed for want of direct memory. */
    static long missing(Throwable thrown) {
        Matcher refused = REFUSED.matcher(String.valueOf(thrown.getMessage()));
        if (!(thrown instanceof OutOfMemoryError) || !refused.matches()) {
            throw new AssertionError("not for want of direct memory", thrown);
        }
        long wanted = Long.parseLong(refused.group(1));
        return wanted - (Long.parseLong(refused.group(3)) - Long.parseLong(refused.group(2)));
    }
}

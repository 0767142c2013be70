package dev.verbena.internal;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Notes in which order threads take locks, and throws where one order contradicts another: two threads could then wait for
 * each other for ever. For tests: the property {@code dev.verbena.lockOrder} turns it on, and locks have no biases then.
 *
 * <p>Locks that one line makes are one lock here, except among themselves. The locks of objects are named after the class of
 * the object.
 */
public final class LockOrder {
    /** True if orders are noted. */
    public static final boolean ON = Boolean.getBoolean("dev.verbena.lockOrder");

    private static final Set<String> MAKERS = Set.of("LockOrder", "Mutex", "BiasedLock", "ArenaLifetime", "VerbsArena");

    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    /** The locks that were wanted by a thread that had one, with the place where this was seen first. The class guards this. */
    private static final Map<String, Map<String, Throwable>> LATER = new HashMap<>();

    /** The locks that a thread has taken. It may have given some back. */
    private static final ThreadLocal<List<Mutex>> TAKEN = ThreadLocal.withInitial(ArrayList::new);

    private LockOrder() {}

    /** Returns the line that makes a lock, or an arena with its lock. */
    static String maker() {
        return WALKER.walk(frames -> frames.filter(
                        frame -> !MAKERS.contains(frame.getDeclaringClass().getSimpleName()))
                .findFirst()
                .map(frame -> frame.getDeclaringClass().getSimpleName() + ":" + frame.getLineNumber())
                .orElse(""));
    }

    /** Notes that this thread has taken a lock. */
    static void took(Mutex lock) {
        List<Mutex> taken = TAKEN.get();
        if (!taken.contains(lock)) {
            taken.add(lock);
        }
    }

    /** Notes that this thread is about to wait for a lock. Throws if another thread may wait the other way round. */
    static void wants(Mutex lock) {
        List<Mutex> taken = TAKEN.get();
        taken.removeIf(each -> !each.isHeldByCurrentThread());
        if (lock.isHeldByCurrentThread()) {
            return;
        }
        for (Mutex held : taken) {
            boolean alike = held.name().equals(lock.name());
            note(name(held, alike), name(lock, alike));
        }
    }

    private static String name(Mutex lock, boolean amongItsLike) {
        return amongItsLike ? lock.name() + " " + Integer.toHexString(System.identityHashCode(lock)) : lock.name();
    }

    private static synchronized void note(String held, String wanted) {
        Map<String, Throwable> after = LATER.computeIfAbsent(held, key -> new LinkedHashMap<>());
        if (after.containsKey(wanted)) {
            return;
        }
        Throwable before = find(wanted, held, new HashSet<>());
        AssertionError here = new AssertionError("lock of " + wanted + " is taken after that of " + held);
        if (before != null) {
            here.addSuppressed(before);
            here.printStackTrace(); // the thread may be one that goes on
            throw here;
        }
        after.put(wanted, here);
    }

    /** Returns the first step of a way from one lock to another; null if there is none. */
    private static @Nullable Throwable find(String from, String to, Set<String> seen) {
        for (Map.Entry<String, Throwable> step :
                LATER.getOrDefault(from, Map.of()).entrySet()) {
            String next = step.getKey();
            if (next.equals(to) || (seen.add(next) && find(next, to, seen) != null)) {
                return step.getValue();
            }
        }
        return null;
    }
}

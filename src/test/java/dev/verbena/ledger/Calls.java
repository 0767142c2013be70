package dev.verbena.ledger;

import java.io.Serializable;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The counts of one C function: calls and refusals. Only a process with {@link CallHooks} in its classes counts. */
final class Calls {
    private static final ConcurrentHashMap<String, Calls> BY_NAME = new ConcurrentHashMap<>();

    private final String function;
    private final AtomicInteger made = new AtomicInteger();
    private int refused;
    private @Nullable Refusal refusal;

    private Calls(String function) {
        this.function = function;
    }

    /**
     * A function's refusal.
     *
     * @param unsupported whether the device, the kernel or the library lacks the function; otherwise its arguments were
     *     wrong
     * @param message the message of the exception
     */
    record Refusal(boolean unsupported, String message) implements Serializable {}

    /**
     * A function's counts at one moment.
     *
     * @param made the calls
     * @param failed the refusals; also those without a call, as when the function is missing
     * @param refusal the last of them
     */
    record Count(int made, int failed, @Nullable Refusal refusal) {}

    /** Returns the counter of a function. */
    static Calls of(String function) {
        return BY_NAME.computeIfAbsent(function, Calls::new);
    }

    /** Returns the C name. */
    String function() {
        return function;
    }

    /** Counts a call. Allocates nothing: the data path comes here. */
    void one() {
        made.getAndIncrement();
    }

    /** Counts a refusal. */
    synchronized void refused(boolean unsupported, @Nullable String message) {
        refused++;
        refusal = new Refusal(unsupported, message == null ? "" : message);
    }

    private synchronized Count count() {
        return new Count(made.get(), refused, refusal);
    }

    /** Returns all counts so far, by the function's name. */
    static Map<String, Count> all() {
        Map<String, Count> all = new TreeMap<>();
        BY_NAME.forEach((name, calls) -> all.put(name, calls.count()));
        return all;
    }
}

package dev.verbena.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * How often a C function was called and how often it refused, for the ledger that a test run writes. Only a process with
 * the ledger's property counts: in all others {@link #COUNTED} is a constant that leaves nothing of this in compiled code.
 */
public final class Calls {
    /** The system property that names the ledger's file. */
    public static final String PROPERTY = "dev.verbena.ledger";

    /** Whether this process counts. */
    public static final boolean COUNTED = System.getProperty(PROPERTY) != null;

    private static final Calls NOWHERE = new Calls();
    private static final ConcurrentHashMap<String, Calls> BY_NAME = new ConcurrentHashMap<>();
    private static final VarHandle MADE = made();

    private volatile int made;
    private volatile int failed;
    private volatile @Nullable Refusal refusal;

    private Calls() {}

    /**
     * That a function said no, and why.
     *
     * @param unsupported whether because it can't be done here; otherwise because of its arguments
     * @param message what the exception said
     */
    public record Refusal(boolean unsupported, String message) {}

    /**
     * What one function came to.
     *
     * @param made the calls
     * @param failed those that ended with an exception; also refusals without a call, as when the function is missing
     * @param refusal the last of them
     */
    public record Count(int made, int failed, @Nullable Refusal refusal) {}

    /** The counter of a function. Keep it in a constant: looking it up allocates. */
    public static Calls of(String function) {
        return COUNTED ? BY_NAME.computeIfAbsent(function, name -> new Calls()) : NOWHERE;
    }

    /** One more call is about to be made. Allocates nothing, so that the data path can say it too. */
    public void one() {
        if (COUNTED) {
            MADE.getAndAdd(this, 1);
        }
    }

    /** A function said no. */
    public static void refused(String function, boolean unsupported, @Nullable String message) {
        if (COUNTED) {
            Calls calls = of(function);
            synchronized (calls) {
                calls.failed++;
                calls.refusal = new Refusal(unsupported, message == null ? "" : message);
            }
        }
    }

    /** All counts so far. */
    public static Map<String, Count> all() {
        Map<String, Count> all = new TreeMap<>();
        BY_NAME.forEach((name, calls) -> all.put(name, new Count(calls.made, calls.failed, calls.refusal)));
        return all;
    }

    private static VarHandle made() {
        try {
            return MethodHandles.lookup().findVarHandle(Calls.class, "made", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}

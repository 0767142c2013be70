package dev.verbena.support;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.access.VerbsAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Assumptions;

/** The controls of the provider for tests (src/test/c/fenced.c): faults on demand, and what the provider has seen. */
public final class Fenced {
    private static final int LEFT_BYTES = 1024;

    private static int allowed;
    /** The names of functions in native memory: these methods work when no memory is left. */
    private static final Map<String, MemorySegment> NAMES = new ConcurrentHashMap<>();

    private Fenced() {}

    private static MemorySegment name(String function) {
        return NAMES.computeIfAbsent(function, Arena.global()::allocateFrom);
    }

    /** Returns true if this JVM runs on the provider for tests. */
    public static boolean isLoaded() {
        return Boolean.getBoolean("dev.verbena.fenced");
    }

    /** Makes the nth call of a function from now on, counted from 1, fail with an error number. */
    public static void fail(String function, int nth, int errno) {
        try {
            Functions.FAIL.invokeExact(name(function), nth, errno);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Makes the nth call of any function from now on fail, but for those that look for news or take memory back. */
    public static void failAny(long nth, int errno) {
        failAny(nth, errno, 0);
    }

    /**
     * Has connections end before the nth call of any function from now on, but for the same ones. No event tells it.
     *
     * @param sides 1 for those that have connected, 2 for those that have accepted, 3 for both
     */
    public static void loseBeforeAny(long nth, int sides) {
        failAny(nth, 0, sides);
    }

    private static void failAny(long nth, int errno, int sides) {
        try {
            Functions.FAIL_ANY.invokeExact(nth, errno, sides);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Returns the name of the function that the fault of any function has hit; empty before. */
    public static String hit() {
        try {
            MemorySegment name = (MemorySegment) Functions.HIT.invokeExact();
            return name.address() == 0 ? "" : name.reinterpret(64).getString(0);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Makes each call of a function wait before it does its work; 0 ends that. */
    public static void delay(String function, long micros) {
        try {
            Functions.DELAY.invokeExact(name(function), micros);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Makes all functions that make an object fail for want of memory, or ends that. */
    public static void outOfMemory(boolean on) {
        try {
            Functions.OUT_OF_MEMORY.invokeExact(on ? 1 : 0);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Raises an asynchronous event of a queue pair, with a number of {@code enum ibv_event_type}. */
    public static void raise(Context context, int type, QueuePair pair) {
        try {
            int result = (int) Functions.RAISE.invokeExact(VerbsAccess.get().address(context), type, pair.number());
            assert result == 0 : "no such queue pair";
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Raises an asynchronous event of port 1, with a number of {@code enum ibv_event_type}. */
    public static void raise(Context context, int type) {
        try {
            int result = (int) Functions.RAISE.invokeExact(VerbsAccess.get().address(context), type, 0);
            assert result == 0 : "no such context";
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Raises an asynchronous event of any element: the address of an object in C, or the number of a port. */
    public static void raise(Context context, int type, long element) {
        try {
            Functions.RAISE_OF.invokeExact(VerbsAccess.get().address(context), type, element);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /**
     * Stops calls of a function when they come, until {@link #goOn}. Never stop a function that is called critically. A
     * call that is stopped for half a minute goes on, and is a violation.
     */
    public static void stop(String function) {
        named(Functions.STOP, function);
    }

    /** Lets calls of a function go on. */
    public static void goOn(String function) {
        named(Functions.GO_ON, function);
    }

    private static void named(MethodHandle handle, String function) {
        try {
            handle.invokeExact(name(function));
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Waits until calls of a stopped function have come. */
    public static void awaitStopped(String function, int calls) {
        Await.until(calls + " stopped calls of " + function, () -> stopped(function) >= calls);
    }

    /** Returns the number of calls of a stopped function that have come. */
    public static int stopped(String function) {
        return count(Functions.WAITING, function);
    }

    /** Returns the number of calls of a function since {@link #calm}. */
    public static long calls(String function) {
        try {
            return (long) Functions.CALLS.invokeExact(name(function));
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private static int count(MethodHandle handle, String function) {
        try {
            return (int) handle.invokeExact(name(function));
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /**
     * Returns a copy of the struct or the arguments that a function was given last, also if it refused them: see
     * {@code keep_given} in src/test/c. The segment is empty if the function was not called since {@link #calm}.
     */
    public static MemorySegment given(String function) {
        MemorySegment into = Arena.ofAuto().allocate(1024, Long.BYTES);
        try {
            return into.asSlice(0, (long) Functions.GIVEN.invokeExact(name(function), into, into.byteSize()));
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Sets the answer to a query, a struct of C, until {@link #calm}: see {@code copy_answer} in src/test/c. */
    public static void answer(String function, MemorySegment struct) {
        try {
            Functions.ANSWER.invokeExact(name(function), struct, struct.byteSize());
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Sets the folder that the device has in {@code sysfs} until the device goes; empty for none, as at first. */
    public static void devicePath(String path) {
        named(Functions.DEVICE_PATH, path);
    }

    /** Sets the device's folder below {@code /sys/class/infiniband}, where an adapter has a driver; empty as at first. */
    public static void adapterPath(String path) {
        named(Functions.ADAPTER_PATH, path);
    }

    /**
     * Raises the event of a removed device for all ids of the connection manager that have the device.
     *
     * @param number 0, or 1 for the device of the addresses 10.9.8.0/24
     */
    public static void removeDevice(int number) {
        try {
            Functions.REMOVE_DEVICE.invokeExact(number);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Takes back all faults and answers, and sets the counts of calls to 0. */
    public static void calm() {
        try {
            Functions.CALM.invokeExact();
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Returns the number of C objects of all kinds that exist. */
    public static int liveObjects() {
        try {
            return (int) Functions.LIVE.invokeExact(-1);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Returns the kinds of C objects that exist, with their numbers. */
    public static String left() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(LEFT_BYTES);
            Functions.LEFT.invokeExact(text, text.byteSize());
            return text.getString(0);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Returns the number of things seen so far that must never happen. */
    public static int violations() {
        try {
            return (int) Functions.VIOLATIONS.invokeExact();
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Returns what a program leaves behind that ends now: the number of C objects and of violations. */
    public static String remains() {
        return liveObjects() + " objects and " + violations() + " violations";
    }

    /** Lets the test that calls this leave violations behind: it has made them on purpose. */
    public static void allowViolations(int count) {
        allowed = count;
    }

    /** Returns the number of violations that the test may leave behind, and sets it to 0. */
    static int takeAllowed() {
        int count = allowed;
        allowed = 0;
        return count;
    }

    /** Gives the next queue pair a number, which a closed one may have had. Later ones get the following numbers. */
    public static void nextNumber(int number) {
        try {
            Functions.NUMBER.invokeExact(number);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /**
     * Has the provider stand for a driver of an adapter, named as in src/test/c/fenced_drivers.c.
     *
     * @param name a name, such as {@code mana}; empty for the provider without a driver's limits
     * @throws IllegalStateException if objects of the device exist, whose owners know what it was
     */
    public static void driver(String name) {
        if (liveObjects() > 0) {
            throw new IllegalStateException("An earlier test has left objects of the device: " + left());
        }
        try (Arena arena = Arena.ofConfined()) {
            int result = (int) Functions.DRIVER.invokeExact(arena.allocateFrom(name));
            if (result != 0) {
                throw new AssertionError("no driver " + name);
            }
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Gives back the driver that the environment chose, or none. */
    public static void driverAsStarted() {
        driver(Objects.requireNonNullElse(System.getenv("VERBENA_DRIVER"), ""));
    }

    /** Leaves a test out that needs memory windows, if the environment has chosen a driver that lacks them. */
    public static void assumeWindows() {
        assumeNoLimit("memory windows");
    }

    /** Leaves a test out if the environment has chosen a driver with a limit that has these words. */
    public static void assumeNoLimit(String words) {
        if (System.getenv("VERBENA_DRIVER") != null) {
            Device.first().limits().stream()
                    .filter(limit -> limit.contains(words))
                    .forEach(limit -> Assumptions.abort("refused: " + limit));
        }
    }

    /** Leaves a test out if the environment has chosen the driver of an adapter. */
    public static void assumeSoftware(String otherwise) {
        Assumptions.assumeTrue(
                System.getenv("VERBENA_DRIVER") == null
                        || Device.first().driver().isEmpty(),
                otherwise);
    }

    /** Returns a description of the first violation. */
    public static String firstViolation() {
        try {
            MemorySegment text = (MemorySegment) Functions.FIRST.invokeExact();
            return text.reinterpret(512).getString(0);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Returns the number of sends that found no receive at the peer. */
    public static long receiverNotReady() {
        try {
            return (long) Functions.RNR.invokeExact();
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /**
     * Returns the latest value of an attribute that the library passed to a call, named as in
     * {@code ibv_create_cq_ex.comp_mask}: see src/test/c/fenced_seen.c. All bits are set if there was no such call.
     */
    public static long noted(String attribute) {
        try {
            return (long) Functions.NOTED.invokeExact(name(attribute));
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /**
     * Returns one of the latest 16 requests that queues accepted: a {@code struct ibv_send_wr}, with what follows it in
     * the provider.
     *
     * @param nth 1 for the last one, 2 for the one before
     */
    public static MemorySegment posted(int nth) {
        try {
            MemorySegment request = (MemorySegment) Functions.POSTED.invokeExact(nth);
            return request.reinterpret(1024);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Returns the offset of a part of {@link #posted}: 0 pieces, 1 data, 2 queue, 3 extended. */
    public static long offsetInPosted(int part) {
        try {
            return (long) Functions.OFFSET.invokeExact(part);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private static final class Functions {
        private static final SymbolLookup LIBRARY =
                SymbolLookup.libraryLookup(System.getProperty("dev.verbena.libibverbs"), Arena.global());
        private static final MethodHandle FAIL =
                link("fenced_fail", FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT, JAVA_INT));
        private static final MethodHandle FAIL_ANY =
                link("fenced_fail_any", FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_INT));
        private static final MethodHandle HIT = link("fenced_hit", FunctionDescriptor.of(ADDRESS));
        private static final MethodHandle DELAY = link("fenced_delay", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG));
        private static final MethodHandle STOP = link("fenced_stop", FunctionDescriptor.ofVoid(ADDRESS));
        private static final MethodHandle GO_ON = link("fenced_go_on", FunctionDescriptor.ofVoid(ADDRESS));
        private static final MethodHandle WAITING = link("fenced_waiting", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        private static final MethodHandle CALLS = link("fenced_calls", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
        private static final MethodHandle DEVICE_PATH = link("fenced_device_path", FunctionDescriptor.ofVoid(ADDRESS));
        private static final MethodHandle ADAPTER_PATH =
                link("fenced_adapter_path", FunctionDescriptor.ofVoid(ADDRESS));
        private static final MethodHandle REMOVE_DEVICE =
                link("fenced_remove_device", FunctionDescriptor.ofVoid(JAVA_INT));
        private static final MethodHandle CALM = link("fenced_calm", FunctionDescriptor.ofVoid());
        private static final MethodHandle RAISE_OF =
                link("fenced_raise_of", FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG));
        private static final MethodHandle GIVEN =
                link("fenced_given", FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG));
        private static final MethodHandle ANSWER =
                link("fenced_answer", FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, JAVA_LONG));
        private static final MethodHandle DRIVER = link("fenced_driver", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        private static final MethodHandle NUMBER = link("fenced_number", FunctionDescriptor.ofVoid(JAVA_INT));
        private static final MethodHandle LIVE = link("fenced_live", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
        private static final MethodHandle LEFT = link("fenced_left", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG));
        private static final MethodHandle VIOLATIONS = link("fenced_violations", FunctionDescriptor.of(JAVA_INT));
        private static final MethodHandle FIRST = link("fenced_first_violation", FunctionDescriptor.of(ADDRESS));
        private static final MethodHandle OUT_OF_MEMORY =
                link("fenced_out_of_memory", FunctionDescriptor.ofVoid(JAVA_INT));
        private static final MethodHandle RAISE =
                link("fenced_raise", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT));
        private static final MethodHandle NOTED = link("fenced_noted", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
        private static final MethodHandle POSTED = link("fenced_posted", FunctionDescriptor.of(ADDRESS, JAVA_INT));
        private static final MethodHandle OFFSET =
                link("fenced_posted_offset", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
        private static final MethodHandle RNR = link("fenced_rnr", FunctionDescriptor.of(JAVA_LONG));

        private static MethodHandle link(String name, FunctionDescriptor shape) {
            return Linker.nativeLinker().downcallHandle(LIBRARY.find(name).orElseThrow(), shape);
        }
    }
}

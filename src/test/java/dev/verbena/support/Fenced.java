package dev.verbena.support;

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
import java.lang.ref.Reference;
import java.util.Locale;
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

    private static long name(String function) {
        return NAMES.computeIfAbsent(function, Arena.global()::allocateFrom).address();
    }

    /** Returns true if this JVM runs on the provider for tests. */
    public static boolean isLoaded() {
        return Boolean.getBoolean("dev.verbena.fenced");
    }

    /** Makes the nth call of a function from now on, counted from 1, fail with an error number. */
    public static void fail(String function, int nth, int errno) {
        call(Function.FAIL, name(function), nth, errno);
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
        call(Function.FAIL_ANY, nth, errno, sides);
    }

    /** Returns the name of the function that the fault of any function has hit; empty before. */
    public static String hit() {
        long name = call(Function.HIT, 0, 0, 0);
        return name == 0 ? "" : at(name, 64).getString(0);
    }

    /** Makes each call of a function wait before it does its work; 0 ends that. */
    public static void delay(String function, long micros) {
        call(Function.DELAY, name(function), micros, 0);
    }

    /** Makes all functions that make an object fail for want of memory, or ends that. */
    public static void outOfMemory(boolean on) {
        call(Function.OUT_OF_MEMORY, on ? 1 : 0, 0, 0);
    }

    /** Raises an asynchronous event of a queue pair, with a number of {@code enum ibv_event_type}. */
    public static void raise(Context context, int type, QueuePair pair) {
        int result = (int) call(Function.RAISE, VerbsAccess.get().address(context), type, pair.number());
        assert result == 0 : "no such queue pair";
    }

    /** Raises an asynchronous event of port 1, with a number of {@code enum ibv_event_type}. */
    public static void raise(Context context, int type) {
        int result = (int) call(Function.RAISE, VerbsAccess.get().address(context), type, 0);
        assert result == 0 : "no such context";
    }

    /** Raises an asynchronous event of any element: the address of an object in C, or the number of a port. */
    public static void raise(Context context, int type, long element) {
        call(Function.RAISE_OF, VerbsAccess.get().address(context), type, element);
    }

    /**
     * Stops calls of a function when they come, until {@link #goOn}. Never stop a function that is called critically. A
     * call that is stopped for half a minute goes on, and is a violation.
     */
    public static void stop(String function) {
        call(Function.STOP, name(function), 0, 0);
    }

    /** Lets calls of a function go on. */
    public static void goOn(String function) {
        call(Function.GO_ON, name(function), 0, 0);
    }

    /** Waits until calls of a stopped function have come. */
    public static void awaitStopped(String function, int calls) {
        Await.until(calls + " stopped calls of " + function, () -> stopped(function) >= calls);
    }

    /** Returns the number of calls of a stopped function that have come. */
    public static int stopped(String function) {
        return (int) call(Function.WAITING, name(function), 0, 0);
    }

    /** Returns the number of calls of a function since {@link #calm}. */
    public static long calls(String function) {
        return call(Function.CALLS, name(function), 0, 0);
    }

    /**
     * Returns a copy of the struct or the arguments that a function was given last, also if it refused them: see
     * {@code keep_given} in src/test/c. The segment is empty if the function was not called since {@link #calm}.
     */
    public static MemorySegment given(String function) {
        MemorySegment into = Arena.ofAuto().allocate(1024, Long.BYTES);
        return into.asSlice(0, call(Function.GIVEN, name(function), into.address(), into.byteSize()));
    }

    /** Sets the answer to a query, a struct of C, until {@link #calm}: see {@code copy_answer} in src/test/c. */
    public static void answer(String function, MemorySegment struct) {
        call(Function.ANSWER, name(function), struct.address(), struct.byteSize());
        Reference.reachabilityFence(struct);
    }

    /** Sets the folder that the device has in {@code sysfs} until the device goes; empty for none, as at first. */
    public static void devicePath(String path) {
        call(Function.DEVICE_PATH, name(path), 0, 0);
    }

    /** Sets the device's folder below {@code /sys/class/infiniband}, where an adapter has a driver; empty as at first. */
    public static void adapterPath(String path) {
        call(Function.ADAPTER_PATH, name(path), 0, 0);
    }

    /**
     * Raises the event of a removed device for all ids of the connection manager that have the device.
     *
     * @param number 0, or 1 for the device of the addresses 10.9.8.0/24
     */
    public static void removeDevice(int number) {
        call(Function.REMOVE_DEVICE, number, 0, 0);
    }

    /** Takes back all faults and answers, and sets the counts of calls to 0. */
    public static void calm() {
        call(Function.CALM, 0, 0, 0);
    }

    /** Returns the number of C objects of all kinds that exist. */
    public static int liveObjects() {
        return (int) call(Function.LIVE, -1, 0, 0);
    }

    /** Returns the kinds of C objects that exist, with their numbers. */
    public static String left() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(LEFT_BYTES);
            call(Function.LEFT, text.address(), text.byteSize(), 0);
            return text.getString(0);
        }
    }

    /** Returns the number of things seen so far that must never happen. */
    public static int violations() {
        return (int) call(Function.VIOLATIONS, 0, 0, 0);
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
        call(Function.NUMBER, number, 0, 0);
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
            if ((int) call(Function.DRIVER, arena.allocateFrom(name).address(), 0, 0) != 0) {
                throw new AssertionError("no driver " + name);
            }
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
        return at(call(Function.FIRST_VIOLATION, 0, 0, 0), 512).getString(0);
    }

    /** Returns the number of sends that found no receive at the peer. */
    public static long receiverNotReady() {
        return call(Function.RNR, 0, 0, 0);
    }

    /**
     * Returns the latest value of an attribute that the library passed to a call, named as in
     * {@code ibv_create_cq_ex.comp_mask}: see src/test/c/fenced_seen.c. All bits are set if there was no such call.
     */
    public static long noted(String attribute) {
        return call(Function.NOTED, name(attribute), 0, 0);
    }

    /**
     * Returns one of the latest 16 requests that queues accepted: a {@code struct ibv_send_wr}, with what follows it in
     * the provider.
     *
     * @param nth 1 for the last one, 2 for the one before
     */
    public static MemorySegment posted(int nth) {
        return at(call(Function.POSTED, nth, 0, 0), 1024);
    }

    /** Returns the offset of a part of {@link #posted}: 0 pieces, 1 data, 2 queue, 3 extended. */
    public static long offsetInPosted(int part) {
        return call(Function.POSTED_OFFSET, part, 0, 0);
    }

    private static MemorySegment at(long address, long bytes) {
        return MemorySegment.ofAddress(address).reinterpret(bytes);
    }

    /** Calls a function. Each argument has a register of its own, whatever its type is in C: see {@code CFunction}. */
    private static long call(Function function, long first, long second, long third) {
        try {
            return (long) Function.HANDLE.invokeExact(function.address, first, second, third);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** The controls in C. */
    private enum Function {
        ADAPTER_PATH,
        ANSWER,
        CALLS,
        CALM,
        DELAY,
        DEVICE_PATH,
        DRIVER,
        FAIL,
        FAIL_ANY,
        FIRST_VIOLATION,
        GIVEN,
        GO_ON,
        HIT,
        LEFT,
        LIVE,
        NOTED,
        NUMBER,
        OUT_OF_MEMORY,
        POSTED,
        POSTED_OFFSET,
        RAISE,
        RAISE_OF,
        REMOVE_DEVICE,
        RNR,
        STOP,
        VIOLATIONS,
        WAITING;

        static final MethodHandle HANDLE =
                Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));

        final MemorySegment address = SymbolLookup.libraryLookup(
                        System.getProperty("dev.verbena.libibverbs"), Arena.global())
                .find("fenced_" + name().toLowerCase(Locale.ROOT))
                .orElseThrow();
    }
}

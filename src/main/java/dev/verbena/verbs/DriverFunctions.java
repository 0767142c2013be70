package dev.verbena.verbs;

import dev.verbena.internal.Driver;
import dev.verbena.internal.ExtendedCalls;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.StackRoom;
import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_context_ops;
import dev.verbena.verbs.CompletionQueueOptions.PollingCalls;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The functions of a driver's library that C's inline verbs call, and the way that they may be called. They are read once
 * for each context, and never change.
 */
final class DriverFunctions {
    /** The drivers whose libraries post without a system call. */
    private static final Set<String> POSTS_IN_USER_SPACE = Set.of(
            "mlx4_core",
            "mlx5_core",
            "bnxt_en",
            "efa",
            "hns_roce",
            "ice",
            "irdma",
            "i40e",
            "idpf",
            "mana",
            "qede",
            "erdma");

    /** The drivers whose polls may block: see {@link PollingCalls}. */
    private static final Set<String> POLLS_MAY_BLOCK = Set.of("mlx4_core");

    /** The environment variables with which the polls of mlx5 may block. */
    private static final List<String> MLX5_MAY_BLOCK = List.of("MLX5_DEBUG_FILE", "MLX5_FREEZE_ON_ERROR_CQE");

    /** The system property that overrides the choice: {@code none}, {@code poll}, or {@code post} for both. */
    private static final String CRITICAL = "dev.verbena.critical";

    private final MemorySegment ops;
    private final String driver;
    private final @Nullable String wanted;

    /**
     * Reads the functions of a context in C.
     *
     * @param driver the name of the kernel's driver; "" for software
     * @param wanted the value of the property, or null
     */
    DriverFunctions(long context, String driver, @Nullable String wanted) {
        this.ops = ibv_context.ops(MemorySegment.ofAddress(context).reinterpret(ibv_context.sizeof()));
        this.driver = driver;
        this.wanted = wanted;
    }

    static DriverFunctions of(Device device, long context) {
        return new DriverFunctions(context, device.driver(), System.getProperty(CRITICAL));
    }

    /** Returns the driver for a queue pair, whose posts are critical if they may be. */
    Driver forPosts() {
        return driver(ibv_context_ops.post_recv(ops), postsCritically(), pollsCritically(PollingCalls.BY_DRIVER));
    }

    /** Returns the driver for a queue pair whose posts another thread may hold up while it runs Java. */
    Driver forPlainPosts() {
        return driver(ibv_context_ops.post_recv(ops), false, pollsCritically(PollingCalls.BY_DRIVER));
    }

    /** Returns the driver for a shared receive queue, which posts receives by a function of its own. */
    Driver forSharedReceives() {
        return driver(ibv_context_ops.post_srq_recv(ops), postsCritically(), pollsCritically(PollingCalls.BY_DRIVER));
    }

    /** Returns the driver for a work queue, which has the function that posts receives in its own struct. */
    Driver forWorkReceives(MemorySegment postReceives) {
        return driver(postReceives, postsCritically(), pollsCritically(PollingCalls.BY_DRIVER));
    }

    /** Returns the driver for a completion queue. */
    Driver forPolls(boolean critical) {
        return driver(ibv_context_ops.post_recv(ops), postsCritically(), critical);
    }

    private Driver driver(MemorySegment postReceives, boolean criticalPosts, boolean criticalPolls) {
        return Driver.of(
                ibv_context_ops.post_send(ops),
                postReceives,
                ibv_context_ops.poll_cq(ops),
                ibv_context_ops.req_notify_cq(ops),
                criticalPosts,
                criticalPolls);
    }

    /** Returns what the driver lacks. The table is loaded by the first refused verb. */
    DriverLimits limits(Device.TransportType transport) {
        StackRoom.forLinking(); // a full stack would break the table's class for good, and with it each later refusal
        return DriverLimits.of(driver, transport);
    }

    /** Returns true if the driver takes inline data as if it were registered memory. */
    boolean ignoresInline() {
        return ignoresInline(driver);
    }

    static boolean ignoresInline(String driver) {
        return driver.equals("mana");
    }

    /** Returns true if the device is software, such as soft-RoCE. */
    boolean software() {
        return driver.isEmpty();
    }

    /** Returns true if an extended queue pair takes all pieces of a request to be as long as the first. */
    boolean equalPieces() {
        return software() && !RdmaCoreVersion.V64.isInstalled(); // soft-RoCE of older releases
    }

    /** Returns true if posts are critical calls: only if the library rings the doorbell from user space. */
    boolean postsCritically() {
        return postsCritically(driver, wanted);
    }

    /** Returns true if polls are critical calls with a driver ("" for software), and a value of the property or null. */
    static boolean pollsCritically(String driver, @Nullable String wanted) {
        return wanted == null ? !pollsMayBlock(driver, System.getenv()) : !wanted.equals("none");
    }

    /** Returns true if polls may block with a driver ("" for software), in an environment. */
    static boolean pollsMayBlock(String driver, Map<String, String> environment) {
        return POLLS_MAY_BLOCK.contains(driver)
                || (driver.equals("mlx5_core") && MLX5_MAY_BLOCK.stream().anyMatch(environment::containsKey));
    }

    /** Returns true if posts are critical calls with a driver ("" for software), and a value of the property or null. */
    static boolean postsCritically(String driver, @Nullable String wanted) {
        return wanted == null ? POSTS_IN_USER_SPACE.contains(driver) : wanted.equals("post");
    }

    /** Returns the calls for functions that never block. */
    ExtendedCalls calls() {
        return calls(!"none".equals(wanted));
    }

    /** Returns the calls for functions that may be critical for their own part, or not. */
    ExtendedCalls calls(boolean critical) {
        return critical && !"none".equals(wanted) ? ExtendedCalls.CRITICAL : ExtendedCalls.PLAIN;
    }

    /** Returns true if a completion queue is polled by critical calls. */
    boolean pollsCritically(PollingCalls calls) {
        return switch (calls) {
            case BY_DRIVER -> pollsCritically(driver, wanted);
            case CRITICAL -> !"none".equals(wanted);
            case PLAIN -> false;
        };
    }
}

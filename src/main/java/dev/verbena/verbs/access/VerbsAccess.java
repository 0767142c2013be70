package dev.verbena.verbs.access;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.SharedReceiveQueueOptions;
import dev.verbena.verbs.address.AddressVector;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.Collection;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Wraps objects of C that another library made, and gives out the addresses of ours, which users cannot do. */
public interface VerbsAccess {
    /**
     * Wraps a context that another library opened and closes.
     *
     * @param address the {@code struct ibv_context}
     * @param arena the arena that closes the Java object
     * @param letGo called when the Java object is closed: the other library may close the context from then on
     */
    Context adoptContext(long address, VerbsArena arena, Runnable letGo);

    /** Returns why the connection manager does not know some devices of this machine; empty if it may know all. */
    String withoutConnectionManager();

    /**
     * Wraps a protection domain that another library made, and keeps as long as the context is open.
     *
     * @param context the context of the domain
     * @param address the {@code struct ibv_pd}
     * @param arena the arena that closes the Java object
     */
    ProtectionDomain adoptDomain(Context context, long address, VerbsArena arena);

    /** Returns the number of bytes that are pinned by regions of a domain. */
    long pinnedBytes(ProtectionDomain domain);

    /** A function of another library that makes a queue pair or a shared receive queue. */
    @FunctionalInterface
    interface QueueMaker {
        /**
         * Makes the queue, or throws.
         *
         * @param attributes the struct of the attributes, filled
         * @param hints returns what to try for an error number of C
         * @return the struct of the queue
         */
        long make(long attributes, IntFunction<String> hints);
    }

    /**
     * Makes a queue pair with another library's functions. The caller notes the state in which they leave it.
     *
     * @param domain the domain of the queue pair
     * @param options the options of the queue pair
     * @param shared the shared receive queue if the options name none; null for receives of its own then
     * @param arena the arena that destroys the queue pair
     * @param maker gets the {@code struct ibv_qp_init_attr_ex} and returns the {@code struct ibv_qp}
     * @param destroyer gets the {@code struct ibv_qp}
     * @param owner an object that stays open as long as the queue pair
     */
    QueuePair adoptQueuePair(
            ProtectionDomain domain,
            QueuePairOptions options,
            @Nullable SharedReceiveQueue shared,
            VerbsArena arena,
            QueueMaker maker,
            LongConsumer destroyer,
            VerbsObject owner);

    /**
     * Makes a shared receive queue with another library's functions.
     *
     * @param domain the domain of the queue
     * @param options the options of the queue
     * @param arena the arena that destroys the queue
     * @param maker gets the {@code struct ibv_srq_init_attr_ex} and returns the {@code struct ibv_srq}
     * @param destroyer gets the {@code struct ibv_srq}
     * @param owner an object that stays open as long as the queue
     */
    SharedReceiveQueue adoptSharedReceiveQueue(
            ProtectionDomain domain,
            SharedReceiveQueueOptions options,
            VerbsArena arena,
            QueueMaker maker,
            LongConsumer destroyer,
            VerbsObject owner);

    /**
     * Makes a region of memory that no device knows. The caller takes the part of the adapter.
     *
     * @param memory memory that outlives the region
     * @param foreign true if the caller makes sure that the memory outlives the region
     * @param access the rights of the adapter and of peers
     * @param key the local and the remote key
     * @param arena the arena that closes the region
     * @param owner an object that stays open as long as the region
     * @param opening gets the region before any other caller
     * @param ending called when the region is closed. The caller does not use the memory when it returns
     */
    MemoryRegion regionWithoutDevice(
            MemorySegment memory,
            boolean foreign,
            Collection<AccessFlag> access,
            int key,
            VerbsArena arena,
            VerbsObject owner,
            Consumer<MemoryRegion> opening,
            Runnable ending);

    /**
     * Registers memory as {@link ProtectionDomain#register(RegionOptions, VerbsArena)} does, but the region does not close the
     * owner that the options may name: see {@link #closesOwner}.
     */
    MemoryRegion register(ProtectionDomain domain, RegionOptions options, VerbsArena arena);

    /**
     * Has a region close the owner of its memory, if the options name one.
     *
     * @throws IllegalStateException if the region is closed. It has not closed the owner then
     */
    void closesOwner(MemoryRegion region, RegionOptions options);

    /**
     * Returns the segment that the options name.
     *
     * @throws IllegalArgumentException if they name memory of another kind, an address or hints
     */
    MemorySegment memory(RegionOptions options);

    /** Returns true if the caller makes sure that the memory of the options outlives its region. */
    boolean isForeign(RegionOptions options);

    /** Returns the rights that the options name. */
    Set<AccessFlag> access(RegionOptions options);

    /**
     * Returns a registration of the memory of a region in another domain, which is made by the first call. It ends with the
     * region, and with the arena.
     *
     * @param region the region
     * @param from the domain whose regions are registered again
     * @param in the other domain, of the same context
     * @param more the rights that the registration has beyond those of the region
     * @param arena an arena for all threads, which closes the registration
     * @return the registration; the region itself if it is not a registration of memory of this process in that domain
     */
    MemoryRegion registerAgain(
            MemoryRegion region,
            ProtectionDomain from,
            ProtectionDomain in,
            Collection<AccessFlag> more,
            VerbsArena arena);

    /**
     * Lets the caller use the memory of a region of a device too.
     *
     * @param region the region, which one caller follows
     * @param opening called at once. The region is not closed meanwhile
     * @param ending called when the region is closed. The caller does not use the memory when it returns
     */
    void follow(MemoryRegion region, Runnable opening, Runnable ending);

    /**
     * Makes a completion channel that shares a descriptor with other channels of the same context in C. The last of these
     * channels closes the descriptor.
     *
     * @param context the context of the queues that report to the channel
     * @param arena the arena that closes the channel
     */
    CompletionChannel shareCompletionChannel(Context context, VerbsArena arena);

    /** Returns the {@code struct ibv_context} of a context. */
    long address(Context context);

    /** Notes the state of a queue pair that another library, or the kernel, changed. */
    void noteState(QueuePair pair, QueuePairState state);

    /**
     * Waits as {@link CompletionQueue#await} does, until an attempt finds something or throws.
     *
     * @param <T> the type of the result
     * @param queue the queue to wait for
     * @param attempt looks without blocking, and returns null if there is nothing
     * @param timeout the time to wait
     * @return the result of the attempt
     */
    <T> T await(CompletionQueue queue, Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException;

    /** Waits as {@link #await} does, but returns null when the time is over. */
    <T> @Nullable T awaitOrNull(CompletionQueue queue, Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException;

    /**
     * Has the flushed requests of a queue pair, and the waits for its own completion queue, tell that its connection has
     * ended. Call {@link #wakeWaits} at the end.
     *
     * @param pair the queue pair of a connection
     * @param own the completion queue that serves this queue pair alone; null if others share it
     * @param end makes an exception for the end of the connection; returns null while the connection goes on
     * @param events returns the waits for the events that may end the connection: waits for completions see them too
     */
    void endsWith(
            QueuePair pair,
            @Nullable CompletionQueue own,
            Supplier<? extends @Nullable VerbsException> end,
            Supplier<DescriptorWaits> events);

    /** Names the channel of a node that has a queue pair, for the flight recorder. */
    void serves(QueuePair pair, String channel);

    /**
     * Has posts refuse more sends than a queue pair has slots, if the device is software, which does not. Another device does
     * it itself.
     */
    void limitSends(QueuePair pair);

    /** Makes the threads that wait for a queue try again. Any thread may call this. */
    void wakeWaits(CompletionQueue queue);

    /** Gives a batch to the calling thread, which has made sure that no other thread is using it. */
    void takeOver(SendBatch batch);

    /** Gives a batch to the calling thread, which has made sure that no other thread is using it. */
    void takeOver(ReceiveBatch batch);

    /** Gives a cursor to the calling thread, which has made sure that no other thread is using it. */
    void takeOver(Completions cursor);

    /** Reads a {@code struct ibv_ah_attr}. */
    AddressVector readPath(MemorySegment struct);

    /**
     * Copies a {@code struct ibv_qp_attr} that another library filled.
     *
     * @param struct the struct
     * @param mask the bits of {@code enum ibv_qp_attr_mask} that name the filled attributes
     */
    QueuePairAttributes readAttributes(MemorySegment struct, int mask);

    /** Installs the instance that {@link #get} returns. Only {@link Context} calls this. */
    static void install(VerbsAccess access) {
        Installed.access = access;
    }

    /** Returns the installed instance. */
    static VerbsAccess get() {
        VerbsAccess access = Installed.access;
        if (access == null) {
            try {
                MethodHandles.lookup().ensureInitialized(Context.class); // installs it
            } catch (IllegalAccessException e) {
                throw new AssertionError(e);
            }
            access = Objects.requireNonNull(Installed.access);
        }
        return access;
    }

    /** Holds the instance. */
    final class Installed {
        private static volatile @Nullable VerbsAccess access;

        private Installed() {}
    }
}

package dev.verbena.verbs;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.EnumCodec;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.address.AddressVector;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Opens this package's secrets to the floors above. {@link Context} installs the one instance. */
final class VerbsSecrets implements VerbsAccess {
    @Override
    public Context adoptContext(long address, VerbsArena arena, Runnable letGo) {
        return Context.adopt(address, arena, letGo);
    }

    @Override
    public String withoutConnectionManager() {
        StringBuilder reasons = new StringBuilder();
        for (Device device : Device.list()) {
            String reason = device.driverLimits().reason(DriverLimits.Part.CONNECTION_MANAGER);
            if (!reason.isEmpty()) {
                reasons.append(". ").append(device.name()).append(": ").append(reason);
            }
        }
        return reasons.toString();
    }

    @Override
    public ProtectionDomain adoptDomain(Context context, long address, VerbsArena arena) {
        return ProtectionDomain.lent(context, address, arena);
    }

    @Override
    public long pinnedBytes(ProtectionDomain domain) {
        return domain.pinned.get();
    }

    @Override
    public QueuePair adoptQueuePair(
            ProtectionDomain domain,
            QueuePairOptions options,
            @Nullable SharedReceiveQueue shared,
            VerbsArena arena,
            QueueMaker maker,
            LongConsumer destroyer,
            VerbsObject owner) {
        QueuePairOptions all = shared == null || QueuePairOptions.SHARED_RECEIVE_QUEUE.of(options) != null
                ? options
                : options.sharedReceiveQueue(shared);
        return QueuePairCreation.adopt(domain, all, arena, maker, destroyer, owner);
    }

    @Override
    public SharedReceiveQueue adoptSharedReceiveQueue(
            ProtectionDomain domain,
            SharedReceiveQueueOptions options,
            VerbsArena arena,
            QueueMaker maker,
            LongConsumer destroyer,
            VerbsObject owner) {
        return SharedReceiveQueue.adopt(domain, options, arena, maker, destroyer, owner);
    }

    @Override
    public MemoryRegion regionWithoutDevice(
            MemorySegment memory,
            boolean foreign,
            Collection<AccessFlag> access,
            int key,
            VerbsArena arena,
            VerbsObject owner,
            Consumer<MemoryRegion> opening,
            Runnable ending) {
        return MemoryRegion.withoutDevice(memory, foreign, access, key, arena, owner, opening, ending);
    }

    @Override
    public MemoryRegion register(ProtectionDomain domain, RegionOptions options, VerbsArena arena) {
        return Registration.with(domain, options, arena);
    }

    @Override
    public void closesOwner(MemoryRegion region, RegionOptions options) {
        region.closesOwner(options.owner());
    }

    @Override
    public MemorySegment memory(RegionOptions options) {
        return options.plainMemory().memory();
    }

    @Override
    public boolean isForeign(RegionOptions options) {
        return options.plainMemory().foreign();
    }

    @Override
    public Set<AccessFlag> access(RegionOptions options) {
        return RegionOptions.ACCESS.of(options);
    }

    @Override
    public MemoryRegion registerAgain(
            MemoryRegion region,
            ProtectionDomain from,
            ProtectionDomain in,
            Collection<AccessFlag> more,
            VerbsArena arena) {
        return region.registerAgain(from, in, more, arena);
    }

    @Override
    public void follow(MemoryRegion region, Runnable opening, Runnable ending) {
        region.follow(opening, ending);
    }

    @Override
    public CompletionChannel shareCompletionChannel(Context context, VerbsArena arena) {
        return CompletionChannel.makeShared(context, arena);
    }

    @Override
    public long address(Context context) {
        return context.address();
    }

    @Override
    public void noteState(QueuePair pair, QueuePairState state) {
        pair.states.known(state);
    }

    @Override
    public <T> T await(CompletionQueue queue, Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        return queue.await(attempt, false, timeout);
    }

    @Override
    public <T> @Nullable T awaitOrNull(CompletionQueue queue, Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        return queue.awaitOrNull(attempt, false, timeout);
    }

    @Override
    public void endsWith(
            QueuePair pair,
            @Nullable CompletionQueue own,
            Supplier<? extends @Nullable VerbsException> end,
            Supplier<DescriptorWaits> events) {
        pair.states.endsWith(end);
        if (own != null) {
            own.endsWith(end, events);
        }
    }

    @Override
    public void serves(QueuePair pair, String channel) {
        pair.states.serves(channel);
    }

    @Override
    public void limitSends(QueuePair pair) {
        if (pair.context.provider().software()) {
            pair.batches.countSends();
        }
    }

    @Override
    public void wakeWaits(CompletionQueue queue) {
        CompletionEvents events = queue.events();
        if (events != null) {
            events.wakeAll();
        }
    }

    @Override
    public void takeOver(SendBatch batch) {
        batch.takeOver();
    }

    @Override
    public void takeOver(ReceiveBatch batch) {
        batch.takeOver();
    }

    @Override
    public void takeOver(Completions cursor) {
        cursor.takeOver();
    }

    @Override
    public AddressVector readPath(MemorySegment struct) {
        return AddressCodec.readPath(struct);
    }

    @Override
    public QueuePairAttributes readAttributes(MemorySegment struct, int mask) {
        return QueuePairAttributes.read(struct, EnumCodec.flags(Attribute.class, attribute -> attribute.bit, mask));
    }
}

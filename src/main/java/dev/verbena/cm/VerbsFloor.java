package dev.verbena.cm;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.SharedReceiveQueueOptions;
import dev.verbena.verbs.address.AddressVector;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.LongConsumer;
import java.util.function.LongUnaryOperator;

/**
 * The door to {@code dev.verbena.verbs.FloorAbove}: what this floor may do there and users may not. It is looked up, since
 * Java has no word for what a module's own packages may see of each other.
 */
final class VerbsFloor {
    private static final MethodHandles.Lookup DOOR = open();
    private static final MethodHandle CONTEXT =
            find("context", Context.class, long.class, VerbsArena.class, Runnable.class);
    private static final MethodHandle DOMAIN =
            find("domain", ProtectionDomain.class, Context.class, long.class, VerbsArena.class);
    private static final MethodHandle ADDRESS = find("address", long.class, VerbsObject.class);
    private static final MethodHandle QUEUE_PAIR = find(
            "queuePair",
            QueuePair.class,
            ProtectionDomain.class,
            QueuePairOptions.class,
            VerbsArena.class,
            LongUnaryOperator.class,
            LongConsumer.class,
            QueuePairState.class,
            VerbsObject.class);
    private static final MethodHandle SHARED_QUEUE = find(
            "sharedReceiveQueue",
            SharedReceiveQueue.class,
            ProtectionDomain.class,
            SharedReceiveQueueOptions.class,
            VerbsArena.class,
            LongUnaryOperator.class,
            LongConsumer.class,
            VerbsObject.class);
    private static final MethodHandle HAS_SHARED_QUEUE =
            find("hasSharedReceiveQueue", boolean.class, QueuePairOptions.class);
    private static final MethodHandle CHANGED = find("changed", void.class, QueuePair.class, QueuePairState.class);
    private static final MethodHandle PATH = find("path", AddressVector.class, MemorySegment.class);
    private static final MethodHandle ATTRIBUTES =
            find("attributes", QueuePairAttributes.class, MemorySegment.class, int.class);

    private VerbsFloor() {}

    static Context context(long address, VerbsArena arena, Runnable letGo) {
        try {
            return (Context) CONTEXT.invokeExact(address, arena, letGo);
        } catch (Throwable t) {
            throw rethrown(t);
        }
    }

    static ProtectionDomain domain(Context context, long address, VerbsArena arena) {
        try {
            return (ProtectionDomain) DOMAIN.invokeExact(context, address, arena);
        } catch (Throwable t) {
            throw rethrown(t);
        }
    }

    static SharedReceiveQueue sharedReceiveQueue(
            ProtectionDomain domain,
            SharedReceiveQueueOptions options,
            VerbsArena arena,
            LongUnaryOperator maker,
            LongConsumer destroyer,
            VerbsObject owner) {
        try {
            return (SharedReceiveQueue) SHARED_QUEUE.invokeExact(domain, options, arena, maker, destroyer, owner);
        } catch (Throwable t) {
            throw rethrown(t);
        }
    }

    static boolean hasSharedReceiveQueue(QueuePairOptions options) {
        try {
            return (boolean) HAS_SHARED_QUEUE.invokeExact(options);
        } catch (Throwable t) {
            throw rethrown(t);
        }
    }

    static long address(VerbsObject object) {
        try {
            return (long) ADDRESS.invokeExact(object);
        } catch (Throwable t) {
            throw rethrown(t);
        }
    }

    static QueuePair queuePair(
            ProtectionDomain domain,
            QueuePairOptions options,
            VerbsArena arena,
            LongUnaryOperator maker,
            LongConsumer destroyer,
            QueuePairState begins,
            VerbsObject owner) {
        try {
            return (QueuePair) QUEUE_PAIR.invokeExact(domain, options, arena, maker, destroyer, begins, owner);
        } catch (Throwable t) {
            throw rethrown(t);
        }
    }

    static void changed(QueuePair pair, QueuePairState now) {
        try {
            CHANGED.invokeExact(pair, now);
        } catch (Throwable t) {
            throw rethrown(t);
        }
    }

    static AddressVector path(MemorySegment attributes) {
        try {
            return (AddressVector) PATH.invokeExact(attributes);
        } catch (Throwable t) {
            throw rethrown(t);
        }
    }

    static QueuePairAttributes attributes(MemorySegment filled, int mask) {
        try {
            return (QueuePairAttributes) ATTRIBUTES.invokeExact(filled, mask);
        } catch (Throwable t) {
            throw rethrown(t);
        }
    }

    private static RuntimeException rethrown(Throwable t) {
        if (t instanceof Error error) {
            throw error;
        }
        if (t instanceof RuntimeException e) {
            return e;
        }
        throw new AssertionError(t);
    }

    private static MethodHandles.Lookup open() {
        try {
            return MethodHandles.privateLookupIn(Context.class, MethodHandles.lookup());
        } catch (IllegalAccessException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static MethodHandle find(String name, Class<?> result, Class<?>... arguments) {
        try {
            return DOOR.findStatic(
                    DOOR.findClass("dev.verbena.verbs.FloorAbove"), name, MethodType.methodType(result, arguments));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}

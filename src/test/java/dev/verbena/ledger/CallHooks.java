package dev.verbena.ledger;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsException;
import dev.verbena.internal.ContextVerb;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Optional;

/** The methods that {@link CallCounting} puts into the library's classes. */
public final class CallHooks {
    private static final MethodHandle CALLED = called();

    private CallHooks() {}

    /** Links a function whose address is the first argument of each call: counts, then calls. */
    public static MethodHandle downcallHandle(Linker linker, FunctionDescriptor shape, Linker.Option... options) {
        return MethodHandles.filterArguments(linker.downcallHandle(shape, options), 0, CALLED);
    }

    /** Links one function: counts, then calls. */
    public static MethodHandle downcallHandle(
            Linker linker, MemorySegment function, FunctionDescriptor shape, Linker.Option... options) {
        return downcallHandle(linker, shape, options).bindTo(function);
    }

    /** Looks up a function by its name, and remembers the address. */
    public static Optional<MemorySegment> find(SymbolLookup lookup, String function) {
        Optional<MemorySegment> found = lookup.find(function);
        found.ifPresent(address -> FunctionAddresses.add(address.address(), function));
        return found;
    }

    /** Remembers the address that was read from a struct's member. */
    public static MemorySegment read(MemorySegment pointer, String function) {
        FunctionAddresses.add(pointer.address(), function);
        return pointer;
    }

    /** Remembers the address that was read from a context's table of verbs. */
    public static Optional<MemorySegment> read(Optional<MemorySegment> pointer, Object verb) {
        pointer.ifPresent(function -> FunctionAddresses.add(function.address(), nameOf(verb)));
        return pointer;
    }

    private static String nameOf(Object verb) {
        if (verb instanceof ContextVerb known) {
            return known.verb();
        }
        throw new AssertionError("The ledger does not know the C name of " + verb);
    }

    /** Counts a refusal: an exception with an error number, or one that says that there is no such function. */
    public static void failed(VerbsException failure) {
        boolean unsupported = failure instanceof UnsupportedVerbException;
        if (failure.errno() != 0 || unsupported) {
            Calls.of(failure.verb()).refused(unsupported, failure.getMessage());
        }
    }

    /** Counts a call of the function at an address. */
    static MemorySegment called(MemorySegment function) {
        Calls calls = FunctionAddresses.find(function.address());
        if (calls == null) {
            throw new AssertionError("The ledger does not know the C name of the function at "
                    + Long.toHexString(function.address()) + ": it was found in a way that CallCounting does not hook");
        }
        calls.one();
        return function;
    }

    private static MethodHandle called() {
        try {
            return MethodHandles.lookup()
                    .findStatic(
                            CallHooks.class, "called", MethodType.methodType(MemorySegment.class, MemorySegment.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}

package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * rdma-core's two libraries, opened by soname when first needed and kept for the life of the process.
 *
 * <p>Each can be replaced by naming a file in a system property. Why one could not be opened is kept as a value:
 * the floor above turns it into an exception that says what to do.
 */
public enum NativeLibraries {
    /** {@code libibverbs}: devices, memory, queues. */
    VERBS("libibverbs.so.1", "dev.verbena.libibverbs"),
    /** {@code librdmacm}: the connection manager. */
    CM("librdmacm.so.1", "dev.verbena.librdmacm");

    private final String soname;
    private final String property;
    private volatile @Nullable Opened opened;

    NativeLibraries(String soname, String property) {
        this.soname = soname;
        this.property = property;
    }

    /** What opening came to: exactly one of the two is set. */
    private record Opened(
            @Nullable SymbolLookup lookup, @Nullable RuntimeException problem) {}

    public String soname() {
        return soname;
    }

    /** The system property that names another file. */
    public String property() {
        return property;
    }

    /** The file or soname that is opened. */
    public String file() {
        return System.getProperty(property, soname);
    }

    /**
     * Why this library can't be used, or null when it can: an {@link IllegalCallerException} when native access is
     * not enabled, an {@link IllegalArgumentException} when the library was not found.
     */
    public @Nullable RuntimeException problem() {
        return open().problem();
    }

    /** The address of a function, if this library exists and has it. */
    public Optional<MemorySegment> symbol(String name) {
        SymbolLookup lookup = open().lookup();
        return lookup == null ? Optional.empty() : lookup.find(name);
    }

    /** The address of a function of either library: the lookup of the generated bindings. */
    public static Optional<MemorySegment> find(String name) {
        return VERBS.symbol(name).or(() -> CM.symbol(name));
    }

    private Opened open() {
        Opened known = opened;
        if (known == null) {
            synchronized (this) {
                known = opened;
                if (known == null) {
                    opened = known = tryToOpen(file());
                }
            }
        }
        return known;
    }

    private static Opened tryToOpen(String file) {
        try {
            // The global arena: a function address of any other arena would be acquired and released on every call.
            return new Opened(SymbolLookup.libraryLookup(file, Arena.global()), null);
        } catch (IllegalArgumentException | IllegalCallerException e) {
            return new Opened(null, e);
        }
    }
}

package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A library of rdma-core or of the system, opened on first use and kept for the life of the process.
 *
 * <p>A system property can name another file. The failure to open a library is a value, so that the floor above can throw an
 * exception that says what to do. The next use tries again: descriptors or memory may have been missing.
 */
public enum NativeLibraries {
    /** {@code libibverbs}: devices, memory, queues. */
    VERBS("libibverbs.so.1", "dev.verbena.libibverbs"),
    /** {@code librdmacm}: the connection manager. */
    CM("librdmacm.so.1", "dev.verbena.librdmacm"),
    /**
     * libc, which every process has open: to open it again needs no descriptor. The JDK's default lookup opens a library of
     * its own, and can't be used any more if that has failed once.
     */
    C("libc.so.6", "dev.verbena.libc");

    private final String soname;
    private final String property;
    private volatile @Nullable Opened opened;

    NativeLibraries(String soname, String property) {
        this.soname = soname;
        this.property = property;
    }

    /** The result of opening a library: exactly one component is set. */
    private record Opened(
            @Nullable SymbolLookup lookup, @Nullable RuntimeException problem) {}

    /** Returns the system property that names another file. */
    public String property() {
        return property;
    }

    /** Returns the file or soname to open. */
    public String file() {
        return System.getProperty(property, soname);
    }

    /**
     * Returns the reason why this library can't be used, or null if it can. The reason is an {@link IllegalCallerException}
     * if native access is not enabled, an {@link IllegalArgumentException} if the library was not found.
     */
    public @Nullable RuntimeException problem() {
        return open().problem();
    }

    /** Returns the address of a function; empty if the library is missing or lacks the function. */
    public Optional<MemorySegment> symbol(String name) {
        SymbolLookup lookup = open().lookup();
        return lookup == null ? Optional.empty() : lookup.find(name);
    }

    private Opened open() {
        Opened known = opened;
        if (known == null) {
            synchronized (this) {
                known = opened;
                if (known == null) {
                    known = tryToOpen();
                    opened = known.lookup == null ? null : known;
                }
            }
        }
        return known;
    }

    private Opened tryToOpen() {
        try {
            // Every call would acquire and release the function addresses of an arena other than the global one.
            return new Opened(SymbolLookup.libraryLookup(file(), Arena.global()), null);
        } catch (IllegalArgumentException | IllegalCallerException e) {
            return e instanceof IllegalArgumentException && this == C
                    ? new Opened(Linker.nativeLinker().defaultLookup(), null) // another libc
                    : new Opened(null, e);
        }
    }
}

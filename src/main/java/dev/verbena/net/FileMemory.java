package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.link.Registrar;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.channels.NonReadableChannelException;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * A range of a file, to be registered. The file is mapped where the kernel can pin its pages. Linux before 6.2 pins pages of
 * a file only for writing, also when the adapter only reads them. Linux 6.5 and later refuses to pin pages of most file
 * systems for writing.
 */
record FileMemory(FileChannel file, long position, long size) {
    private static final long PAGE = 4096;
    private static final int STEP = 1 << 20;

    FileMemory {
        if (position < 0 || size < 0 || position + size < 0) {
            throw new IllegalArgumentException(
                    "range of a file must begin at 0 or later and end at 2^63 - 1 at most, got " + size + " bytes at "
                            + position);
        }
    }

    /** Throws an unchecked exception if a file is open for reading only. */
    void checkWritable() throws IOException {
        file.write(ByteBuffer.allocate(0), 0);
    }

    /** Registers memory. Returns null if it is that of a file, and the kernel can't pin it this way. */
    static @Nullable MemoryRegion tryRegister(
            Registrar registrar, MemorySegment memory, Collection<AccessFlag> access, VerbsArena arena) {
        try {
            return registrar.register(memory, access, arena);
        } catch (VerbsException refused) {
            if (memory.isMapped() && (refused.errno() == Errno.EFAULT || refused.errno() == Errno.EOPNOTSUPP)) {
                return null;
            }
            throw refused;
        }
    }

    /** Registers memory that the adapter does not write: mapped, or if that is not possible, a copy. */
    MemoryRegion readable(Registrar registrar, Collection<AccessFlag> access, VerbsArena arena) throws IOException {
        MemorySegment mapped = tryMap(MapMode.READ_ONLY, arena);
        MemoryRegion region = mapped == null ? null : tryRegister(registrar, mapped, access, arena);
        if (region != null) {
            return region;
        }
        MemorySegment copy = arena.allocate(size, PAGE);
        for (long done = 0; done < size; ) {
            ByteBuffer rest = copy.asSlice(done, Math.min(size - done, STEP)).asByteBuffer();
            int read = file.read(rest, position + done);
            if (read < 0) {
                throw new EOFException("file ends at " + (position + done) + " bytes, and not at " + (position + size));
            }
            done += read;
        }
        return registrar.register(copy, access, arena);
    }

    /** Registers memory that the adapter writes, which makes the file longer, or returns null if that is not possible. */
    @Nullable
    MemoryRegion tryWritable(Registrar registrar, Collection<AccessFlag> access, VerbsArena arena) {
        MemorySegment mapped = tryMap(MapMode.READ_WRITE, arena);
        return mapped == null ? null : tryRegister(registrar, mapped, access, arena);
    }

    /** Returns null if the file system can't map the file, or if it is open for writing only. */
    private @Nullable MemorySegment tryMap(MapMode mode, VerbsArena arena) {
        try {
            return file.map(mode, position, size, arena);
        } catch (IOException | NonReadableChannelException | UnsupportedOperationException impossible) {
            return null;
        }
    }

    /** Throws if the file ends before this range. */
    void checkReadable() throws IOException {
        long end = file.size();
        if (end < position + size) {
            throw new EOFException("file ends at " + end + " bytes, and not at " + (position + size));
        }
        file.read(ByteBuffer.allocate(0), 0); // throws if the file is open for writing only
    }

    /** Reads data of this range. */
    void read(long from, byte[] into, int length) throws IOException {
        ByteBuffer rest = ByteBuffer.wrap(into, 0, length);
        while (rest.hasRemaining()) {
            if (file.read(rest, position + from + rest.position()) < 0) {
                throw new EOFException("file ends before " + (position + size) + " bytes: it became shorter");
            }
        }
    }

    /** Writes all data to a place in this range. */
    void write(long from, MemorySegment data) throws IOException {
        ByteBuffer rest = data.asByteBuffer();
        for (long at = position + from; rest.hasRemaining(); ) {
            at += file.write(rest, at);
        }
    }
}

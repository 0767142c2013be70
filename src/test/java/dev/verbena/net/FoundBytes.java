package dev.verbena.net;

import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.util.Map;
import java.util.TreeMap;

/** A file that keeps no zeros: it notes the places of all other bytes that are written to it. */
final class FoundBytes extends FileChannel {
    private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(1 << 16);

    final Map<Long, Byte> bytes = new TreeMap<>();
    private final long origin;

    /** Makes a file whose places count from an origin. */
    FoundBytes(long origin) {
        this.origin = origin;
    }

    @Override
    public int write(ByteBuffer data, long position) {
        int size = data.remaining();
        while (data.hasRemaining()) {
            ByteBuffer zeros = ZEROS.duplicate().limit(Math.min(data.remaining(), ZEROS.capacity()));
            int same = data.slice().limit(zeros.limit()).mismatch(zeros);
            if (same >= 0) {
                long at = position + (size - data.remaining()) + same;
                bytes.put(at - origin, data.get(data.position() + same));
            }
            data.position(data.position() + (same < 0 ? zeros.limit() : same + 1));
        }
        return size;
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) {
        throw unused();
    }

    private static UnsupportedOperationException unused() {
        return new UnsupportedOperationException("no part of this test");
    }

    @Override
    public int read(ByteBuffer target) {
        throw unused();
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) {
        throw unused();
    }

    @Override
    public int read(ByteBuffer target, long position) {
        throw unused();
    }

    @Override
    public int write(ByteBuffer data) {
        throw unused();
    }

    @Override
    public long write(ByteBuffer[] data, int offset, int length) {
        throw unused();
    }

    @Override
    public long position() {
        throw unused();
    }

    @Override
    public FileChannel position(long changed) {
        throw unused();
    }

    @Override
    public long size() {
        throw unused();
    }

    @Override
    public FileChannel truncate(long size) {
        throw unused();
    }

    @Override
    public void force(boolean metadata) {
        throw unused();
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target) {
        throw unused();
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long position, long count) {
        throw unused();
    }

    @Override
    public FileLock lock(long position, long size, boolean shared) {
        throw unused();
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) {
        throw unused();
    }

    @Override
    protected void implCloseChannel() {
        // There is nothing to close.
    }
}

package dev.verbena.sockets;

import dev.verbena.CName;
import dev.verbena.VerbsObject;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.lang.foreign.MemorySegment;

/**
 * Memory that the peer of an RDMA socket writes to without this process's help ({@code riomap}). See
 * {@link RdmaSocketChannel#map(MemorySegment, long)}.
 *
 * {@snippet file="SocketSnippets.java" region="map"}
 *
 * <p>Closing a mapped segment, or its channel, revokes the peer's right. A peer that writes to the memory afterwards loses
 * the connection. The memory is not freed before the segment is closed. After the channel is closed, the segment stays open,
 * without effect, until its arena closes it.
 *
 * <p>All threads may use a segment of a shared arena.
 */
@CName("riounmap")
public final class MappedSegment extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final RdmaSocketChannel channel;
    private final MemorySegment segment;
    private final long offset;

    MappedSegment(ObjectLifetime lifetime, RdmaSocketChannel channel, MemorySegment segment, long offset) {
        super(lifetime);
        this.lifetime = lifetime;
        this.channel = channel;
        this.segment = segment;
        this.offset = offset;
    }

    /**
     * Returns the memory. The adapter writes to it at any time.
     *
     * @return the segment that was mapped
     */
    public MemorySegment segment() {
        lifetime.checkOpen();
        return segment;
    }

    /**
     * Returns the offset at which the peer finds the first byte.
     *
     * @return the offset, for the peer's {@link RdmaSocketChannel#write(MemorySegment, long)}
     */
    public long offset() {
        lifetime.checkOpen();
        return offset;
    }

    /**
     * Returns the channel whose peer can write.
     *
     * @return the channel
     */
    public RdmaSocketChannel channel() {
        lifetime.checkOpen();
        return channel;
    }

    /** Returns the memory, also when this is closed. */
    MemorySegment memory() {
        return segment;
    }

    /** Returns the first offset, also when this is closed. */
    long begin() {
        return offset;
    }

    /** Returns the end of the offsets. */
    long end() {
        return offset + segment.byteSize();
    }

    @Override
    public String toString() {
        return "MappedSegment[" + segment.byteSize() + " bytes at offset " + offset + (isOpen() ? "]" : ", closed]");
    }
}

package dev.verbena.docs;

import dev.verbena.VerbsArena;
import dev.verbena.sockets.MappedSegment;
import dev.verbena.sockets.RdmaSocketChannel;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** The examples of sockets in the Javadoc. */
public final class SocketSnippets {
    private SocketSnippets() {}

    // @start region="map"
    /** Lets the peer write a picture into memory, and returns the picture when the peer says that it is there. */
    static MemorySegment receive(RdmaSocketChannel channel, long size, VerbsArena arena) throws IOException {
        try (MappedSegment picture = channel.map(arena.allocate(size), 0, arena)) {
            channel.write(ByteBuffer.allocate(1)); // the memory is mapped
            channel.read(ByteBuffer.allocate(1)); // the picture is there
            return picture.segment();
        }
    }

    /** Writes a picture into the peer's memory. */
    static void send(RdmaSocketChannel channel, MemorySegment picture) throws IOException {
        channel.read(ByteBuffer.allocate(1));
        channel.write(picture, 0);
        channel.write(ByteBuffer.allocate(1));
    }
    // @end

    /** Does the first half of the example. */
    public static MemorySegment receivePicture(RdmaSocketChannel channel, long size, VerbsArena arena)
            throws IOException {
        return receive(channel, size, arena);
    }

    /** Does the second half of the example. */
    public static void sendPicture(RdmaSocketChannel channel, MemorySegment picture) throws IOException {
        send(channel, picture);
    }
}

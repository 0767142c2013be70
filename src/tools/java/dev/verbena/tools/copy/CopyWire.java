package dev.verbena.tools.copy;

import dev.verbena.net.Message;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.function.LongConsumer;

/** The messages between {@code cp} and {@code serve}. A copy begins, offers its pieces in order, and ends. */
final class CopyWire {
    static final int PORT = 7174;

    /** The first byte of a request: version 1, begin or end. */
    static final byte BEGIN = 0x11;

    static final byte END = 0x12;

    private static final int SUM_BYTES = 32;
    private static final int SUM_AT = 9;
    private static final int NAME_AT = SUM_AT + SUM_BYTES;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private CopyWire() {}

    /** A request to begin a copy. */
    static final class Begin {
        private final String path;
        private final long size;
        private final byte[] sum;

        Begin(String path, long size, byte[] sum) {
            this.path = path;
            this.size = size;
            this.sum = sum;
        }

        String path() {
            return path;
        }

        long size() {
            return size;
        }

        /** Returns the SHA-256 of the file. */
        byte[] sum() {
            return sum;
        }

        void writeTo(Message message) throws IOException {
            byte[] name = path.getBytes(StandardCharsets.UTF_8);
            if (NAME_AT + name.length > message.length()) {
                throw new IOException("The path is too long: " + name.length + " bytes");
            }
            MemorySegment bytes = message.length(NAME_AT + (long) name.length).segment();
            bytes.set(ValueLayout.JAVA_BYTE, 0, BEGIN);
            bytes.set(LONG, 1, size);
            MemorySegment.copy(sum, 0, bytes, ValueLayout.JAVA_BYTE, SUM_AT, SUM_BYTES);
            MemorySegment.copy(name, 0, bytes, ValueLayout.JAVA_BYTE, NAME_AT, name.length);
        }

        static Begin from(Message message) throws IOException {
            MemorySegment bytes = message.segment();
            if (bytes.byteSize() < NAME_AT) {
                throw new IOException("The request is too short");
            }
            return new Begin(
                    new String(bytes.asSlice(NAME_AT).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8),
                    bytes.get(LONG, 1),
                    bytes.asSlice(SUM_AT, SUM_BYTES).toArray(ValueLayout.JAVA_BYTE));
        }
    }

    /** Returns the first byte of a request. */
    static byte kind(Message message) {
        return message.length() == 0 ? 0 : message.segment().get(ValueLayout.JAVA_BYTE, 0);
    }

    /** Answers a request to begin: the place in the file to go on at. */
    static void reply(Message request, long place) {
        Message reply = request.reply().length(Long.BYTES);
        reply.segment().set(LONG, 0, place);
        reply.send();
    }

    /** Returns the place that a reply contains. */
    static long place(Message reply, long size) throws IOException {
        long place = reply.length() == Long.BYTES ? reply.segment().get(LONG, 0) : -1;
        if (place < 0 || place > size) {
            throw new IOException("The answer of the server is malformed");
        }
        return place;
    }

    /** Returns the SHA-256 of the first {@code size} bytes of a file, and tells how many are done. */
    static byte[] sum(FileChannel file, long size, LongConsumer progress) throws IOException {
        MessageDigest digest = sha256();
        ByteBuffer bytes = ByteBuffer.allocateDirect(1 << 20);
        for (long at = 0; at < size; at += bytes.limit()) {
            bytes.clear().limit((int) Math.min(bytes.capacity(), size - at)); // the file may become longer
            if (file.read(bytes, at) < 0) {
                throw new IOException("the file has become shorter");
            }
            digest.update(bytes.flip());
            progress.accept(at + bytes.limit());
        }
        return digest.digest();
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // each Java has it
        }
    }
}

package dev.verbena.tools.shell;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/**
 * Streams of several kinds within one, between the shell and the {@link Agent} that runs its snippets. A frame is the byte of
 * its kind, the number of its bytes, and these.
 */
final class Frames {
    /** To the agent: commands of JShell. */
    static final byte COMMANDS = 'C';

    /** To the agent: input of the snippets. An empty frame is its end. */
    static final byte INPUT = 'I';

    /** To the agent: stop the snippet that runs. */
    static final byte STOP = 'S';

    /** From the agent: results of commands. */
    static final byte RESULTS = 'R';

    /** From the agent: output of the snippets. */
    static final byte OUTPUT = 'O';

    static final byte ERRORS = 'E';

    /** From the agent: a snippet waits for input. */
    static final byte WAITS = 'W';

    private static final int HEADER = 5;

    private Frames() {}

    /** A frame that has come. */
    @SuppressWarnings("ArrayRecordComponent") // is never compared
    record Frame(byte kind, byte[] bytes) {}

    /** Reads a frame; null at the end of the stream. */
    static @Nullable Frame read(DataInputStream from) throws IOException {
        int kind = from.read();
        if (kind < 0) {
            return null;
        }
        return new Frame((byte) kind, from.readNBytes(from.readInt()));
    }

    /** Writes a frame at once. Threads may write to one stream. */
    static void write(OutputStream to, byte kind, byte[] bytes, int offset, int length) throws IOException {
        byte[] whole = ByteBuffer.allocate(HEADER + length)
                .put(kind)
                .putInt(length)
                .put(bytes, offset, length)
                .array();
        synchronized (to) {
            to.write(whole);
            to.flush();
        }
    }

    static void write(OutputStream to, byte kind) throws IOException {
        write(to, kind, new byte[0], 0, 0);
    }

    /** Returns a stream whose bytes are frames of a kind. */
    static OutputStream output(OutputStream to, byte kind) {
        return new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                write(new byte[] {(byte) one});
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                Frames.write(to, kind, bytes, offset, length);
            }
        };
    }

    /** Bytes that one thread gives and another reads. */
    static final class Pipe extends InputStream {
        private final BlockingQueue<byte[]> given = new LinkedBlockingQueue<>();
        private final Asking asking;
        private byte[] current = new byte[0];
        private int at;
        private boolean ended;

        /** A step of a reader before it waits. */
        interface Asking {
            void ask() throws IOException;
        }

        Pipe(Asking asking) {
            this.asking = asking;
        }

        /** Gives bytes to the reader; none at all are the end. */
        void give(byte[] bytes) {
            given.add(bytes);
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
        }

        @Override
        public synchronized int read(byte[] into, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            while (at == current.length) {
                if (ended) {
                    return -1;
                }
                if (given.isEmpty()) {
                    asking.ask();
                }
                try {
                    current = given.take();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new InterruptedIOException("interrupted while waiting for input");
                }
                at = 0;
                ended = current.length == 0;
            }
            int count = Math.min(length, current.length - at);
            System.arraycopy(current, at, into, offset, count);
            at += count;
            return count;
        }

        @Override
        public synchronized int available() {
            return current.length - at;
        }
    }
}

package dev.verbena.internal.link;

import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.verbs.AccessFlag;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The output of a TCP connection: the answers to the peer's requests, and the requests of this side. For the carrier's thread. */
final class TcpOutput {
    /** The most bytes of data that are written at once. */
    private static final int CHUNK = 1 << 18;

    /** The most headers that are written at once. */
    private static final int MOST_HEADERS = 8;

    private static final int HEAD_BYTES = TcpFrame.BYTES + TcpFrame.INLINE_BYTES;

    private final TcpMemory memory;

    /** Headers, with data that was copied. Other data of the last one, if it has any, follows. */
    private final ByteBuffer head =
            ByteBuffer.allocateDirect(MOST_HEADERS * HEAD_BYTES).limit(0);

    /** The answers to requests of the peer: acknowledgements of a number of requests, values, data and denials. */
    private final ArrayDeque<TcpFrame> answers = new ArrayDeque<>();

    private int promised;
    private long address;
    private int key;
    private long left;

    /** True if the peer reads the data, with its own key. */
    private boolean isAnswer;

    /** True since a part of a large frame has gone. */
    private volatile boolean progressed;

    TcpOutput(TcpMemory memory) {
        this.memory = memory;
    }

    /** Returns true if a part of a large frame has gone since the last call, by any thread. */
    boolean takeProgress() {
        boolean moves = progressed;
        progressed = false;
        return moves;
    }

    // Answers

    /** Adds the acknowledgement of a request. */
    void acknowledge() {
        TcpFrame last = answers.peekLast();
        if (last == null || last.type != TcpFrame.ACKNOWLEDGEMENT) {
            last = answer(TcpFrame.ACKNOWLEDGEMENT);
        }
        last.number++;
    }

    TcpFrame answer(int type) {
        TcpFrame answer = new TcpFrame().begin(type);
        answers.add(answer);
        return answer;
    }

    /** Adds the answer to a read or an atomic. */
    TcpFrame promise(int type) {
        promised++;
        return answer(type);
    }

    /** Returns true if the peer may not ask for more before it gets answers. */
    boolean owesMostAnswers() {
        return promised == TcpFrame.MAX_READS;
    }

    boolean owesOnlyAcknowledgements() {
        TcpFrame only = answers.peek();
        return answers.size() == 1 && Objects.requireNonNull(only).type == TcpFrame.ACKNOWLEDGEMENT;
    }

    // Writing

    /**
     * Writes as much as the socket takes.
     *
     * @param link the queues; null before they are made
     * @param sends false to send no further requests of this side
     * @return true if nothing is left
     */
    boolean write(SocketChannel to, @Nullable TcpLink link, boolean sends) throws IOException {
        while (true) {
            boolean more = true;
            while (more && left == 0 && head.remaining() <= (MOST_HEADERS - 1) * HEAD_BYTES) {
                more = beginNext(sends ? link : null);
            }
            if (left == 0 && !head.hasRemaining()) {
                return true;
            }
            if (left == 0) {
                to.write(head);
                if (head.hasRemaining()) {
                    return false;
                }
            } else if (!writeData(to, link)) {
                return false;
            }
        }
    }

    private boolean writeData(SocketChannel to, @Nullable TcpLink link) throws IOException {
        int most = (int) Math.min(left, CHUNK);
        try (var _ = memory.use()) {
            MemorySegment data =
                    memory.find(isAnswer ? link : null, key, address, most, isAnswer ? AccessFlag.REMOTE_READ : null);
            if (data == null) {
                throw new IOException("Memory was deregistered while it was sent");
            }
            ByteBuffer bytes = data.asByteBuffer();
            boolean first = head.hasRemaining();
            to.write(new ByteBuffer[] {head, bytes});
            progressed |= !first && bytes.position() > 0;
            address += bytes.position();
            left -= bytes.position();
            return !bytes.hasRemaining();
        }
    }

    private boolean beginNext(@Nullable TcpLink requests) {
        TcpFrame next = answers.poll();
        if (next == null) {
            next = requests == null ? null : requests.next();
        } else if (next.type == TcpFrame.DATA || next.type == TcpFrame.VALUE) {
            promised--;
        }
        if (next == null) {
            return false;
        }
        head.compact();
        next.writeTo(head);
        head.flip();
        address = next.dataAddress; // a copy: a peer may answer before it has all
        key = next.dataKey;
        left = next.dataLength();
        isAnswer = next.type == TcpFrame.DATA;
        return true;
    }
}

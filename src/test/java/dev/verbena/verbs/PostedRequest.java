package dev.verbena.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.verbena.internal.raw.ibv_mw_bind_info;
import dev.verbena.internal.raw.ibv_send_wr;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.support.Fenced;
import dev.verbena.support.Loopback;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A request as the provider for tests received it ({@code struct posted} in src/test/c/fenced_seen.c). */
final class PostedRequest {
    static final int FENCE = 1;
    static final int SIGNALED = 2;
    static final int SOLICITED = 4;
    static final int INLINE = 8;

    private final MemorySegment request;

    /** A piece of memory ({@code struct ibv_sge}). */
    record Piece(long address, int length, int key) {
        private MemorySegment memory() {
            return MemorySegment.ofAddress(address).reinterpret(Integer.toUnsignedLong(length));
        }
    }

    private PostedRequest(MemorySegment request) {
        this.request = request;
    }

    /** Returns the request that a queue accepted last. */
    static PostedRequest last() {
        return new PostedRequest(Fenced.posted(1));
    }

    /** Returns the latest requests in the order in which they were posted. */
    static List<PostedRequest> latest(int count) {
        List<PostedRequest> found = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            found.add(new PostedRequest(Fenced.posted(i)));
        }
        Collections.reverse(found);
        return found;
    }

    long id() {
        return ibv_send_wr.wr_id(request);
    }

    Operation operation() {
        return Operation.of(ibv_send_wr.opcode(request));
    }

    int flags() {
        return ibv_send_wr.send_flags(request);
    }

    List<Piece> pieces() {
        List<Piece> pieces = new ArrayList<>();
        long at = Fenced.offsetInPosted(0);
        for (int i = 0; i < ibv_send_wr.num_sge(request); i++) {
            MemorySegment piece = request.asSlice(at + i * ibv_sge.sizeof(), ibv_sge.sizeof());
            pieces.add(new Piece(ibv_sge.addr(piece), ibv_sge.length(piece), ibv_sge.lkey(piece)));
        }
        return pieces;
    }

    /** Returns the first bytes of inline data, or of a header. */
    private byte[] data(int length) {
        return request.asSlice(Fenced.offsetInPosted(1), length).toArray(JAVA_BYTE);
    }

    /** Returns the number of the queue pair; 0 for other queues. */
    int queue() {
        return request.get(JAVA_INT, Fenced.offsetInPosted(2));
    }

    /** Returns true if the functions of an extended queue pair built the request. */
    boolean isExtended() {
        return request.get(JAVA_INT, Fenced.offsetInPosted(3)) == 1;
    }

    int sharedReceiveQueue() {
        MemorySegment xrc = ibv_send_wr.qp_type.xrc(ibv_send_wr.qp_type(request));
        return ibv_send_wr.qp_type.xrc.remote_srqn(xrc);
    }

    /** Returns the bytes to send or write, or those that a read has brought. */
    byte[] bytes() {
        if ((flags() & INLINE) != 0) {
            return data(pieces().getFirst().length());
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        pieces().forEach(piece -> all.writeBytes(piece.memory().toArray(JAVA_BYTE)));
        return all.toByteArray();
    }

    /** Returns the memory of the peer that a write or read names. */
    MemorySegment remoteMemory(int length) {
        MemorySegment rdma = ibv_send_wr.wr.rdma(ibv_send_wr.wr(request));
        return MemorySegment.ofAddress(ibv_send_wr.wr.rdma.remote_addr(rdma)).reinterpret(length);
    }

    /**
     * Returns the fields that the operation has, for example {@code 7 RDMA_WRITE signaled left+64:10 to right+4224}. Memory
     * is named by the buffer that it lies in, without the key if that is the buffer's own.
     */
    String text(Loopback loopback) {
        StringBuilder text = new StringBuilder(id() + " " + operation());
        int flags = flags();
        text.append((flags & SIGNALED) != 0 ? " signaled" : "")
                .append((flags & FENCE) != 0 ? " fence" : "")
                .append((flags & SOLICITED) != 0 ? " solicited" : "")
                .append((flags & ~15) != 0 ? " flags " + flags : "");
        if ((flags & INLINE) != 0) {
            Piece only = pieces().getFirst();
            text.append(" inline ").append(joined(data(only.length())));
            text.append(pieces().size() == 1 && only.key() == 0 ? "" : " " + pieces());
        } else {
            text.append(memory(loopback));
        }
        return text.append(rest(loopback)).toString();
    }

    /** Returns the fields of a receive: the id and the memory. */
    String receiveText(Loopback loopback) {
        return id() + memory(loopback);
    }

    private String memory(Loopback loopback) {
        StringBuilder text = new StringBuilder();
        for (Piece piece : pieces()) {
            String place = place(loopback, piece.address(), piece.key(), false);
            text.append(' ').append(place).append(':').append(piece.length());
        }
        return text.toString();
    }

    private static String joined(byte[] bytes) {
        List<String> numbers = new ArrayList<>();
        for (byte one : bytes) {
            numbers.add(Byte.toString(one));
        }
        return String.join(" ", numbers);
    }

    private String rest(Loopback loopback) {
        MemorySegment rdma = ibv_send_wr.wr.rdma(ibv_send_wr.wr(request));
        String to =
                " to " + place(loopback, ibv_send_wr.wr.rdma.remote_addr(rdma), ibv_send_wr.wr.rdma.rkey(rdma), true);
        MemorySegment atomic = ibv_send_wr.wr.atomic(ibv_send_wr.wr(request));
        String there = " to "
                + place(loopback, ibv_send_wr.wr.atomic.remote_addr(atomic), ibv_send_wr.wr.atomic.rkey(atomic), true);
        String first = " " + Long.toHexString(ibv_send_wr.wr.atomic.compare_add(atomic));
        String immediate = " immediate " + Integer.toHexString(Integer.reverseBytes(ibv_send_wr.imm_data(request)));
        String invalidated = " invalidates " + Integer.toHexString(ibv_send_wr.invalidate_rkey(request));
        return switch (operation()) {
            case RDMA_WRITE, RDMA_READ -> to;
            case RDMA_WRITE_WITH_IMMEDIATE -> to + immediate;
            case SEND_WITH_IMMEDIATE -> immediate;
            case SEND_WITH_INVALIDATE, LOCAL_INVALIDATE -> invalidated;
            case FETCH_AND_ADD, ATOMIC_WRITE -> there + first;
            case COMPARE_AND_SWAP, FLUSH -> there + first + " " + Long.toHexString(ibv_send_wr.wr.atomic.swap(atomic));
            // Some providers refuse a binding with another value in place of immediate data.
            case BIND_MW -> binding() + (isExtended() ? "" : immediate);
            case TSO -> {
                MemorySegment tso = ibv_send_wr.tso(request);
                yield " header " + joined(data(ibv_send_wr.tso.hdr_sz(tso))) + " segments "
                        + Short.toUnsignedInt(ibv_send_wr.tso.mss(tso));
            }
            default -> "";
        };
    }

    /** Returns the window and its next key, the region, its address, length and rights. */
    private String binding() {
        MemorySegment bind = ibv_send_wr.bind_mw(request);
        MemorySegment info = ibv_send_wr.bind_mw.bind_info(bind);
        return binding(
                ibv_send_wr.bind_mw.mw(bind).address(),
                ibv_send_wr.bind_mw.rkey(bind),
                ibv_mw_bind_info.mr(info).address(),
                ibv_mw_bind_info.addr(info),
                ibv_mw_bind_info.length(info),
                ibv_mw_bind_info.mw_access_flags(info));
    }

    static String binding(long window, int key, long region, long address, long length, int access) {
        return " window %x key %x region %x %x:%d access %d".formatted(window, key, region, address, length, access);
    }

    /** Returns the destination of a datagram: the address handle, the number of the queue pair, and its key. */
    String destination() {
        MemorySegment ud = ibv_send_wr.wr.ud(ibv_send_wr.wr(request));
        return " to %x %x %x"
                .formatted(
                        ibv_send_wr.wr.ud.ah(ud).address(),
                        ibv_send_wr.wr.ud.remote_qpn(ud),
                        ibv_send_wr.wr.ud.remote_qkey(ud));
    }

    private static String place(Loopback loopback, long address, int key, boolean remote) {
        for (Loopback.Side side : List.of(loopback.left, loopback.right)) {
            long offset = address - side.buffer.address();
            if (offset >= 0 && offset < Loopback.SIZE) {
                int own = remote ? side.buffer.remoteKey() : side.buffer.localKey();
                String name = (side == loopback.left ? "left+" : "right+") + offset;
                return key == own ? name : name + " key " + Integer.toHexString(key);
            }
        }
        return "%x key %x".formatted(address, key);
    }
}

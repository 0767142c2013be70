package dev.verbena.support;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.verbena.internal.raw.ibv_mw_bind_info;
import dev.verbena.internal.raw.ibv_send_wr;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.verbs.Operation;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A request as the provider for tests received it ({@code struct posted} in src/test/c/fenced_seen.c). */
public final class PostedRequest {
    private final MemorySegment request;

    /** A piece of memory ({@code struct ibv_sge}). */
    public record Piece(long address, int length, int key) {}

    private PostedRequest(MemorySegment request) {
        this.request = request;
    }

    /** Returns the request that a queue accepted last. */
    public static PostedRequest last() {
        return new PostedRequest(Fenced.posted(1));
    }

    /** Returns the latest requests in the order in which they were posted. */
    public static List<PostedRequest> latest(int count) {
        List<PostedRequest> found = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            found.add(new PostedRequest(Fenced.posted(i)));
        }
        Collections.reverse(found);
        return found;
    }

    public long id() {
        return ibv_send_wr.wr_id(request);
    }

    public Operation operation() {
        return Operation.of(ibv_send_wr.opcode(request));
    }

    public int flags() {
        return ibv_send_wr.send_flags(request);
    }

    public int immediate() {
        return Integer.reverseBytes(ibv_send_wr.imm_data(request));
    }

    public int invalidatedKey() {
        return ibv_send_wr.invalidate_rkey(request);
    }

    public List<Piece> pieces() {
        List<Piece> pieces = new ArrayList<>();
        long at = Fenced.offsetInPosted(0);
        for (int i = 0; i < ibv_send_wr.num_sge(request); i++) {
            MemorySegment piece = request.asSlice(at + i * ibv_sge.sizeof(), ibv_sge.sizeof());
            pieces.add(new Piece(ibv_sge.addr(piece), ibv_sge.length(piece), ibv_sge.lkey(piece)));
        }
        return pieces;
    }

    /** Returns the first bytes of inline data, or of a header. */
    public byte[] data(int length) {
        return request.asSlice(Fenced.offsetInPosted(1), length).toArray(JAVA_BYTE);
    }

    /** Returns the number of the queue pair; 0 for other queues. */
    public int queue() {
        return request.get(JAVA_INT, Fenced.offsetInPosted(2));
    }

    /** Returns true if the functions of an extended queue pair built the request. */
    public boolean isExtended() {
        return request.get(JAVA_INT, Fenced.offsetInPosted(3)) == 1;
    }

    /** Returns the remote address and key of a write or read. */
    public List<Object> remote() {
        MemorySegment rdma = ibv_send_wr.wr.rdma(ibv_send_wr.wr(request));
        return List.of(ibv_send_wr.wr.rdma.remote_addr(rdma), ibv_send_wr.wr.rdma.rkey(rdma));
    }

    /** Returns the remote address and key of an atomic operation, and its operands. */
    public List<Object> atomic() {
        MemorySegment atomic = ibv_send_wr.wr.atomic(ibv_send_wr.wr(request));
        return List.of(
                ibv_send_wr.wr.atomic.remote_addr(atomic),
                ibv_send_wr.wr.atomic.rkey(atomic),
                ibv_send_wr.wr.atomic.compare_add(atomic),
                ibv_send_wr.wr.atomic.swap(atomic));
    }

    /** Returns the address handle, the number of the queue pair, and its key. */
    public List<Object> destination() {
        MemorySegment ud = ibv_send_wr.wr.ud(ibv_send_wr.wr(request));
        return List.of(
                ibv_send_wr.wr.ud.ah(ud).address(),
                ibv_send_wr.wr.ud.remote_qpn(ud),
                ibv_send_wr.wr.ud.remote_qkey(ud));
    }

    public int sharedReceiveQueue() {
        MemorySegment xrc = ibv_send_wr.qp_type.xrc(ibv_send_wr.qp_type(request));
        return ibv_send_wr.qp_type.xrc.remote_srqn(xrc);
    }

    /** Returns the window and its next key. */
    public List<Object> window() {
        MemorySegment bind = ibv_send_wr.bind_mw(request);
        return List.of(ibv_send_wr.bind_mw.mw(bind).address(), ibv_send_wr.bind_mw.rkey(bind));
    }

    /** Returns the region of a binding, its address, length and rights. */
    public List<Object> binding() {
        MemorySegment info = ibv_send_wr.bind_mw.bind_info(ibv_send_wr.bind_mw(request));
        return List.of(
                ibv_mw_bind_info.mr(info).address(),
                ibv_mw_bind_info.addr(info),
                ibv_mw_bind_info.length(info),
                ibv_mw_bind_info.mw_access_flags(info));
    }

    /** Returns the length of a header for segments, and the size of a segment. */
    public List<Object> segments() {
        MemorySegment tso = ibv_send_wr.tso(request);
        return List.of((int) ibv_send_wr.tso.hdr_sz(tso), (int) ibv_send_wr.tso.mss(tso));
    }
}

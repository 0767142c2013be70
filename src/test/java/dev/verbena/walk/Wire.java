package dev.verbena.walk;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.Operation;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import dev.verbena.walk.Node.DomainNode;
import dev.verbena.walk.Node.PairNode;
import dev.verbena.walk.Node.QueueNode;
import dev.verbena.walk.Node.Raised;
import dev.verbena.walk.Node.Receives;
import dev.verbena.walk.Node.RegionNode;
import dev.verbena.walk.Node.WindowNode;
import dev.verbena.walk.Request.Piece;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The data path of the model: carries out requests on the mirrors of memory, and predicts completions. It follows the
 * provider for tests (src/test/c/fenced.c), which carries out a request before the post returns.
 */
final class Wire {
    /** The room for a routing header before a datagram. */
    static final int HEADER = 40;

    private final List<PairNode> pairs = new ArrayList<>();
    private final List<RegionNode> regions = new ArrayList<>();
    private final List<WindowNode> windows = new ArrayList<>();
    /** The receives that were filled with headers and datagrams. */
    private final List<Request> headers = new ArrayList<>();

    void add(PairNode pair) {
        pairs.addFirst(pair);
    }

    void add(RegionNode region) {
        regions.addFirst(region);
    }

    void add(WindowNode window) {
        windows.addFirst(window);
    }

    void remove(PairNode pair) {
        pairs.remove(pair);
        pair.sends.clear();
        pair.own.pending.clear();
    }

    void remove(RegionNode region) {
        regions.remove(region);
    }

    void remove(WindowNode window) {
        windows.remove(window);
        window.bound = null;
        regions.forEach(region -> region.remembered.remove(window));
    }

    /** Returns the number of completions that the requests of all queue pairs can still bring to a queue. */
    int outstanding(QueueNode queue) {
        int sum = queue.done.size();
        for (PairNode pair : pairs) {
            if (pair.sendQueue == queue) {
                sum += pair.sends.size();
            }
            if (pair.receiveQueue == queue) {
                sum += pair.receives().pending.size();
            }
        }
        return sum;
    }

    // --- posting ---

    void post(PairNode pair, List<Request> requests) {
        for (Request request : requests) {
            request.serial = ++pair.postedSends;
            pair.sends.add(request);
        }
        if (pair.state == QueuePairState.ERR) {
            flush(pair);
        } else {
            progress(pair);
        }
    }

    void postReceives(@Nullable PairNode pair, Receives receives, List<Request> requests) {
        for (Request request : requests) {
            request.serial = ++receives.posted;
            receives.pending.add(request);
        }
        if (pair != null && pair.state == QueuePairState.ERR) {
            flush(pair);
        }
        progressAll();
    }

    void modify(PairNode pair, QueuePairState state) {
        if (state == QueuePairState.ERR) {
            fail(pair);
            return;
        }
        pair.state = state;
        if (state == QueuePairState.RESET) {
            pair.sends.clear();
            pair.own.pending.clear();
            pair.epoch++;
        }
        progress(pair);
        progressAll();
    }

    // --- completing ---

    private static void complete(QueueNode queue, Done done, boolean solicited) {
        queue.done.add(done);
        if (queue.asked != 0
                && queue.channel != null
                && (queue.asked == 1 || solicited || done.status() != WorkStatus.SUCCESS)) {
            queue.asked = 0;
            queue.channel.events.add(queue);
        }
    }

    /** Binds a window of type 1, which completes at once. */
    void bindAtOnce(PairNode pair, Request request) {
        pair.postedSends++;
        complete(pair.sendQueue, done(pair, request, WorkStatus.SUCCESS, 0), false);
    }

    private static Done done(PairNode pair, Request request, WorkStatus status, long bytes) {
        return new Done(request.id, status, opcode(request.operation), bytes, pair, 0, null, request, pair.epoch);
    }

    private static WorkCompletion.Opcode opcode(Operation operation) {
        return switch (operation) {
            case RDMA_WRITE, RDMA_WRITE_WITH_IMMEDIATE -> WorkCompletion.Opcode.RDMA_WRITE;
            case RDMA_READ -> WorkCompletion.Opcode.RDMA_READ;
            case COMPARE_AND_SWAP -> WorkCompletion.Opcode.COMPARE_AND_SWAP;
            case FETCH_AND_ADD -> WorkCompletion.Opcode.FETCH_AND_ADD;
            case BIND_MW -> WorkCompletion.Opcode.BIND_MW;
            case LOCAL_INVALIDATE -> WorkCompletion.Opcode.LOCAL_INVALIDATE;
            default -> WorkCompletion.Opcode.SEND;
        };
    }

    private static void finish(PairNode pair, Request request, WorkStatus status, long bytes) {
        if (status != WorkStatus.SUCCESS || request.signaled) {
            complete(pair.sendQueue, done(pair, request, status, bytes), false);
        }
    }

    private static void flush(PairNode pair) {
        Request request;
        while ((request = pair.sends.poll()) != null) {
            finish(pair, request, WorkStatus.WORK_REQUEST_FLUSHED, 0);
        }
        while ((request = pair.own.pending.poll()) != null) {
            complete(pair.receiveQueue, received(pair, request, WorkStatus.WORK_REQUEST_FLUSHED, 0, 0, null), false);
        }
    }

    private static Done received(
            PairNode pair, Request receive, WorkStatus status, long bytes, int source, @Nullable Request sent) {
        boolean written = sent != null && sent.operation == Operation.RDMA_WRITE_WITH_IMMEDIATE;
        return new Done(
                receive.id,
                status,
                written ? WorkCompletion.Opcode.RECEIVE_RDMA_WITH_IMMEDIATE : WorkCompletion.Opcode.RECEIVE,
                bytes,
                pair,
                source,
                sent != null && sent.hasImmediate() ? sent.immediate : null,
                receive,
                pair.epoch);
    }

    private static void fail(PairNode pair) {
        if (pair.state == QueuePairState.ERR) {
            return;
        }
        pair.before = pair.state;
        pair.failureKnown = false;
        pair.state = QueuePairState.ERR;
        flush(pair);
        if (pair.shared != null) {
            pair.domain.context.raised.add(new Raised(AsyncEvent.Type.QP_LAST_WQE_REACHED, pair));
        }
    }

    // --- moving bytes ---

    private boolean opens(DomainNode domain, RegionNode region, boolean write) {
        return region.open
                && region.domain.root() == domain.root()
                && (!write || region.access.contains(AccessFlag.LOCAL_WRITE));
    }

    /** Returns the memory that a key opens to the peers of a queue pair, from an address on; or null. */
    private @Nullable ByteBuffer remote(PairNode target, Request request, long length, AccessFlag right) {
        long address = request.remote.address();
        int key = request.remote.key();
        for (RegionNode region : regions) {
            if (region.key == key) {
                return region.domain.root() == target.domain.root()
                                && region.access.contains(right)
                                && covers(region.remote.address(), region.length(), address, length)
                        ? memory(region, address - region.remote.address())
                        : null;
            }
        }
        for (WindowNode window : windows) {
            if (window.key == key && window.bound != null) {
                return window.domain.root() == target.domain.root()
                                && window.access.contains(right)
                                && covers(window.address, window.length, address, length)
                        ? memory(window.bound, address - window.bound.remote.address())
                        : null;
            }
        }
        return null;
    }

    /** Returns the receives that datagrams have come to since the last call. */
    List<Request> takeHeaders() {
        List<Request> taken = List.copyOf(headers);
        headers.clear();
        return taken;
    }

    /** Returns the region that a request names at the peer, if its key opens the range; or null. */
    @Nullable
    RegionNode remoteRegion(PairNode target, Request request, AccessFlag right) {
        long length = request.isAtomic() ? Long.BYTES : request.length();
        return remote(target, request, length, right) == null
                ? null
                : regions.stream()
                        .filter(each -> each.key == request.remote.key())
                        .findFirst()
                        .orElse(null);
    }

    private static boolean covers(long start, long size, long address, long length) {
        return address >= start && address - start <= size && size - (address - start) >= length;
    }

    private static ByteBuffer memory(RegionNode region, long offset) {
        return ByteBuffer.wrap(region.block.mirror)
                .order(ByteOrder.nativeOrder())
                .position((int) offset);
    }

    /** Copies the pieces of a request to a place; returns false if a key does not open a piece. */
    private boolean gather(PairNode pair, Request request, ByteBuffer place, long length) {
        if (request.inline != null) {
            System.arraycopy(request.inline, 0, place.array(), place.position(), (int) length);
            return true;
        }
        return move(pair, request, place, length, false);
    }

    /** Copies from a place to the pieces of a request; returns false if a key does not open a piece. */
    private boolean scatter(PairNode pair, Request request, ByteBuffer place, long length) {
        return move(pair, request, place, length, true);
    }

    private boolean move(PairNode pair, Request request, ByteBuffer place, long length, boolean toPieces) {
        int at = place.position();
        long left = length;
        for (Piece piece : request.pieces) {
            if (left == 0) {
                break;
            }
            int part = (int) Math.min(piece.length(), left);
            if (!opens(pair.domain, piece.region(), toPieces)) {
                return false;
            }
            byte[] memory = piece.region().block.mirror;
            if (toPieces) {
                System.arraycopy(place.array(), at, memory, (int) piece.start(), part);
            } else {
                System.arraycopy(memory, (int) piece.start(), place.array(), at, part);
            }
            at += part;
            left -= part;
        }
        return true;
    }

    boolean checksLocally(PairNode pair, Request request, boolean write) {
        return request.inline != null
                || request.pieces.stream()
                        .allMatch(piece -> piece.length() == 0 || opens(pair.domain, piece.region(), write));
    }

    /** Writes an IPv4 header into the room for the routing header, as RoCE v2 does. */
    private static void fillHeader(byte[] buffer, long length) {
        byte[] header = new byte[20];
        int total = (int) (20 + length);
        header[0] = 0x45;
        header[2] = (byte) (total >> 8);
        header[3] = (byte) total;
        header[8] = 64;
        header[9] = 17;
        byte[] address = {10, 9, 9, 1};
        System.arraycopy(address, 0, header, 12, 4);
        System.arraycopy(address, 0, header, 16, 4);
        int sum = 0;
        for (int i = 0; i < 20; i += 2) {
            sum += (header[i] & 0xff) << 8 | header[i + 1] & 0xff;
        }
        sum = (sum & 0xffff) + (sum >> 16);
        sum = ~((sum & 0xffff) + (sum >> 16));
        header[10] = (byte) (sum >> 8);
        header[11] = (byte) sum;
        System.arraycopy(header, 0, buffer, 20, 20);
    }

    /** Delivers into the next receive of the peer; returns null if there is none. */
    private @Nullable WorkStatus deliver(PairNode from, Request sent, PairNode to, long length, boolean withData) {
        Request receive = to.receives().pending.peek();
        if (receive == null) {
            return null;
        }
        int header = to.datagrams ? HEADER : 0;
        WorkStatus status = WorkStatus.SUCCESS;
        WorkStatus theirs = WorkStatus.SUCCESS;
        if (withData) {
            byte[] buffer = new byte[(int) (header + length)];
            if (to.datagrams) {
                fillHeader(buffer, length);
                headers.add(receive);
            }
            if (!gather(from, sent, ByteBuffer.wrap(buffer).position(header), length)) {
                return WorkStatus.LOCAL_PROTECTION_ERROR;
            } else if (buffer.length > receive.length()) {
                theirs = WorkStatus.LOCAL_LENGTH_ERROR;
                status = WorkStatus.REMOTE_INVALID_REQUEST_ERROR;
            } else if (!scatter(to, receive, ByteBuffer.wrap(buffer), buffer.length)) {
                theirs = WorkStatus.LOCAL_PROTECTION_ERROR;
                status = WorkStatus.REMOTE_OPERATION_ERROR;
            }
        }
        to.receives().pending.remove();
        if (sent.operation == Operation.SEND_WITH_INVALIDATE) {
            for (WindowNode window : windows) {
                if (window.key == sent.key) {
                    window.bound = null;
                }
            }
        }
        complete(to.receiveQueue, received(to, receive, theirs, header + length, from.number, sent), sent.solicited);
        if (theirs != WorkStatus.SUCCESS && !to.datagrams) {
            fail(to);
        }
        return to.datagrams || from.unreliable ? WorkStatus.SUCCESS : status;
    }

    private WorkStatus bind(Request request) {
        WindowNode window = request.window;
        Piece part = request.pieces.get(0);
        if (!window.open || !part.region().open || window.bound != null) {
            return WorkStatus.MW_BIND_ERROR;
        }
        bound(request);
        return WorkStatus.SUCCESS;
    }

    /** Notes that a window covers a part of a region. */
    void bound(Request request) {
        WindowNode window = request.window;
        Piece part = request.pieces.get(0);
        window.key = request.key;
        window.bound = part.region();
        window.address = part.region().remote.address() + part.start();
        window.length = part.length();
        window.access = request.access;
    }

    private WorkStatus invalidate(int key) {
        for (WindowNode window : windows) {
            if (window.key == key && window.bound != null) {
                window.bound = null;
                return WorkStatus.SUCCESS;
            }
        }
        return WorkStatus.LOCAL_QP_OPERATION_ERROR;
    }

    @Nullable
    PairNode pair(int number) {
        for (PairNode pair : pairs) {
            if (pair.number == number) {
                return pair;
            }
        }
        return null;
    }

    /** Carries out a request; returns null if it has to wait for a receive. */
    private @Nullable WorkStatus carryOut(PairNode pair, Request request) {
        if (request.operation == Operation.BIND_MW) {
            return bind(request);
        }
        if (request.operation == Operation.LOCAL_INVALIDATE) {
            return invalidate(request.key);
        }
        PairNode to = pair(pair.datagrams ? request.target : pair.peer);
        boolean gone = to == null
                || (to.state != QueuePairState.RTR && to.state != QueuePairState.RTS)
                || (pair.datagrams && to.qkey != request.qkey);
        boolean writes = request.operation == Operation.RDMA_READ || request.isAtomic();
        if (!checksLocally(pair, request, writes)) {
            return WorkStatus.LOCAL_PROTECTION_ERROR;
        }
        if (gone) {
            return pair.datagrams || pair.unreliable ? WorkStatus.SUCCESS : WorkStatus.RETRY_EXCEEDED;
        }
        long length = request.length();
        return switch (request.operation) {
            case RDMA_WRITE, RDMA_WRITE_WITH_IMMEDIATE -> write(pair, request, to, length);
            case RDMA_READ -> {
                ByteBuffer place = remote(to, request, length, AccessFlag.REMOTE_READ);
                if (length > 0 && place == null) {
                    fail(to);
                    yield WorkStatus.REMOTE_ACCESS_ERROR;
                }
                if (length > 0) {
                    scatter(pair, request, place, length);
                }
                yield WorkStatus.SUCCESS;
            }
            case FETCH_AND_ADD, COMPARE_AND_SWAP -> atomic(pair, request, to);
            default -> {
                WorkStatus status = deliver(pair, request, to, length, true);
                yield status == null && (pair.datagrams || pair.unreliable) ? WorkStatus.SUCCESS : status;
            }
        };
    }

    private @Nullable WorkStatus write(PairNode pair, Request request, PairNode to, long length) {
        boolean notifies = request.operation == Operation.RDMA_WRITE_WITH_IMMEDIATE;
        if (notifies && to.receives().pending.isEmpty()) {
            return pair.unreliable ? WorkStatus.SUCCESS : null;
        }
        ByteBuffer place = remote(to, request, length, AccessFlag.REMOTE_WRITE);
        if (length > 0 && place == null) {
            fail(to);
            return pair.unreliable ? WorkStatus.SUCCESS : WorkStatus.REMOTE_ACCESS_ERROR;
        }
        if (length > 0) {
            gather(pair, request, place, length);
        }
        if (notifies) {
            deliver(pair, request, to, length, false);
        }
        return WorkStatus.SUCCESS;
    }

    private WorkStatus atomic(PairNode pair, Request request, PairNode to) {
        ByteBuffer place = remote(to, request, Long.BYTES, AccessFlag.REMOTE_ATOMIC);
        if (place == null) {
            fail(to);
            return WorkStatus.REMOTE_ACCESS_ERROR;
        }
        long old = place.getLong(place.position());
        if (request.operation == Operation.FETCH_AND_ADD) {
            place.putLong(place.position(), old + request.compareAdd);
        } else if (old == request.compareAdd) {
            place.putLong(place.position(), request.swap);
        }
        ByteBuffer answer = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
        answer.putLong(0, old);
        scatter(pair, request, answer, Long.BYTES);
        return WorkStatus.SUCCESS;
    }

    private void progress(PairNode pair) {
        if (pair.busy) {
            return;
        }
        pair.busy = true;
        while (!pair.sends.isEmpty() && pair.state == QueuePairState.RTS) {
            Request request = pair.sends.peek();
            WorkStatus status = carryOut(pair, request);
            if (status == null) {
                break;
            }
            pair.sends.remove();
            long bytes =
                    request.isAtomic() ? Long.BYTES : request.operation == Operation.BIND_MW ? 0 : request.length();
            finish(pair, request, status, bytes);
            if (status != WorkStatus.SUCCESS) {
                fail(pair);
            }
        }
        pair.busy = false;
        if (pair.state == QueuePairState.ERR) {
            flush(pair);
        }
    }

    void progressAll() {
        for (PairNode pair : pairs) {
            if (!pair.sends.isEmpty()) {
                progress(pair);
            }
        }
    }

    /** Returns the first byte that differs from its mirror, or -1. */
    static long mismatch(Node.Block block) {
        return block.view.mismatch(MemorySegment.ofArray(block.mirror));
    }
}

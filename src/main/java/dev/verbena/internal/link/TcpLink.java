package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The queues of a channel over TCP. The program's threads post requests here, and the thread of the {@link TcpCarrier}
 * carries them out. The lock of this link guards all fields, and is taken after that of the channel.
 */
public final class TcpLink extends Link {
    /** Memory for a message of the peer. */
    record Receive(int place, long address, int key, long length) {}

    private final TcpMemory memory;
    private final TcpStream stream;
    private final LinkOwner owner;
    private final Mutex lock = new Mutex();
    private final ArrayDeque<TcpFrame> posted = new ArrayDeque<>();

    /** The requests that the peer has not answered, in order. */
    private final ArrayDeque<TcpFrame> sent = new ArrayDeque<>();

    private final ArrayDeque<Receive> receives = new ArrayDeque<>();
    private final ArrayDeque<TcpFrame> unused = new ArrayDeque<>();
    private int reads;

    public TcpLink(TcpMemory memory, TcpStream stream, Sizes sizes, LinkOwner owner) {
        super(
                memory.register(
                        owner.arena().allocate(greetings(sizes), CACHE_LINE),
                        List.of(AccessFlag.LOCAL_WRITE),
                        owner.arena()),
                sizes);
        this.memory = memory;
        this.stream = stream;
        this.owner = owner;
    }

    @Override
    public QueuePair pair() {
        throw new UnsupportedOperationException("a channel over TCP has no queue pair");
    }

    /** Returns what the peer's keys belong to. */
    Object holder() {
        return owner.holder();
    }

    // Posting

    @Override
    public void send(int place, LocalMemory message) {
        TcpFrame request = request(TcpFrame.SEND, place, message, message.length());
        request.copyShort(message.segment());
        post(request);
    }

    @Override
    public void post(OperationKind kind, int place, LocalMemory local, RemoteMemory remote, long first, long second) {
        if (!kind.isAtomic()) {
            memory.checkOwn(local, kind == OperationKind.READ);
        } else if (remote.length() < Long.BYTES || remote.address() % Long.BYTES != 0) {
            throw new IllegalArgumentException(
                    "an atomic needs 8 bytes at an address that is a multiple of 8, got " + remote);
        }
        int type = switch (kind) {
            case READ -> TcpFrame.READ;
            case WRITE -> TcpFrame.WRITE;
            case FETCH_AND_ADD -> TcpFrame.FETCH_AND_ADD;
            case COMPARE_AND_SWAP -> TcpFrame.COMPARE_AND_SWAP;
        };
        TcpFrame request = request(type, place, local, remote.length());
        if (kind.isAtomic()) {
            request.length = 0;
        }
        request.address = remote.address();
        request.key = remote.key();
        request.first = first;
        request.second = second;
        post(request);
    }

    /** Posts a write of no bytes, which needs no key. */
    @Override
    public void probe(int place) {
        post(request(TcpFrame.WRITE, place));
    }

    private TcpFrame request(int type, int place, LocalMemory local, long most) {
        long length = local.length();
        if (length > Math.min(most, Integer.MAX_VALUE)) {
            throw new IndexOutOfBoundsException("length must be at most " + Math.min(most, Integer.MAX_VALUE)
                    + ", the rest of the remote memory or of a message of this transport, got " + length);
        }
        TcpFrame request = request(type, place);
        request.length = (int) length;
        request.dataAddress = local.address();
        request.dataKey = memory.keyOf(local.region());
        return request;
    }

    private TcpFrame request(int type, int place) {
        try (var _ = lock.held()) {
            TcpFrame request = unused.isEmpty() ? new TcpFrame() : unused.removeLast();
            request.begin(type);
            request.place = place;
            return request;
        }
    }

    private void post(TcpFrame request) {
        try (var _ = lock.held()) {
            posted.add(request);
        }
        try {
            stream.hasWork();
        } catch (Throwable shortage) {
            if (isTakenBack(request)) { // else it is on its way
                throw shortage;
            }
        }
    }

    private boolean isTakenBack(TcpFrame request) {
        try (var _ = lock.held()) {
            return posted.removeLastOccurrence(request);
        }
    }

    @Override
    public void receive(int place, LocalMemory into) {
        Receive receive = new Receive(place, into.address(), memory.keyOf(into.region()), into.length());
        try (var _ = lock.held()) {
            receives.add(receive);
        }
    }

    @Override
    public Key grant(int place, MemoryRegion region, Set<AccessFlag> access, VerbsArena arena) {
        RemoteMemory granted = memory.grant(this, region, access);
        return new Key(() -> new Shown(granted), false, () -> memory.revoke(granted.key()));
    }

    // For the thread that carries requests out

    /** Takes the next request to send; null if there is none, or the peer has to answer reads first. */
    @Nullable
    public TcpFrame next() {
        try (var _ = lock.held()) {
            TcpFrame request = posted.peek();
            if (request == null || (request.needsAnswer() && reads == TcpFrame.MAX_READS)) {
                return null;
            }
            posted.remove();
            sent.add(request);
            if (request.needsAnswer()) {
                reads++;
            }
            return request;
        }
    }

    /**
     * Takes memory for a message; null if the peer has sent too many. The memory that was used last is still in the
     * processor's cache.
     */
    @Nullable
    Receive takeReceive() {
        try (var _ = lock.held()) {
            return receives.pollLast();
        }
    }

    /** Returns the request that the peer has to answer next; null if there is none. */
    @Nullable
    TcpFrame unanswered() {
        try (var _ = lock.held()) {
            return sent.peek();
        }
    }

    /** Notes the answer to the request that {@link #unanswered} has returned. Returns its place. */
    int answered() {
        try (var _ = lock.held()) {
            TcpFrame request = sent.remove();
            if (request.needsAnswer()) {
                reads--;
            }
            unused.add(request);
            return request.place;
        }
    }
}

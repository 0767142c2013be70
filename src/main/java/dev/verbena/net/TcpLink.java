package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemorySlice;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The queues of a channel over TCP. The program's threads post requests here, and the thread of the {@link TcpCarrier}
 * carries them out. The lock of this link guards all fields, and is taken after that of the channel.
 */
final class TcpLink extends Link {
    /** A request of this side. */
    static final class Request {
        int type;
        long id;
        int length;
        long localAddress;
        int localKey;
        long address;
        int key;
        int number;
        long first;
        long second;

        boolean isRead() {
            return type != TcpFrame.SEND && type != TcpFrame.WRITE;
        }
    }

    /** Memory for a message of the peer. */
    record Receive(long id, long address, int key, long length) {}

    private final TcpMemory memory;
    private final TcpStream stream;
    private final ReentrantLock lock = new ReentrantLock();
    private final ArrayDeque<Request> posted = new ArrayDeque<>();

    /** The requests that the peer has not answered, in order. */
    private final ArrayDeque<Request> sent = new ArrayDeque<>();

    private final ArrayDeque<Receive> receives = new ArrayDeque<>();
    private final ArrayDeque<Request> unused = new ArrayDeque<>();
    private int reads;

    TcpLink(TcpMemory memory, TcpStream stream, NodeOptions options, int messages, VerbsArena arena) {
        super(
                memory.register(
                        arena.allocate(size(options, messages, 0), CACHE_LINE), List.of(AccessFlag.LOCAL_WRITE), arena),
                options,
                messages,
                0);
        this.memory = memory;
        this.stream = stream;
    }

    @Override
    QueuePair pair() {
        throw new UnsupportedOperationException("a channel over TCP has no queue pair");
    }

    // Posting

    @Override
    void send(long id, MemorySlice data, int immediate) {
        Request request = request(TcpFrame.SEND, id, data, data.length());
        request.number = immediate;
        post(request);
    }

    @Override
    void send(long id, int immediate) {
        Request request = request(TcpFrame.SEND, id);
        request.number = immediate;
        post(request);
    }

    @Override
    void read(long id, LocalMemory into, RemoteMemory from) {
        memory.checkOwn(into, true);
        post(remote(request(TcpFrame.READ, id, into, from.length()), from));
    }

    @Override
    void write(long id, LocalMemory data, RemoteMemory to) {
        memory.checkOwn(data, false);
        post(remote(request(TcpFrame.WRITE, id, data, to.length()), to));
    }

    @Override
    void fetchAndAdd(long id, int number, RemoteMemory at, long value) {
        Request request = atomic(TcpFrame.FETCH_AND_ADD, id, number, at);
        request.first = value;
        post(request);
    }

    @Override
    void compareAndSwap(long id, int number, RemoteMemory at, long expected, long value) {
        Request request = atomic(TcpFrame.COMPARE_AND_SWAP, id, number, at);
        request.first = expected;
        request.second = value;
        post(request);
    }

    /** Posts a write of no bytes, which needs no key. */
    @Override
    void probe(long id) {
        post(request(TcpFrame.WRITE, id));
    }

    private Request atomic(int type, long id, int number, RemoteMemory at) {
        if (at.length() < Long.BYTES || at.address() % Long.BYTES != 0) {
            throw new IllegalArgumentException(
                    "an atomic needs 8 bytes at an address that is a multiple of 8, got " + at);
        }
        Request request = remote(request(type, id, result(number), Long.BYTES), at);
        request.length = 0;
        return request;
    }

    private static Request remote(Request request, RemoteMemory at) {
        request.address = at.address();
        request.key = at.key();
        return request;
    }

    private Request request(int type, long id, LocalMemory local, long most) {
        long length = local.length();
        if (length > Math.min(most, Integer.MAX_VALUE)) {
            throw new IndexOutOfBoundsException("length must be at most " + Math.min(most, Integer.MAX_VALUE)
                    + ", the rest of the remote memory or of a message of this transport, got " + length);
        }
        Request request = request(type, id);
        request.length = (int) length;
        request.localAddress = local.address();
        request.localKey = memory.keyOf(local.region());
        return request;
    }

    private Request request(int type, long id) {
        lock.lock();
        try {
            Request request = unused.isEmpty() ? new Request() : unused.removeLast();
            request.type = type;
            request.id = id;
            request.length = 0;
            request.localAddress = 0;
            request.localKey = 0;
            request.address = 0;
            request.key = 0;
            request.number = 0;
            request.first = 0;
            request.second = 0;
            return request;
        } finally {
            lock.unlock();
        }
    }

    private void post(Request request) {
        lock.lock();
        try {
            posted.add(request);
        } finally {
            lock.unlock();
        }
        stream.hasWork();
    }

    @Override
    void receive(long id, MemorySlice into) {
        Receive receive = new Receive(id, into.address(), memory.keyOf(into.region()), into.length());
        lock.lock();
        try {
            receives.add(receive);
        } finally {
            lock.unlock();
        }
    }

    /** The key of an export for the peer of this channel. */
    private record GrantedKey(TcpMemory memory, RemoteMemory remote) implements Key {
        @Override
        public boolean isPosted() {
            return false;
        }

        @Override
        public void free() {
            memory.revoke(remote.key());
        }
    }

    @Override
    Key grant(long id, Export export) {
        return new GrantedKey(memory, memory.grant(this, export));
    }

    // For the thread that carries requests out

    /** Takes the next request to send; null if there is none, or the peer has to answer reads first. */
    @Nullable
    Request next() {
        lock.lock();
        try {
            Request request = posted.peek();
            if (request == null || (request.isRead() && reads == TcpFrame.MAX_READS)) {
                return null;
            }
            posted.remove();
            sent.add(request);
            if (request.isRead()) {
                reads++;
            }
            return request;
        } finally {
            lock.unlock();
        }
    }

    /** Takes memory for a message; null if the peer has sent too many. */
    @Nullable
    Receive takeReceive() {
        lock.lock();
        try {
            return receives.poll();
        } finally {
            lock.unlock();
        }
    }

    /** Returns the request that the peer has to answer next; null if there is none. */
    @Nullable
    Request unanswered() {
        lock.lock();
        try {
            return sent.peek();
        } finally {
            lock.unlock();
        }
    }

    /** Notes the answer to the request that {@link #unanswered} has returned. Returns its id. */
    long answered() {
        lock.lock();
        try {
            Request request = sent.remove();
            if (request.isRead()) {
                reads--;
            }
            unused.add(request);
            return request.id;
        } finally {
            lock.unlock();
        }
    }
}

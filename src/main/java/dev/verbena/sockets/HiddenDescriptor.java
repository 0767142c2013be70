package dev.verbena.sockets;

import dev.verbena.internal.Mutex;
import dev.verbena.internal.SystemCall;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Finds descriptors of an rsocket. No release of librdmacm has a function that returns them.
 *
 * <p>But {@code rfcntl} passes {@code O_NONBLOCK} on to them, so the descriptor whose flag follows is the right one.
 */
final class HiddenDescriptor {
    /** The result if no descriptor was found. */
    static final int NOT_FOUND = -1;

    private static final String SOCKET = "socket:";
    private static final String COMPLETION_CHANNEL = "anon_inode:[infinibandevent]";
    private static final int ROUNDS = 3;

    /** A completion channel is opened soon after its rsocket, even among many, and mostly has one of the next numbers. */
    private static final int NEAR = 64;

    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
    private static final Mutex LOCK = new Mutex();

    private HiddenDescriptor() {}

    /**
     * Returns the descriptor that becomes readable when a listening rsocket has a connection to accept. The rsocket is
     * non-blocking, and no other thread uses it yet.
     *
     * <p>A thread of librdmacm puts connections into a socket pair of the listener. {@code rpoll} does not sleep on that
     * pair, but on the descriptor that the thread reads requests from, so it may miss a connection for
     * {@code wake_up_interval}, 5 seconds.
     */
    static int acceptQueue(int listener) {
        // the flags of two rsockets must not change at once
        try (var _ = LOCK.held()) {
            return find(all(), SOCKET, listener);
        }
    }

    /**
     * Takes the next connection that nobody has accepted from the queue of a listener that C has closed. Returns the number
     * of the rsocket; {@link #NOT_FOUND} if there is none.
     *
     * <p>C puts the addresses of rsockets into the queue. In all releases, the struct begins with the type and the number.
     *
     * @param queue a duplicate of {@link #acceptQueue}, since C has closed its own
     */
    static int takeUnaccepted(int queue) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment entry = scratch.allocate(ValueLayout.ADDRESS);
            if (SystemCall.READ.quietly(queue, entry.address(), entry.byteSize(), 0) != entry.byteSize()) {
                return NOT_FOUND;
            }
            MemorySegment head = entry.get(ValueLayout.ADDRESS, 0).reinterpret(2 * Integer.BYTES);
            return head.get(ValueLayout.JAVA_INT, 0) == Rsocket.STREAM
                    ? head.get(ValueLayout.JAVA_INT, Integer.BYTES)
                    : NOT_FOUND;
        }
    }

    /**
     * Returns the completion channel of a connected, non-blocking rsocket, and makes the rsocket a blocking one with a
     * non-blocking channel. Changes nothing if the channel is not found.
     *
     * <p>A function of C without {@code MSG_DONTWAIT} then has the channel armed before it fails with {@code EAGAIN}: the
     * channel becomes readable when it is worth to call again. And no function waits for the peer any more. No other thread
     * may call a function that would.
     */
    static int completionChannel(int socket) {
        try (var _ = LOCK.held()) {
            List<Integer> near = new ArrayList<>(
                    IntStream.rangeClosed(socket + 1, socket + NEAR).boxed().toList());
            int found = find(near, COMPLETION_CHANNEL, socket);
            if (found == NOT_FOUND) {
                found = find(all(), COMPLETION_CHANNEL, socket);
            }
            if (found != NOT_FOUND) {
                Rsocket.setNonBlocking(socket, false);
                SystemCall.makeNonBlocking(found);
            }
            return found;
        }
    }

    /** The kind is asked last: a link of the kernel's is read in a hundred times the time of a flag. */
    private static int find(List<Integer> candidates, String kind, int socket) {
        for (int round = 0; round < ROUNDS && !candidates.isEmpty(); round++) {
            keep(candidates, socket, false);
            keep(candidates, socket, true);
        }
        candidates.removeIf(candidate -> !isOfKind(candidate, kind));
        return candidates.size() == 1 ? candidates.getFirst() : NOT_FOUND;
    }

    private static void keep(List<Integer> candidates, int socket, boolean nonBlocking) {
        Rsocket.setNonBlocking(socket, nonBlocking);
        candidates.removeIf(candidate -> {
            int flags = SystemCall.flags(candidate);
            return flags < 0 || ((flags & SystemCall.NON_BLOCKING) != 0) != nonBlocking;
        });
    }

    private static List<Integer> all() {
        List<Integer> found = new ArrayList<>();
        try (Stream<Path> paths = Files.list(DESCRIPTORS)) {
            paths.forEach(path -> found.add(Integer.valueOf(path.getFileName().toString())));
        } catch (IOException noProc) {
            return new ArrayList<>();
        }
        return found;
    }

    private static boolean isOfKind(int descriptor, String kind) {
        try {
            return Files.readSymbolicLink(DESCRIPTORS.resolve(Integer.toString(descriptor)))
                    .toString()
                    .startsWith(kind);
        } catch (IOException noSuchDescriptor) {
            return false;
        }
    }
}

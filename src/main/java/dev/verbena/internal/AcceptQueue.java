package dev.verbena.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * Finds the descriptor that becomes readable when a listening rsocket has a connection to accept.
 *
 * <p>A thread of librdmacm puts connections into a socket pair of the listener. {@code rpoll} does not sleep on that pair,
 * but on the descriptor that the thread reads requests from, so it may miss a connection for {@code wake_up_interval},
 * 5 seconds. No function returns the pair's descriptor. But {@code rfcntl} passes {@code O_NONBLOCK} on to it, so the
 * descriptor whose flag follows is the right one.
 */
public final class AcceptQueue {
    /** The result of {@link #find} if no descriptor was found. */
    public static final int NOT_FOUND = -1;

    private static final int ROUNDS = 3;
    private static final int SET_FLAGS = 4;
    private static final int NON_BLOCKING = 04000;
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
    private static final ReentrantLock LOCK = new ReentrantLock();

    private AcceptQueue() {}

    /** Returns the descriptor of a listening, non-blocking rsocket that no other thread uses yet. */
    public static int find(int listener) {
        LOCK.lock(); // the flags of two listeners must not change at once
        try {
            List<Integer> candidates = sockets();
            for (int round = 0; round < ROUNDS; round++) {
                keep(candidates, listener, 0);
                keep(candidates, listener, NON_BLOCKING);
            }
            return candidates.size() == 1 ? candidates.getFirst() : NOT_FOUND;
        } catch (IOException e) {
            Rsocket.CONTROL.call(listener, SET_FLAGS, NON_BLOCKING);
            return NOT_FOUND;
        } finally {
            LOCK.unlock();
        }
    }

    private static void keep(List<Integer> candidates, int listener, int flag) {
        Rsocket.CONTROL.call(listener, SET_FLAGS, flag);
        candidates.removeIf(candidate -> {
            int flags = SystemCall.flags(candidate);
            return flags < 0 || (flags & NON_BLOCKING) != flag;
        });
    }

    private static List<Integer> sockets() throws IOException {
        List<Integer> found = new ArrayList<>();
        try (Stream<Path> all = Files.list(DESCRIPTORS)) {
            for (Path path : (Iterable<Path>) all::iterator) {
                if (isSocket(path)) {
                    found.add(Integer.valueOf(path.getFileName().toString()));
                }
            }
        }
        return found;
    }

    private static boolean isSocket(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
        } catch (IOException closedMeanwhile) {
            return false;
        }
    }
}

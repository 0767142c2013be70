package dev.verbena.docs;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.net.CallException;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.EndReason;
import dev.verbena.net.Node;
import dev.verbena.support.Await;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

/** The parts that tests of the programs share: a free port, a client that waits for the server, and calls. */
final class NodeProgram {
    private NodeProgram() {}

    /** Returns an address with a port at which no node listens. */
    static InetSocketAddress free(InetSocketAddress own) {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            return Node.open(own, arena).address();
        }
    }

    static String[] words(InetSocketAddress address, String first, String... last) {
        String[] words = new String[3 + last.length];
        words[0] = first;
        words[1] = address.getAddress().getHostAddress();
        words[2] = Integer.toString(address.getPort());
        System.arraycopy(last, 0, words, 3, last.length);
        return words;
    }

    /** Work that connects to a server. */
    interface Work {
        void run() throws Exception;
    }

    /** Repeats work that fails because the server does not listen or answer yet. */
    static void untilItListens(Work work, BooleanSupplier runs) {
        Await.until("the server listens", () -> {
            try {
                work.run();
                return true;
            } catch (ChannelException early) {
                boolean slow = early.reason() == EndReason.HANDSHAKE_TIMEOUT; // a JVM that starts in an emulated guest
                if ((!slow && early.reason() != EndReason.UNREACHABLE) || !runs.getAsBoolean()) {
                    throw early;
                }
                return false;
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    /** Connects when the server listens. */
    static Channel connect(Node client, InetSocketAddress server, BooleanSupplier runs) {
        AtomicReference<Channel> made = new AtomicReference<>();
        untilItListens(() -> made.set(client.connect(server, DEADLINE)), runs);
        return made.get();
    }

    /** Returns the memory that a server exports as soon as it does: it can be connected to a moment earlier. */
    static RemoteMemory remote(Channel server, String name) {
        AtomicReference<RemoteMemory> found = new AtomicReference<>();
        Await.until("the server exports " + name, () -> {
            try {
                found.set(server.remote(name, DEADLINE));
                return true;
            } catch (CallException early) {
                return false;
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        return found.get();
    }

    /** Returns the output of a process that has ended too early, and waits for it. */
    static String output(Process process) {
        try {
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static double root(Channel server, double number) throws InterruptedException {
        var request = server.message(DEADLINE).length(Double.BYTES);
        request.segment().set(ValueLayout.JAVA_DOUBLE, 0, number);
        try (var reply = server.call(request, DEADLINE)) {
            return reply.segment().get(ValueLayout.JAVA_DOUBLE, 0);
        }
    }
}

package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.support.Fenced;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Two nodes on the provider for tests, and threads that use them. */
final class NodePair implements AutoCloseable {
    static final InetSocketAddress OWN = new InetSocketAddress("10.9.9.1", 0);

    /** Small windows, so that credits run out. */
    static final NodeOptions SMALL =
            NodeOptions.defaults().window(4).sends(4).calls(4).messageSize(256);

    final VerbsArena arena = VerbsArena.ofShared();
    final Node client;
    final Node server;
    private final ExecutorService threads =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());

    NodePair() {
        this(SMALL);
    }

    NodePair(NodeOptions options) {
        this(options, options);
    }

    NodePair(NodeOptions ofClient, NodeOptions ofServer) {
        server = Node.open(OWN, ofServer, arena);
        client = Node.open(OWN, ofClient, arena);
    }

    /** Both ends of one connection. */
    record Ends(Channel client, Channel server) {}

    Ends connect() throws Exception {
        Future<Channel> accepted = start(() -> server.accept(DEADLINE));
        Channel made = client.connect(server.address(), DEADLINE);
        return new Ends(made, end(accepted));
    }

    /** Sends a number. */
    static void send(Channel on, long value) throws InterruptedException {
        Message message = on.message(DEADLINE).length(Long.BYTES);
        message.segment().set(ValueLayout.JAVA_LONG, 0, value);
        on.send(message, DEADLINE);
    }

    /** Receives a number. */
    static long receive(Channel on) throws InterruptedException {
        try (Message message = on.receive(DEADLINE)) {
            return message.segment().get(ValueLayout.JAVA_LONG, 0);
        }
    }

    <T> Future<T> start(Callable<T> work) {
        return threads.submit(work);
    }

    static <T> T end(Future<T> work) throws Exception {
        return work.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        Fenced.calm(); // lets stopped calls go on
        threads.shutdownNow();
        arena.close();
    }
}

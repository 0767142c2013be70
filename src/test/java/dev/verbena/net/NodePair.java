package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.support.Fenced;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairState;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Two nodes on the provider for tests, and threads that use them. */
final class NodePair implements AutoCloseable {
    static final InetSocketAddress OWN = new InetSocketAddress("10.9.9.1", 0);

    /** Small windows, so that credits run out. */
    static final NodeOptions SMALL =
            NodeOptions.defaults().window(4).sends(4).calls(4).messageSize(256);

    private static final byte[] SECRET = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private static volatile Transport transport = Transport.RDMA;
    private static volatile Protection protection = Protection.NONE;

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
        server = open(ofServer, arena);
        client = open(ofClient, arena);
    }

    /** Sets the transport of the nodes that are opened from now on. */
    static void over(Transport changed) {
        transport = changed;
    }

    /** Sets the protection of the nodes that are opened from now on. */
    static void protect(Protection changed) {
        protection = changed;
    }

    /** Returns the transport of the nodes. */
    static Transport transport() {
        return transport;
    }

    /** Returns the address of the nodes. */
    static InetSocketAddress own() {
        return transport == Transport.RDMA ? OWN : new InetSocketAddress("127.0.0.1", 0);
    }

    static Node open(NodeOptions options, VerbsArena arena) {
        return open(options, own(), arena);
    }

    static Node open(NodeOptions options, InetSocketAddress own, VerbsArena arena) {
        NodeOptions all = options.transport(transport);
        return Node.open(
                own, protection == Protection.NONE ? all : all.secret(SECRET).protection(protection), arena);
    }

    /** Both ends of one connection. */
    record Ends(Channel client, Channel server) {}

    Ends connect() throws Exception {
        Future<Channel> accepted = start(() -> server.accept(DEADLINE));
        Channel made = client.connect(server.address(), DEADLINE);
        assertThat(made.transport()).isEqualTo(transport);
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

    /** Waits for the end of a channel from which no message comes, and returns its cause. */
    static ChannelException endOf(Channel channel) {
        return assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> channel.receive(DEADLINE))
                .actual();
    }

    /** Waits for the end of a channel from which no message comes, and returns its cause, which has a reason. */
    static ChannelException endOf(Channel channel, EndReason reason) {
        return failure(reason, () -> channel.receive(DEADLINE));
    }

    /** Does what the end of a channel makes fail, and returns the cause of that, which has a reason. */
    static ChannelException failure(EndReason reason, ThrowingCallable step) {
        return assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(step)
                .satisfies(told -> assertThat(told.reason()).isEqualTo(reason))
                .actual();
    }

    /** Waits for the end of work that fails, and returns what it has thrown. */
    static Throwable failure(Future<?> work) throws Exception {
        try {
            return new AssertionError("no failure, but " + end(work));
        } catch (ExecutionException e) {
            return e.getCause();
        }
    }

    /** Holds back what a channel sends from now on, as if the peer's adapter acknowledged nothing. */
    static void hold(Channel channel) {
        channel.queuePair().modify(QueuePairAttributes.to(QueuePairState.SQD));
    }

    /** Lets a channel send again. */
    static void letGo(Channel channel) {
        channel.queuePair().modify(QueuePairAttributes.to(QueuePairState.RTS));
    }

    <T> Future<T> start(Callable<T> work) {
        return threads.submit(work);
    }

    /** Work without a result. */
    interface Step {
        void run() throws Exception;
    }

    Future<Void> run(Step work) {
        return start(() -> {
            work.run();
            return null;
        });
    }

    /** Offers bytes in another thread. */
    Future<Void> offer(Channel by, byte... data) {
        return run(() -> by.offer(MemorySegment.ofArray(data), new byte[0], DEADLINE));
    }

    static <T> T end(Future<T> work) throws Exception {
        return work.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        if (Fenced.isLoaded()) {
            Fenced.calm(); // lets stopped calls go on
        }
        threads.shutdownNow();
        arena.close();
    }
}

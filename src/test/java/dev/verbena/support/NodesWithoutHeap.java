package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A program for {@link ChildJvm} with a small heap and without buffers for the allocations of threads: takes all of the heap
 * while two nodes have traffic. With the heap free again, each channel either works or says why it has ended, and everything
 * closes. The arguments are the transport and the address.
 */
public final class NodesWithoutHeap {
    private static final int ROUNDS = 5;
    private static final int CHANNELS = 3;

    /** The time without heap. A round is good whatever happens meanwhile. */
    private static final long HUNGER_NANOS = 400_000_000;

    private static final Duration LONGEST = Duration.ofSeconds(30);

    private static volatile @Nullable Object taken;

    private NodesWithoutHeap() {}

    public static void main(String[] arguments) throws Exception {
        NodeOptions options = NodeOptions.defaults()
                .window(4)
                .sends(4)
                .calls(4)
                .messageSize(256)
                .closeTimeout(Duration.ofSeconds(1))
                .transport(Transport.valueOf(arguments[0]));
        InetSocketAddress own = new InetSocketAddress(arguments[1], 0);
        int over = 0;
        for (int round = 0; round < ROUNDS; round++) {
            over += round(own, options) ? 1 : 0;
        }
        Await.until(
                "no thread is left",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().startsWith("verbena-node")));
        System.out.println("over " + over);
        System.out.println("left " + (Fenced.isLoaded() ? Fenced.remains() : "nothing"));
    }

    /** Returns true if a node was over. */
    private static boolean round(InetSocketAddress own, NodeOptions options) throws Exception {
        boolean over = false;
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node server = Node.open(own, options, arena);
            Node client = Node.open(own, options, arena);
            server.listen((channel, request) -> {
                Message reply = request.reply().length(0);
                reply.send();
            });
            List<Channel> channels = new ArrayList<>();
            List<Thread> threads = new ArrayList<>();
            AtomicLong calls = new AtomicLong();
            for (int i = 0; i < CHANNELS; i++) {
                Channel channel = client.connect(server.address(), LONGEST);
                channels.add(channel);
                threads.add(Thread.ofPlatform().daemon().start(() -> callUntilItFails(channel, calls)));
            }
            Await.until("traffic", () -> calls.get() > 100);
            long end = System.nanoTime() + HUNGER_NANOS;
            while (System.nanoTime() - end < 0) {
                takeHeap();
            }
            giveHeapBack();
            for (Channel channel : channels) {
                over |= endedOrWorks(channel);
            }
            for (Node node : List.of(client, server)) {
                over |= isOver(node);
            }
            for (Channel channel : channels) {
                close(channel);
            }
            for (Thread thread : threads) {
                Await.end(thread);
            }
        }
        return over;
    }

    static void giveHeapBack() {
        taken = null;
    }

    /** Takes all of the heap that is free. */
    static void takeHeap() {
        int size = 1 << 20;
        while (size > 0) {
            try {
                taken = new Object[] {taken, new byte[size]};
            } catch (OutOfMemoryError full) {
                size /= 4;
            }
        }
    }

    /** A call that meets the shortage itself fails by that, and the next one goes on. */
    private static void callUntilItFails(Channel channel, AtomicLong calls) {
        while (true) {
            try {
                call(channel, LONGEST);
                calls.incrementAndGet();
            } catch (OutOfMemoryError hungry) {
                Thread.onSpinWait();
            } catch (VerbsException | IllegalStateException | InterruptedException ended) {
                return;
            }
        }
    }

    private static void call(Channel channel, Duration timeout) throws InterruptedException {
        Message request = channel.message(timeout).length(0);
        try {
            channel.call(request, timeout).close();
        } finally {
            request.close();
        }
    }

    private static boolean endedOrWorks(Channel channel) throws InterruptedException {
        try {
            call(channel, LONGEST);
            return false;
        } catch (VerbsTimeoutException silent) {
            throw new AssertionError("no end and no progress: " + channel + ", " + channel.cause(), silent);
        } catch (ChannelException said) {
            if (channel.isOpen() || channel.cause().isEmpty()) {
                throw new AssertionError("ended, and does not say so: " + channel, said);
            }
            return true;
        }
    }

    private static boolean isOver(Node node) throws InterruptedException {
        try {
            node.progress();
            return false;
        } catch (ChannelException said) {
            return true;
        }
    }

    private static void close(Channel channel) {
        try {
            channel.close();
        } catch (ChannelException lost) {
            // It says what was lost.
        }
    }
}

package dev.verbena.bench;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.EndReason;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.NodeOptions.Progress;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Locale;

/**
 * Measures a channel between two processes on a device: messages there and back as {@link PingPong} exchanges them, by
 * polling, and transfers. The thread that waits makes progress itself.
 */
final class NetDevice {
    private static final Duration PATIENCE = Duration.ofSeconds(120);
    private static final long RETRY_MILLIS = 100;
    private static final double MEBIBYTE = 1 << 20;

    private final Node node;
    private final Channel channel;
    private final int warm;
    private final int rounds;

    private NetDevice(Node node, Channel channel, int warm, int rounds) {
        this.node = node;
        this.channel = channel;
        this.warm = warm;
        this.rounds = rounds;
    }

    /**
     * Arguments: messages or transfers, size, rounds of the warm-up, those measured or those of a turn, address and port of
     * the server, server or client.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        boolean messages = args[0].equals("messages");
        int size = Integer.parseInt(args[1]);
        InetSocketAddress address = new InetSocketAddress(args[4], Integer.parseInt(args[5]));
        boolean client = args[6].equals("client");
        NodeOptions options = NodeOptions.defaults()
                .handshakeTimeout(PATIENCE) // for a cold JVM in a guest
                .progress(Progress.CALLER);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = client ? Node.openTowards(address, options, arena) : Node.open(address, options, arena);
            Channel channel = client ? connect(node, address) : node.accept(PATIENCE);
            NetDevice end = new NetDevice(node, channel, Integer.parseInt(args[2]), Integer.parseInt(args[3]));
            if (messages) {
                end.messages(size, client);
            } else {
                end.transfers(arena.allocate(size, 4096), client);
            }
            channel.close();
        }
    }

    /** Connects to the server, with retries while it starts. */
    private static Channel connect(Node node, InetSocketAddress server) throws InterruptedException {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            try {
                return node.connect(server, PATIENCE);
            } catch (ChannelException notYet) {
                if (notYet.reason() != EndReason.UNREACHABLE || System.nanoTime() - end > 0) {
                    throw notYet;
                }
                Thread.sleep(RETRY_MILLIS);
            }
        }
    }

    /**
     * Sends messages there and back by turns. A message of one byte begins a turn, and one of no bytes ends them. It needs
     * no answer, because messages come in order.
     */
    private void messages(int size, boolean client) throws IOException, InterruptedException {
        Turns turns = new Turns(warm, rounds, count -> thereAndBack(count, size, client));
        if (client) {
            turns.lead(more -> send(more ? 1 : 0));
        } else {
            turns.follow(() -> {
                try (Message call = channel.receive(PATIENCE)) {
                    return call.length() > 0;
                }
            });
        }
    }

    private long[] thereAndBack(int count, int size, boolean client) {
        long[] times = new long[count / Turns.STEP + 1];
        if (client) {
            send(size);
        }
        for (int received = 1; received <= count; received++) {
            Message message = channel.pollReceive();
            while (message == null) {
                node.progress();
                message = channel.pollReceive();
            }
            message.close();
            if (received % Turns.STEP == 0) {
                times[received / Turns.STEP] = System.nanoTime();
            }
            if (!client || received < count) {
                send(size);
            }
        }
        return times;
    }

    private void send(int size) {
        Message message = channel.pollMessage();
        while (message == null) {
            node.progress();
            message = channel.pollMessage();
        }
        message.length(size);
        while (!channel.trySend(message)) {
            node.progress();
        }
    }

    private void transfers(MemorySegment memory, boolean client) throws InterruptedException {
        long start = System.nanoTime();
        for (int i = -warm; i < rounds; i++) {
            if (i == 0) {
                start = System.nanoTime();
            }
            if (client) {
                channel.offer(memory, new byte[0], PATIENCE);
            } else {
                try (Message offer = channel.receive(PATIENCE)) {
                    offer.transfer().accept(memory, PATIENCE);
                }
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf(
                Locale.ROOT,
                "%d transfers in %.2f seconds = %.2f MiB/sec%n",
                rounds,
                seconds,
                rounds * memory.byteSize() / MEBIBYTE / seconds);
    }
}

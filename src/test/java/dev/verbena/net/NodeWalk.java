package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.verbs.AccessFlag;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * A random walk of several threads at once over a few nodes: they open and close nodes, connect, call, send, write, read,
 * transfer, export, interrupt each other, and call with a full stack. Nothing is known of the order, so that all a walk can say
 * is that each call ends in time, with a result or a documented exception, and that an echo is what was sent.
 */
final class NodeWalk {
    private static final int NODES = 3;
    private static final int MOST_CHANNELS = 12;
    private static final int BLOCK = 4096;
    private static final String NAME = "block";

    /** The time limit of calls. */
    private static final Duration SHORT = Duration.ofMillis(300);

    /** The longest time that one step may take: several calls with their limits, each on a busy machine. */
    private static final Duration LONGEST = Duration.ofSeconds(120);

    private static final int DEEP = 2000;

    /** A step that had no stack is tried again so many frames higher. */
    private static final int FRAMES_BETWEEN = 32;

    /** A node with all that it has. */
    private record Station(VerbsArena arena, Node node, Export export) {}

    /** One thread of the walk, and what it does since when. */
    private final class Walker extends Thread {
        private final SplittableRandom random;
        private volatile String step = "nothing";
        private volatile long since = System.nanoTime();

        Walker(long seed) {
            super("walker " + seed);
            setDaemon(true);
            random = new SplittableRandom(seed);
        }

        @Override
        public void run() {
            while (failure == null && System.nanoTime() - end < 0) {
                step(STEPS[random.nextInt(STEPS.length)]);
            }
        }

        private void step(Step next) {
            step = next.name;
            since = System.nanoTime();
            String how = "done";
            try {
                next.action.run(NodeWalk.this, random);
            } catch (VerbsException | IllegalStateException | InterruptedException documented) {
                how = documented.getClass().getSimpleName();
            } catch (StackOverflowError full) {
                how = "full stack";
                if (!next.name.equals("deep")) {
                    fail(next, full);
                }
            } catch (Throwable undocumented) {
                fail(next, undocumented);
            }
            counts.computeIfAbsent(next.name + ": " + how, key -> new AtomicLong())
                    .incrementAndGet();
        }

        private void fail(Step of, Throwable cause) {
            failure = new AssertionError("the step '" + of.name + "' of " + getName() + " threw " + cause, cause);
        }
    }

    private interface Action {
        void run(NodeWalk walk, SplittableRandom random) throws Exception;
    }

    private record Step(String name, Action action) {}

    private static final Step[] STEPS = {
        new Step("call", NodeWalk::call),
        new Step("call", NodeWalk::call),
        new Step("call", NodeWalk::call),
        new Step("send", NodeWalk::send),
        new Step("write and read", NodeWalk::writeAndRead),
        new Step("write and read", NodeWalk::writeAndRead),
        new Step("transfer", NodeWalk::transfer),
        new Step("connect", NodeWalk::connect),
        new Step("connect", NodeWalk::connect),
        new Step("close a channel", NodeWalk::closeChannel),
        new Step("open a node", NodeWalk::openNode),
        new Step("open a node", NodeWalk::openNode),
        new Step("close a node", NodeWalk::closeNode),
        new Step("export", NodeWalk::export),
        new Step("interrupt", NodeWalk::interrupt),
        new Step("deep", NodeWalk::deep)
    };

    private final InetSocketAddress own;
    private final NodeOptions options;
    private final AtomicReferenceArray<Station> stations = new AtomicReferenceArray<>(NODES);
    private final List<Channel> channels = new ArrayList<>();
    private final List<Walker> walkers = new ArrayList<>();
    private final Queue<VerbsArena> unclosed = new ConcurrentLinkedQueue<>();
    private final boolean fullStacks;
    private final Map<String, AtomicLong> counts = new ConcurrentSkipListMap<>();
    private final long end;
    private volatile @Nullable AssertionError failure;

    private NodeWalk(boolean fullStacks, InetSocketAddress own, NodeOptions options, Duration time) {
        this.fullStacks = fullStacks;
        this.own = own;
        this.options = options;
        this.end = System.nanoTime() + time.toNanos();
    }

    /** Walks for a time, closes everything, and returns how often each step has ended in which way. */
    static Map<String, Long> take(
            long seed, int threads, boolean fullStacks, InetSocketAddress own, NodeOptions options, Duration time)
            throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            arena.allocate(1); // the JDK initialises its own classes, which it tries once
        }
        NodeWalk walk = new NodeWalk(fullStacks, own, options, time);
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < threads; i++) {
            walk.walkers.add(walk.new Walker(random.nextLong()));
        }
        walk.walkers.forEach(Thread::start);
        walk.awaitEnds();
        walk.unclosed.forEach(VerbsArena::close);
        for (int i = 0; i < NODES; i++) {
            Station station = walk.stations.get(i);
            if (station != null) {
                station.arena.close();
            }
        }
        Map<String, Long> sums = new TreeMap<>();
        walk.counts.forEach((how, times) -> sums.put(how, times.get()));
        return sums;
    }

    private void awaitEnds() throws InterruptedException {
        for (Walker walker : walkers) {
            while (walker.isAlive()) {
                walker.join(1000);
                for (Walker each : walkers) {
                    if (each.isAlive() && System.nanoTime() - each.since > LONGEST.toNanos()) {
                        AssertionError late = new AssertionError("the step '" + each.step + "' does not end");
                        late.setStackTrace(each.getStackTrace());
                        throw late;
                    }
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    // --- steps ---

    private void openNode(SplittableRandom random) {
        int place = random.nextInt(NODES);
        if (stations.get(place) != null) {
            return;
        }
        VerbsArena arena = VerbsArena.ofShared();
        try {
            Node node = Node.open(own, options, arena);
            node.listen(this::answer);
            Export export =
                    node.export(NAME, arena.allocate(BLOCK, 64), AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
            if (stations.compareAndSet(place, null, new Station(arena, node, export))) {
                return;
            }
        } catch (Throwable failed) {
            close(arena);
            throw failed;
        }
        close(arena);
    }

    /** Closes an arena, at the end of the walk if the stack is full now. */
    private void close(VerbsArena arena) {
        try {
            arena.close();
        } catch (StackOverflowError full) {
            unclosed.add(arena);
            throw full;
        }
    }

    /** Echoes calls, takes offers or refuses them, and now and then closes the channel. */
    private void answer(Channel channel, Message message) throws Exception {
        if (message.isOffer()) {
            Transfer transfer = message.transfer();
            if (transfer.about()[0] == 0) {
                transfer.refuse("no");
            } else {
                transfer.accept(MemorySegment.ofArray(new byte[(int) transfer.length()]), SHORT);
            }
        } else if (message.isRequest()) {
            long value = message.segment().get(ValueLayout.JAVA_LONG, 0);
            if (value % 64 == 0) {
                channel.close();
                return;
            }
            Message reply = message.reply();
            reply.segment().set(ValueLayout.JAVA_LONG, 0, value);
            reply.send();
        }
    }

    private void closeNode(SplittableRandom random) {
        int place = random.nextInt(NODES);
        Station station = stations.get(place);
        if (station == null || random.nextInt(4) != 0) {
            return;
        }
        if (random.nextBoolean()) {
            station.node.close();
        }
        station.arena.close();
        stations.compareAndSet(place, station, null);
    }

    private @Nullable Station any(SplittableRandom random) {
        return stations.get(random.nextInt(NODES));
    }

    private void connect(SplittableRandom random) throws InterruptedException {
        Station from = any(random);
        Station to = any(random);
        if (from == null || to == null || isFull()) {
            return;
        }
        Channel channel = from.node.connect(to.node.address(), SHORT);
        channel.listen(this::answer);
        synchronized (channels) {
            channels.add(channel);
        }
    }

    private boolean isFull() {
        synchronized (channels) {
            channels.removeIf(each -> !each.isOpen());
            return channels.size() >= MOST_CHANNELS;
        }
    }

    private @Nullable Channel anyChannel(SplittableRandom random) {
        synchronized (channels) {
            return channels.isEmpty() ? null : channels.get(random.nextInt(channels.size()));
        }
    }

    private void call(SplittableRandom random) throws InterruptedException {
        Channel channel = anyChannel(random);
        if (channel != null) {
            call(channel, random.nextLong());
        }
    }

    private static void call(Channel channel, long value) throws InterruptedException {
        try (Message request = channel.message(SHORT).length(Long.BYTES)) {
            request.segment().set(ValueLayout.JAVA_LONG, 0, value);
            try (Message reply = channel.call(request, SHORT)) {
                long echo = reply.segment().get(ValueLayout.JAVA_LONG, 0);
                if (echo != value) {
                    throw new AssertionError("sent " + value + ", the reply is " + echo);
                }
            }
        }
    }

    private void send(SplittableRandom random) throws InterruptedException {
        Channel channel = anyChannel(random);
        if (channel != null) {
            try (Message message = channel.message(SHORT).length(Long.BYTES)) {
                message.segment().set(ValueLayout.JAVA_LONG, 0, random.nextLong());
                channel.send(message, SHORT);
            }
        }
    }

    private void writeAndRead(SplittableRandom random) throws InterruptedException {
        Channel channel = anyChannel(random);
        if (channel == null) {
            return;
        }
        VerbsArena arena = VerbsArena.ofShared();
        try {
            var memory = channel.node()
                    .register(arena.allocate(BLOCK, 64), List.of(AccessFlag.LOCAL_WRITE), arena)
                    .slice(0, 1 + random.nextInt(BLOCK));
            var remote = channel.remote(NAME, SHORT).slice(0, memory.length());
            channel.write(memory, remote, SHORT);
            channel.read(memory, remote, SHORT);
        } finally {
            close(arena);
        }
    }

    private void transfer(SplittableRandom random) throws InterruptedException {
        Channel channel = anyChannel(random);
        if (channel != null) {
            channel.offer(
                    MemorySegment.ofArray(new byte[1 + random.nextInt(1 << 16)]),
                    new byte[] {(byte) random.nextInt(4)},
                    SHORT);
        }
    }

    private void export(SplittableRandom random) {
        Station station = any(random);
        if (station != null) {
            VerbsArena arena = VerbsArena.ofShared();
            try {
                station.node
                        .export("more" + random.nextInt(4), arena.allocate(64), List.of(AccessFlag.REMOTE_READ), arena)
                        .close();
            } finally {
                close(arena);
            }
        }
    }

    private void closeChannel(SplittableRandom random) {
        Channel channel = anyChannel(random);
        if (channel != null && random.nextInt(4) == 0) {
            channel.close();
        }
    }

    private void interrupt(SplittableRandom random) {
        walkers.get(random.nextInt(walkers.size())).interrupt();
    }

    /** Does something at the end of the stack, or deep within it. */
    private void deep(SplittableRandom random) throws Exception {
        Step step = STEPS[random.nextInt(STEPS.length)];
        if (!step.name.equals("deep")) {
            descend(fullStacks && random.nextBoolean() ? Integer.MAX_VALUE : DEEP, step, random);
        }
    }

    private void descend(int frames, Step step, SplittableRandom random) throws Exception {
        if (frames == 0) {
            step.action.run(this, random);
            return;
        }
        try {
            descend(frames - 1, step, random);
        } catch (StackOverflowError full) {
            if (frames % FRAMES_BETWEEN != 0) {
                throw full;
            }
            step.action.run(this, random); // may lack room itself
        }
    }
}

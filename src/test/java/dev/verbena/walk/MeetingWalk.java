package dev.verbena.walk;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PrivateData;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.WorkCompletion;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A random walk of listeners with connections and of nodes with channels, by four threads that take turns. The model knows
 * what is open, and which numbers must arrive where. The seed determines all of it, and each step has a seed of its own, so
 * that a walk that fails can be shortened.
 */
final class MeetingWalk {
    private static final int WINDOW = 4;
    /** The number of messages that may be under way in a channel: a node gives back half of its room at once. */
    private static final int UNDER_WAY = WINDOW / 2;

    private static final int ARENAS = 3;
    private static final int MANY = 6;
    private static final int TOLD = 80;
    /** The most programs that are tried to shorten one that fails. */
    private static final int TRIALS = 300;

    private static final ConnectionResources SMALL = ConnectionResources.of(QueueCapabilities.of(WINDOW, WINDOW));
    private static final NodeOptions NODES =
            NodeOptions.defaults().window(WINDOW).sends(WINDOW).messageSize(64);

    /** An arena and all that it owns; true while it is open. */
    private static class Part {
        final VerbsArena arena;
        boolean open = true;

        Part(VerbsArena arena) {
            this.arena = arena;
        }
    }

    private static final class Listening extends Part {
        final Listener listener;
        final InetSocketAddress address;

        Listening(VerbsArena arena, Listener listener) {
            super(arena);
            this.listener = listener;
            this.address = listener.address();
        }
    }

    /** One end of a connection. */
    private static final class End extends Part {
        final Connection connection;
        final MemoryRegion memory;
        /** The numbers that the peer has sent and this end has not taken from the library. */
        final Deque<Long> arriving = new ArrayDeque<>();
        /** The numbers that came while this end waited for something else. */
        final Deque<Long> early = new ArrayDeque<>();

        @Nullable
        End peer;

        End(VerbsArena arena, Connection connection) {
            super(arena);
            this.connection = connection;
            this.memory = connection.register(arena.allocate(Long.BYTES * (WINDOW + 1)), AccessFlag.LOCAL_WRITE);
            for (int i = 0; i < WINDOW; i++) {
                receive(i);
            }
        }

        void receive(long slot) {
            connection.queuePair().postReceive(slot, memory.slice(slot * Long.BYTES, Long.BYTES));
        }

        long read(long slot) {
            return memory.segment().get(ValueLayout.JAVA_LONG, slot * Long.BYTES);
        }
    }

    private static final class Station extends Part {
        final Node node;
        final InetSocketAddress address;

        Station(VerbsArena arena, Node node) {
            super(arena);
            this.node = node;
            this.address = node.address();
        }
    }

    /** One end of a channel. */
    private static final class Line extends Part {
        final Station station;
        final Channel channel;
        final Deque<Long> arriving = new ArrayDeque<>();

        @Nullable
        Line peer;

        Line(Station station, Channel channel) {
            super(station.arena);
            this.station = station;
            this.channel = channel;
        }
    }

    private final long seed;
    private final InetSocketAddress own;
    private SplittableRandom random;
    private final List<VerbsArena> arenas = new ArrayList<>();
    private final List<Listening> listeners = new ArrayList<>();
    private final List<End> ends = new ArrayList<>();
    private final List<Station> stations = new ArrayList<>();
    private final List<Line> lines = new ArrayList<>();
    private final Deque<String> story = new ArrayDeque<>();
    private final Map<String, Integer> events = new TreeMap<>();
    private final ExecutorService helpers = Executors.newVirtualThreadPerTaskExecutor();
    private long number;
    private int taken;

    private MeetingWalk(long seed, InetSocketAddress own) {
        this.seed = seed;
        this.own = own;
        this.random = new SplittableRandom(seed);
    }

    /**
     * Takes steps, closes everything, and returns how often each thing happened.
     *
     * @param seed determines the steps
     * @param own the address of the device
     * @throws WalkFailure with the shortest program that fails, if one does
     */
    static Map<String, Integer> take(long seed, InetSocketAddress own, int steps) throws InterruptedException {
        List<Long> program = new SplittableRandom(seed).longs(steps).boxed().toList();
        MeetingWalk walk = new MeetingWalk(seed, own);
        Throwable failure = walk.run(program);
        if (failure != null) {
            throw shortest(seed, own, program, walk, failure);
        }
        return walk.events;
    }

    /** Leaves out parts of a program as long as it fails in the same way. */
    private static WalkFailure shortest(
            long seed, InetSocketAddress own, List<Long> all, MeetingWalk first, Throwable failure)
            throws InterruptedException {
        List<Long> program = all.subList(0, Math.min(first.taken + 1, all.size()));
        MeetingWalk last = first;
        int trials = 0;
        for (int chunk = Math.max(1, program.size() / 2); chunk > 0; chunk /= 2) {
            for (int from = 0; from < program.size() && trials < TRIALS; trials++) {
                List<Long> shorter = new ArrayList<>(program);
                shorter.subList(from, Math.min(from + chunk, shorter.size())).clear();
                MeetingWalk walk = new MeetingWalk(seed, own);
                Throwable another = walk.run(shorter);
                if (another != null && summary(another).equals(summary(failure))) {
                    program = shorter;
                    last = walk;
                } else {
                    from += chunk;
                }
            }
        }
        return new WalkFailure(
                "The meetings with the seed " + seed + " fail: " + failure + "\nThe shortest program that fails has "
                        + program.size() + " steps:\n    " + String.join("\n    ", last.story),
                failure);
    }

    private static String summary(Throwable failure) {
        String text = failure.toString().replaceAll("[0-9]+", "");
        return text.substring(0, Math.min(text.length(), 60));
    }

    /** Takes the steps of a program, and closes everything. Returns the failure, or null if all agrees. */
    private @Nullable Throwable run(List<Long> program) throws InterruptedException {
        List<ExecutorService> actors = List.of(
                Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().factory()),
                Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().factory()),
                Executors.newSingleThreadExecutor(Thread.ofVirtual().factory()),
                Executors.newSingleThreadExecutor(Thread.ofVirtual().factory()));
        try {
            for (Long each : program) {
                random = new SplittableRandom(each);
                inTurn(actors.get(random.nextInt(actors.size())), this::step);
                taken++;
            }
            inTurn(actors.getFirst(), this::closeAll);
            return null;
        } catch (ExecutionException e) {
            closeWhatCloses();
            return e.getCause();
        } finally {
            actors.forEach(ExecutorService::shutdownNow);
            helpers.shutdownNow();
        }
    }

    private static void inTurn(ExecutorService actor, Callable<?> work)
            throws InterruptedException, ExecutionException {
        Future<?> turn = actor.submit(work);
        try {
            turn.get(2 * DEADLINE.toSeconds(), TimeUnit.SECONDS);
        } catch (java.util.concurrent.TimeoutException e) {
            throw new ExecutionException(new WalkFailure("A turn does not end", e));
        }
    }

    private void say(String what) {
        events.merge(what.split(" ")[0], 1, Integer::sum);
        story.add(what);
        if (story.size() > TOLD) {
            story.removeFirst();
        }
    }

    private <T> T any(List<T> all) {
        World.skipIf(all.isEmpty());
        return all.get(random.nextInt(all.size()));
    }

    private VerbsArena arena() {
        if (arenas.isEmpty() || arenas.size() < ARENAS && random.nextInt(8) == 0) {
            arenas.add(VerbsArena.ofShared());
        }
        return arenas.get(random.nextInt(arenas.size()));
    }

    private Void step() throws Exception {
        try {
            choose();
        } catch (World.Skipped nothing) {
            // Another step comes.
        }
        return null;
    }

    private void choose() throws Exception {
        switch (random.nextInt(32)) {
            case 0 -> listen();
            case 1, 2, 3 -> connect();
            case 4, 5, 6, 7, 8, 9 -> send();
            case 10, 11, 12, 13, 14, 15 -> receive();
            case 16, 17 -> closeEnd();
            case 18 -> openNode();
            case 19, 20 -> meet();
            case 21, 22, 23, 24 -> sendMessage();
            case 25, 26, 27, 28 -> receiveMessage();
            case 29 -> closeLine();
            case 30 -> closeServer();
            default -> closeArena();
        }
    }

    // --- connections ---

    private void listen() {
        VerbsArena arena = arena();
        if (listeners.size() < MANY) {
            say("listen in " + arenas.indexOf(arena));
            listeners.add(new Listening(arena, Listener.open(own, arena)));
        }
    }

    private void connect() throws Exception {
        Listening listening = any(listeners);
        VerbsArena arena = arena();
        VerbsArena others = arena();
        World.skipIf(ends.size() > 2 * MANY);
        InetSocketAddress address = listening.address;
        Future<Connection> client = helpers.submit(() -> Connection.open(address, DEADLINE, SMALL, arena));
        if (!listening.open) {
            say("unheard");
            CmEvent.Type event = refusal(client);
            World.require(event == CmEvent.Type.REJECTED, () -> "nobody listens, and the event is " + event);
            refused(() -> listening.listener.awaitConnection(DEADLINE));
            listeners.remove(listening);
            return;
        }
        Connection server = listening.listener.awaitConnection(DEADLINE, SMALL, others);
        if (random.nextInt(6) == 0) {
            say("reject");
            server.reject(PrivateData.NONE);
            CmEvent.Type event = refusal(client);
            World.require(event == CmEvent.Type.REJECTED, () -> "rejected, and the event is " + event);
            server.close();
            return;
        }
        say("connect " + arenas.indexOf(arena) + " and " + arenas.indexOf(others));
        End right = new End(others, server);
        server.accept(DEADLINE);
        End left = new End(arena, client.get(DEADLINE.toSeconds(), TimeUnit.SECONDS));
        left.peer = right;
        right.peer = left;
        ends.add(left);
        ends.add(right);
    }

    private static CmEvent.Type refusal(Future<Connection> client) throws Exception {
        try {
            throw new WalkFailure("It must be refused: " + client.get(DEADLINE.toSeconds(), TimeUnit.SECONDS), null);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof ConnectionException refused) {
                return refused.event();
            }
            throw e;
        }
    }

    private static void refused(Callable<?> call) throws Exception {
        Object result;
        try {
            result = call.call();
        } catch (IllegalStateException closed) {
            return;
        }
        throw new WalkFailure("A closed object must refuse the call, and returned " + result, null);
    }

    private void send() throws Exception {
        End end = any(ends);
        World.skipIf(!end.open || !end.peer.open || end.peer.arriving.size() + end.peer.early.size() >= WINDOW);
        long value = ++number;
        say("send " + value);
        end.memory.segment().set(ValueLayout.JAVA_LONG, WINDOW * Long.BYTES, value);
        end.connection.queuePair().postSend(WINDOW, end.memory.slice(WINDOW * Long.BYTES, Long.BYTES));
        end.peer.arriving.add(value);
        for (WorkCompletion done = take(end); done.id() != WINDOW; done = take(end)) {
            end.early.add(arrived(end, done));
        }
    }

    private static WorkCompletion take(End end) throws InterruptedException {
        return end.connection.awaitCompletion(DEADLINE).orThrow();
    }

    /** Checks a number that has arrived, and posts its receive again. */
    private static long arrived(End end, WorkCompletion done) {
        long expected = end.arriving.remove();
        long value = end.read(done.id());
        World.require(
                value == expected && done.byteLength() == Long.BYTES,
                () -> "the message must be " + expected + ", is " + value + ": " + done);
        if (end.peer.open) {
            end.receive(done.id());
        }
        return value;
    }

    private void receive() throws Exception {
        End end = any(ends);
        if (!end.open) {
            say("refused");
            refused(() -> end.connection.awaitCompletion(DEADLINE));
            ends.remove(end);
            end.memory.close(); // a connection leaves its memory open
        } else if (!end.early.isEmpty()) {
            end.early.remove();
        } else if (!end.arriving.isEmpty()) {
            say("receive " + end.arriving.peek());
            arrived(end, take(end));
        } else if (!end.peer.open) {
            say("ended");
            try {
                throw new WalkFailure("The peer has closed, and there is " + take(end), null);
            } catch (ConnectionException ended) {
                World.require(!end.connection.isOpen(), () -> end.connection + " has ended, and is open");
            }
        }
    }

    private void closeEnd() {
        End end = any(ends);
        say("close");
        end.connection.close();
        end.open = false;
    }

    // --- nodes ---

    private void openNode() {
        VerbsArena arena = arena();
        if (stations.size() < MANY) {
            say("node in " + arenas.indexOf(arena));
            stations.add(new Station(arena, Node.open(own, NODES, arena)));
        }
    }

    private void meet() throws Exception {
        Station from = any(stations);
        Station to = any(stations);
        World.skipIf(from == to || lines.size() > 2 * MANY);
        if (!from.open) {
            say("refused");
            refused(() -> from.node.connect(to.address, DEADLINE));
            stations.remove(from);
            return;
        }
        Future<Channel> client = helpers.submit(() -> from.node.connect(to.address, DEADLINE));
        if (!to.open) {
            say("unreachable");
            try {
                throw new WalkFailure("Nobody is there: " + client.get(DEADLINE.toSeconds(), TimeUnit.SECONDS), null);
            } catch (ExecutionException e) {
                World.require(e.getCause() instanceof ChannelException, () -> "the node threw " + e.getCause());
            }
            stations.remove(to);
            return;
        }
        say("meet");
        Line right = new Line(to, to.node.accept(DEADLINE));
        Line left = new Line(from, client.get(DEADLINE.toSeconds(), TimeUnit.SECONDS));
        left.peer = right;
        right.peer = left;
        lines.add(left);
        lines.add(right);
    }

    private void sendMessage() throws Exception {
        Line line = any(lines);
        World.skipIf(!line.open || !line.peer.open || line.peer.arriving.size() >= UNDER_WAY);
        long value = ++number;
        say("message " + value);
        Message message = line.channel.message(DEADLINE).length(Long.BYTES);
        message.segment().set(ValueLayout.JAVA_LONG, 0, value);
        line.channel.send(message, DEADLINE);
        line.peer.arriving.add(value);
    }

    private void receiveMessage() throws Exception {
        Line line = any(lines);
        if (!line.open) {
            say("refused");
            refused(() -> line.channel.receive(DEADLINE));
            lines.remove(line);
        } else if (!line.arriving.isEmpty()) {
            long expected = line.arriving.remove();
            say("take " + expected);
            try (Message message = line.channel.receive(DEADLINE)) {
                long value = message.segment().get(ValueLayout.JAVA_LONG, 0);
                World.require(value == expected, () -> "the message must be " + expected + ", is " + value);
            }
        } else if (!line.peer.open) {
            say("over");
            try {
                throw new WalkFailure("The peer has closed, and there is " + line.channel.receive(DEADLINE), null);
            } catch (ChannelException ended) {
                World.require(!line.channel.isOpen(), () -> line.channel + " has ended, and is open");
            }
        }
    }

    private void closeLine() {
        Line line = any(lines);
        say("hang up");
        boolean first = line.peer.open;
        line.open = false;
        try {
            line.channel.close();
        } catch (ChannelException unsure) {
            World.require(!first, () -> "Closing " + line.channel + " lost messages: " + unsure);
        }
    }

    // --- closing ---

    private void closeServer() {
        if (random.nextBoolean()) {
            Station station = any(stations);
            say("close a node");
            lines.stream().filter(each -> each.station == station).forEach(each -> each.open = false);
            station.open = false;
            station.node.close();
        } else {
            Listening listening = any(listeners);
            say("close a listener");
            listening.open = false;
            listening.listener.close();
        }
    }

    private void closeArena() {
        VerbsArena arena = any(arenas);
        World.skipIf(random.nextInt(4) != 0);
        close(arena);
    }

    private List<Part> parts() {
        List<Part> all = new ArrayList<>(listeners);
        all.addAll(ends);
        all.addAll(stations);
        all.addAll(lines);
        return all;
    }

    private void close(VerbsArena arena) {
        List<Part> parts = parts();
        try {
            arena.close();
            say("arena is closed");
        } catch (ResourceBusyException busy) {
            say("busy " + busy.getMessage());
            World.require(
                    // the memory of a closed connection is open, too
                    parts.stream().anyMatch(each -> each.arena != arena && (each.open || each instanceof End)),
                    () -> "Only this arena has objects, and it is busy: " + busy);
            return;
        }
        arenas.remove(arena);
        parts.stream().filter(each -> each.arena == arena).forEach(each -> each.open = false);
    }

    /** Closes after a failure, so that objects do not pile up while a walk is shortened. */
    private void closeWhatCloses() {
        for (VerbsArena each : arenas.reversed()) {
            try {
                each.close();
            } catch (RuntimeException refused) {
                assert refused != null; // it has failed before: that is reported
            }
        }
    }

    /** Closes arenas in random order, and single objects where arenas depend on each other. */
    private Void closeAll() {
        Random order = new Random(seed);
        boolean objectsToo = order.nextBoolean();
        for (int round = 0; round < 2 * ARENAS && !arenas.isEmpty(); round++) {
            if (objectsToo || round > 1) {
                List<Runnable> closings = new ArrayList<>();
                ends.forEach(each -> closings.add(each.memory::close));
                ends.forEach(each -> closings.add(each.connection::close));
                listeners.forEach(each -> closings.add(each.listener::close));
                stations.forEach(each -> closings.add(each.node::close));
                Collections.shuffle(closings, order);
                closings.forEach(Runnable::run);
            }
            List<VerbsArena> left = new ArrayList<>(arenas);
            Collections.shuffle(left, order);
            left.forEach(this::close);
        }
        World.require(arenas.isEmpty(), () -> "Arenas do not close: " + arenas);
        return null;
    }
}

package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.Fenced;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A walk over channels that lose their connections all the time, with a model that knows what must have arrived. Each channel
 * has threads that send in both directions, call, write, read, add and offer, and one that cuts connections of either side or
 * both, also while they are made, and ports, interrupts, closes, has channels take their first path again, and opens the server
 * again. Nothing that a side has accepted is lost
 * unless the channel ends by more than a cut, and nothing comes twice or in another order.
 */
final class HealWalk {
    private static final int LONGEST_PAUSE_NANOS = 20_000_000;
    private static final int LARGEST_OFFER = 1 << 15;

    /** One of so many faults is of a kind. */
    private static final int INTERRUPTS = 8;

    private static final int CLOSES = 25;
    private static final int REOPENS = 80;
    private static final int FAILED_PORTS = 40;

    /** One of so many faults of a channel that has several paths is no fault: it tries the first one again. */
    private static final int RETURNS = 4;

    /** Longer than a channel stays on another path than the first one. */
    private static final long STAY_NANOS = 1_000_000_000_000L;

    private static final int CELLS = 2;

    private final NodePair nodes;
    private final NodeOptions options;
    private final long operations;
    private final AtomicLong done = new AtomicLong();
    private final Map<String, AtomicLong> counts = new ConcurrentSkipListMap<>();
    private final List<Life> lives = new ArrayList<>();
    private volatile boolean over;

    // The lock of this object guards the fields below: a connect and its accept belong together.
    private VerbsArena ofServer = VerbsArena.ofShared();
    private Node server;
    private final InetSocketAddress address;

    private HealWalk(NodePair nodes, NodeOptions options, long operations) {
        this.nodes = nodes;
        this.options = options;
        this.operations = operations;
        this.server = NodePair.open(options, ofServer);
        this.address = server.address();
    }

    /** Walks until a number of operations have ended. Returns how often each thing has happened. */
    static Map<String, Long> take(NodePair nodes, NodeOptions options, int channels, long seed, long operations)
            throws Exception {
        HealWalk walk = new HealWalk(nodes, options, operations);
        SplittableRandom random = new SplittableRandom(seed);
        List<Future<Void>> all = new ArrayList<>();
        for (int i = 0; i < channels; i++) {
            SplittableRandom own = random.split();
            all.add(nodes.run(() -> walk.untilOver(() -> walk.live(own))));
        }
        all.add(nodes.run(() -> walk.untilOver(() -> walk.disturb(random))));
        try {
            for (Future<Void> each : all) {
                each.get();
            }
        } finally {
            walk.over = true;
            walk.ofServer.close();
        }
        Map<String, Long> sums = new TreeMap<>();
        walk.counts.forEach((what, times) -> sums.put(what, times.get()));
        return sums;
    }

    /** Does something until the walk is over, or fails: then the walk is over too. */
    private void untilOver(NodePair.Step step) throws Exception {
        try {
            step.run();
        } finally {
            over = true;
        }
    }

    private void count(String what) {
        counts.computeIfAbsent(what, key -> new AtomicLong()).incrementAndGet();
    }

    // Faults

    private void disturb(SplittableRandom random) {
        while (!over) {
            LockSupport.parkNanos(random.nextInt(LONGEST_PAUSE_NANOS));
            Life life;
            synchronized (lives) {
                life = lives.isEmpty() ? null : lives.get(random.nextInt(lives.size()));
            }
            if (random.nextInt(REOPENS) == 0) {
                openAgain();
            } else if (random.nextInt(FAILED_PORTS) == 0 && NodePair.transport() == Transport.RDMA) {
                failPorts(random.nextInt(3));
            } else if (life != null) {
                life.disturb(random);
            }
        }
    }

    /** Has the first port fail, at one side or at both: all channels lose their paths there at once. */
    private synchronized void failPorts(int whose) {
        if (whose != 1) {
            Fenced.raise(nodes.client.context(), rdma_h.IBV_EVENT_PORT_ERR);
        }
        if (whose != 0) {
            Fenced.raise(server.context(), rdma_h.IBV_EVENT_PORT_ERR);
        }
        count("fault: port failed");
    }

    private synchronized void openAgain() {
        synchronized (lives) {
            for (Life life : lives) {
                life.mayEnd = true;
                life.serverIsGone = true;
            }
        }
        count("fault: server opened again");
        ofServer.close();
        ofServer = VerbsArena.ofShared();
        server = NodePair.open(options, address, ofServer);
    }

    // Channels

    private void live(SplittableRandom random) throws Exception {
        LocalMemory memory = nodes.client
                .register(nodes.arena.allocate(Long.BYTES, Long.BYTES), AccessFlag.LOCAL_WRITE)
                .slice(0, Long.BYTES);
        while (!over) {
            Life life = connect(memory, random);
            try {
                life.work();
            } finally {
                synchronized (lives) {
                    lives.remove(life);
                }
            }
            life.end();
        }
    }

    private synchronized Life connect(LocalMemory memory, SplittableRandom random) throws Exception {
        Future<Channel> accepted = nodes.start(() -> server.accept(DEADLINE));
        Channel made = nodes.client.connect(address, DEADLINE);
        Life life = new Life(made, accepted.get(), memory, random);
        synchronized (lives) {
            lives.add(life);
        }
        return life;
    }

    /** A channel from its connect to its end, and what must have arrived. */
    private final class Life {
        private final Channel client;
        private final Channel atServer;
        private final SplittableRandom random;
        private final Thread worker = Thread.currentThread();
        private final String name;
        private final MemorySegment table;
        private final Export export;
        private final LocalMemory into;
        private @Nullable RemoteMemory remote;

        /** True once more than a cut has happened. */
        private volatile boolean mayEnd;

        /** True once the server's node was closed: its program takes nothing any more of what has arrived. */
        private volatile boolean serverIsGone;

        /** True while an interrupt may come. This object's lock guards it. */
        private boolean works = true;

        private final AtomicBoolean closes = new AtomicBoolean();

        /** True once a side has closed the channel, and its close says that all has arrived. */
        private volatile boolean clientHasClosed;

        private volatile boolean serverHasClosed;

        // The model: what was accepted, and what has come
        private volatile long toServer;
        private volatile long toClient;
        private volatile long cameToServer;
        private volatile long cameToClient;
        private long calls;
        private volatile long answered;
        private volatile long handled;
        private long lastHandled = -1;
        private long offers;
        private long offered;
        private volatile long taken;
        private long lastTaken = -1;
        private long written;
        private long sure;
        private long unknown;
        private long lastFetched = -1;

        Life(Channel client, Channel atServer, LocalMemory memory, SplittableRandom random) {
            this.client = client;
            this.atServer = atServer;
            this.random = random;
            this.name = "table of " + atServer.peer().getPort() + "." + random.nextInt();
            VerbsArena arena = ofServer;
            this.into = memory;
            this.table = arena.allocate(CELLS * Long.BYTES, Long.BYTES);
            export = atServer.node()
                    .export(name, table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
            export.inTheClear();
        }

        // Faults

        void disturb(SplittableRandom by) {
            if (by.nextInt(INTERRUPTS) == 0) {
                interrupt();
            } else if (by.nextInt(CLOSES) == 0) {
                close(by.nextBoolean());
            } else if (options.paths().isEmpty() || by.nextInt(RETURNS) != 0) {
                cut(by);
            } else {
                takeFirstPath();
            }
        }

        private void takeFirstPath() {
            Session session = client.session();
            try (var _ = session.lock.held()) {
                Healing healing = session.healing;
                if (healing != null) {
                    healing.tickOpen(System.nanoTime() + STAY_NANOS);
                    count("first path tried" + (healing.next() == null ? " not" : ""));
                }
            }
        }

        private synchronized void interrupt() {
            if (works) {
                worker.interrupt();
            }
        }

        private synchronized void mayBeInterrupted(boolean may) {
            works = may;
            Thread.interrupted();
        }

        private void cut(SplittableRandom by) {
            count("fault: cut");
            if (by.nextInt(4)
                    == 0) { // what this side sends does not arrive any more, and the other one knows nothing of it
                stop(by.nextBoolean() ? client : atServer);
            }
            int whose = by.nextInt(5);
            if (whose < 3 && whose != 1) {
                HealTest.cut(client);
            }
            if (whose < 3 && whose != 0) {
                HealTest.cut(atServer);
            }
            Healing healing = client.session().healing;
            Rail next = healing == null ? null : healing.next();
            if (whose >= 3 && next != null) {
                count("fault: cut while healing");
                next.disconnected("cut while it was made");
            }
        }

        private static void stop(Channel channel) {
            if (channel.transport() == Transport.RDMA) {
                try {
                    channel.queuePair().modify(QueuePairAttributes.to(QueuePairState.SQD));
                } catch (VerbsException | IllegalStateException | IllegalArgumentException lost) {
                    return; // the connection is not there just now
                }
                HealTest.cut(channel);
            }
        }

        private void close(boolean ofClient) {
            if (!closes.compareAndSet(false, true)) {
                return;
            }
            mayEnd = true;
            try {
                (ofClient ? client : atServer).close();
                clientHasClosed = ofClient;
                serverHasClosed = !ofClient;
                count("closed");
            } catch (ChannelException lost) {
                count("closed, and " + lost.reason());
            }
        }

        // Threads

        /** Works until the channel ends. */
        void work() throws Exception {
            List<Future<Void>> threads = List.of(
                    nodes.run(() -> untilEnd(this::receiveAtServer)),
                    nodes.run(() -> untilEnd(this::receiveAtClient)),
                    nodes.run(() -> untilEnd(this::sendToClient)));
            try {
                untilEnd(this::step);
            } finally {
                mayBeInterrupted(false);
                for (Future<Void> each : threads) {
                    NodePair.end(each);
                }
            }
        }

        private void untilEnd(NodePair.Step step) throws Exception {
            while (true) {
                try {
                    step.run();
                } catch (InterruptedException meanwhile) {
                    count("interrupted");
                } catch (CallException refused) {
                    if (!mayEnd) { // a server that leaves may answer with a fault before its goodbye
                        throw new AssertionError("the server has refused: " + refused, refused);
                    }
                } catch (ChannelException | IllegalStateException end) {
                    if (mayEnd) {
                        return;
                    }
                    throw new AssertionError("the channel has ended by a cut: " + end, end);
                } catch (Throwable wrong) { // the other threads of the channel need not wait for what does not come
                    over = true;
                    mayEnd = true;
                    client.session().fail(wrong);
                    throw wrong;
                }
            }
        }

        private void step() throws Exception {
            if (over || done.incrementAndGet() > operations) {
                over = true;
                close(true);
            }
            switch (random.nextInt(10)) {
                case 0, 1, 2 -> send();
                case 3, 4, 5 -> call();
                case 6, 7 -> write();
                case 8 -> add();
                default -> offer();
            }
        }

        private void send() throws InterruptedException {
            send(client, toServer);
            toServer++;
            count("message");
        }

        private static void send(Channel on, long number) throws InterruptedException {
            try (Message message = on.message(DEADLINE).length(Long.BYTES)) { // is given back if it was not sent
                message.segment().set(ValueLayout.JAVA_LONG, 0, number);
                on.send(message, DEADLINE);
            }
        }

        private void sendToClient() throws InterruptedException {
            send(atServer, toClient);
            toClient++;
            count("message to the client");
        }

        private void call() throws InterruptedException {
            try (Message request = client.message(DEADLINE).length(Long.BYTES)) {
                request.segment().set(ValueLayout.JAVA_LONG, 0, calls++);
                try (Message reply = client.call(request, DEADLINE)) {
                    assertThat(reply.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(calls - 1);
                }
            }
            answered++;
            count("call");
        }

        /** An operation that was interrupted may be carried out, but not behind a later one. */
        private void write() throws InterruptedException {
            RemoteMemory cell = cell(0);
            client.writeLong(cell, ++written, DEADLINE);
            client.read(into, cell, DEADLINE);
            assertThat(into.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(written);
            count("write and read");
        }

        private void add() throws InterruptedException {
            RemoteMemory cell = cell(1);
            unknown++; // also if this is interrupted
            long before;
            try {
                before = client.fetchAndAdd(cell, 1, DEADLINE);
            } catch (OutcomeUnknownException lost) {
                count("atomic of unknown outcome");
                return;
            }
            unknown--;
            assertThat(before).isGreaterThan(lastFetched).isBetween(sure, sure + unknown);
            lastFetched = before;
            sure++;
            count("atomic");
        }

        private void offer() throws InterruptedException {
            byte[] data = new byte[1 + random.nextInt(LARGEST_OFFER)];
            long number = offers++;
            Arrays.fill(data, (byte) number);
            byte[] about = new byte[Long.BYTES];
            MemorySegment.ofArray(about).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, number);
            mayBeInterrupted(false); // an offer that is given up while the peer reads ends the channel
            client.offer(MemorySegment.ofArray(data), about, DEADLINE);
            mayBeInterrupted(true);
            offered++;
            count("transfer");
        }

        private RemoteMemory cell(int index) throws InterruptedException {
            RemoteMemory known = remote;
            if (known == null) {
                known = client.remote(name, DEADLINE);
                remote = known;
            }
            return known.slice((long) index * Long.BYTES, Long.BYTES);
        }

        private void receiveAtClient() throws InterruptedException {
            assertThat(NodePair.receive(client)).isEqualTo(cameToClient);
            cameToClient++;
        }

        private void receiveAtServer() throws InterruptedException {
            try (Message message = atServer.receive(DEADLINE)) {
                if (message.isOffer()) {
                    take(message);
                    return;
                }
                long number = message.segment().get(ValueLayout.JAVA_LONG, 0);
                if (message.isRequest()) {
                    assertThat(number).isGreaterThan(lastHandled); // one that was interrupted may not have been sent
                    lastHandled = number;
                    handled++;
                    Message reply = message.reply().length(Long.BYTES);
                    reply.segment().set(ValueLayout.JAVA_LONG, 0, number);
                    reply.send();
                } else {
                    assertThat(number).isEqualTo(cameToServer);
                    cameToServer++;
                }
            }
        }

        private void take(Message message) throws InterruptedException {
            Transfer transfer = message.transfer();
            long number = MemorySegment.ofArray(transfer.about()).get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
            assertThat(number).isGreaterThan(lastTaken);
            byte[] data = new byte[(int) transfer.length()];
            transfer.accept(MemorySegment.ofArray(data), DEADLINE);
            for (byte each : data) {
                if (each != (byte) number) {
                    throw new AssertionError("byte " + each + " in transfer " + number);
                }
            }
            lastTaken = number;
            taken++;
        }

        // The end

        /** Checks what has arrived, after all threads have ended, and closes the channel. */
        void end() {
            assertThat(cameToServer).isLessThanOrEqualTo(toServer);
            assertThat(cameToClient).isLessThanOrEqualTo(toClient);
            if (clientHasClosed && !serverIsGone) {
                assertThat(cameToServer).isGreaterThanOrEqualTo(toServer);
            }
            if (serverHasClosed) {
                assertThat(cameToClient).isGreaterThanOrEqualTo(toClient);
            }
            assertThat(handled).isBetween(answered, calls);
            assertThat(taken).isBetween(offered, offers);
            synchronized (HealWalk.this) { // else the server may be opened again meanwhile
                if (table.scope().isAlive()) {
                    assertThat(table.get(ValueLayout.JAVA_LONG, Long.BYTES)).isBetween(sure, sure + unknown);
                    export.close();
                }
            }
            for (Channel each : List.of(client, atServer)) {
                try {
                    each.close();
                } catch (ChannelException lost) {
                    count("closed after the end, and " + lost.reason());
                }
            }
        }
    }
}

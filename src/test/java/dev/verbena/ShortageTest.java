package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.LibraryCopy;
import dev.verbena.support.Loopback;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A momentary shortage leaves nothing behind: what was refused can be repeated, and all closes. */
@FencedTest
@Timeout(300)
class ShortageTest {
    @ParameterizedTest
    @CsvSource({"files, RDMA", "files, TCP", "heap, RDMA", "heap, TCP"})
    void shortageThatIsOverLeavesTheLibraryAsItWas(String missing, String transport) {
        assertThat(run(Rounds.class, missing, transport, addressOf(transport)))
                .containsPattern("failed [1-9][0-9]*, then succeeded")
                .contains("left 0 objects and 0 violations");
    }

    @Test
    void threadsThatLackedMemoryForAnEventGoOn() {
        assertThat(run(Events.class)).contains("left 0 objects and 0 violations");
    }

    /** A node whose threads find no heap is over and says so, or goes on. Closing frees everything in any case. */
    @ParameterizedTest
    @ValueSource(strings = {"RDMA", "TCP"})
    void nodeWithoutHeapGoesOnOrSaysThatItIsOver(String transport) {
        assertThat(run(Calls.class, transport, addressOf(transport)))
                .contains("left 0 objects and 0 violations")
                .as("the test finds no node over")
                .doesNotContain("over 0\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"RDMA", "TCP"})
    void messagesThatCouldNotBeTakenForLackOfHeapStay(String transport) {
        assertThat(run(Taking.class, transport, addressOf(transport)))
                .containsSubsequence("received [0, 1, 2, 3]", "all are free", "received [0, 1, 2, 3]", "all are free")
                .contains("left 0 objects and 0 violations");
    }

    /** The JDK makes a class for a handle at its 128th call, for which there is no memory. */
    @Test
    void callsThatMustBeMadeAreMadeWithoutHeap() {
        assertThat(run(MustCalls.class)).contains("200 of 200 called");
    }

    private static String addressOf(String transport) {
        return transport.equals("RDMA") ? "10.9.9.1" : "127.0.0.1";
    }

    private static String run(Class<?> main, String... arguments) {
        return ChildJvm.onTheProvider("-Xmx24m", "-XX:-UseTLAB")
                .runOnClassPath(main, arguments)
                .successfulOutput();
    }

    /** Calls a function of C as what must be called, the second half of the times without heap. */
    static final class MustCalls {
        public static void main(String[] arguments) {
            CFunction absolute = CFunction.at(
                    "labs", Linker.nativeLinker().defaultLookup().find("labs").orElseThrow());
            absolute.find();
            int called = call(absolute, 100);
            Heap.take();
            called += call(absolute, 100);
            Heap.giveBack();
            System.out.println(called + " of 200 called");
        }

        private static int call(CFunction absolute, int times) {
            int called = 0;
            for (int i = 0; i < times; i++) {
                try {
                    called += (int) absolute.callQuietly(-1, 0, 0, 0);
                } catch (OutOfMemoryError notCalled) {
                    continue;
                }
            }
            return called;
        }
    }

    /** The heap of a program that lacks it. */
    static final class Heap {
        private static volatile @Nullable Object taken;

        /** Has the JDK initialise what it prints with: a class that lacks heap for that fails from then on. */
        static {
            new Error("printed with heap").printStackTrace();
        }

        private Heap() {}

        /** Takes all that is free. */
        static void take() {
            for (int size = 1 << 20; size > 0; ) {
                try {
                    taken = new Object[] {taken, new byte[size]};
                } catch (OutOfMemoryError full) {
                    size /= 4;
                }
            }
        }

        /** Takes all that is free, and all that others free, for a time. */
        static void take(long nanos) {
            long end = System.nanoTime() + nanos;
            while (System.nanoTime() - end < 0) {
                take();
            }
        }

        /** Gives the heap back. An allocation right after that may still fail, while the collector is at work. */
        static void giveBack() {
            taken = null;
            boolean isThere = false;
            while (!isThere) {
                try {
                    taken = new byte[4 << 20];
                    isThere = true;
                } catch (OutOfMemoryError early) {
                    System.gc();
                }
            }
            taken = null;
        }
    }

    /** A program for {@link ChildJvm} that takes messages and a reply of a channel again and again, without heap at first. */
    static final class Taking {
        private static final int MESSAGES = 4;
        private static final int TRIES = MESSAGES; // each collects garbage
        private static final Duration LONGEST = Duration.ofSeconds(30);

        private static final Message[] taken = new Message[MESSAGES];
        private static int count;

        public static void main(String[] arguments) throws Exception {
            NodeOptions options = NodeOptions.defaults()
                    .window(4 * MESSAGES) // a peer grants credits by halves of it
                    .sends(MESSAGES)
                    .messageSize(256)
                    .closeTimeout(Duration.ofSeconds(1))
                    .progress(NodeOptions.Progress.CALLER) // few threads but this one can lack heap
                    .transport(Transport.valueOf(arguments[0]));
            InetSocketAddress own = new InetSocketAddress(arguments[1], 0);
            while (!takesAll(own, options)) {
                System.out.println("the shortage met a thread of a node");
            }
            System.out.println("left " + Fenced.remains());
        }

        /** Returns false if a thread of a node lacked heap: the node says that it is over. */
        private static boolean takesAll(InetSocketAddress own, NodeOptions options) throws Exception {
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Node server = Node.open(own, options, arena);
                Node client = Node.open(own, options, arena);
                FutureTask<Channel> connecting = new FutureTask<>(() -> client.connect(server.address(), LONGEST));
                Thread.ofPlatform().daemon().start(connecting);
                Channel channel = server.accept(LONGEST);
                Channel peer = connecting.get();
                takeAll(server, channel, client, peer, () -> {}); // the JDK and the library link what they need
                takeAll(server, channel, client, peer, Heap::take);
                return true;
            } catch (ChannelException over) {
                if (over.getCause() instanceof OutOfMemoryError) {
                    return false;
                }
                throw over;
            }
        }

        private static void takeAll(Node server, Channel channel, Node client, Channel peer, Runnable before)
                throws Exception {
            for (int i = 0; i < MESSAGES; i++) {
                Message message = peer.message(LONGEST);
                message.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) i);
                message.send(LONGEST);
            }
            Await.until("all have arrived", () -> {
                server.progress();
                return channel.toString().contains(MESSAGES + " arrived");
            });
            take(MESSAGES, () -> channel.receive(LONGEST), before);
            List<Byte> received = new ArrayList<>();
            for (Message message : taken) {
                received.add(message.segment().get(ValueLayout.JAVA_BYTE, 0));
                message.close();
            }
            System.out.println("received " + received);

            long ticket = peer.tryCall(peer.message(LONGEST));
            Message request = channel.receive(LONGEST);
            take(1, request::reply, before);
            taken[0].send();
            request.close();
            Message[] reply = new Message[1];
            Await.until("the reply", () -> {
                client.progress();
                reply[0] = peer.pollReply(ticket);
                return reply[0] != null;
            });
            reply[0].close();

            take(MESSAGES, () -> channel.message(LONGEST), before);
            for (Message message : taken) {
                message.close();
            }
            System.out.println("all are free");
        }

        /** Takes messages until a number of them is there, first without heap. */
        private static void take(int number, Callable<Message> next, Runnable before) throws Exception {
            count = 0;
            before.run();
            try {
                for (int i = 0; i < TRIES && count < number; i++) {
                    try {
                        taken[count] = next.call();
                        count++;
                    } catch (OutOfMemoryError hungry) {
                        Thread.onSpinWait();
                    }
                }
            } finally {
                Heap.giveBack();
            }
            while (count < number) {
                taken[count] = next.call();
                count++;
            }
        }
    }

    /**
     * A program for {@link ChildJvm}: opens a node while descriptors are missing, or closes nodes while heap is missing,
     * with more of it each time, until that succeeds. The library is loaded anew each time, so that its static initialisers
     * run in the shortage. Once it is over, nodes open, work and close. The arguments are what is missing, the transport
     * and the address.
     */
    static final class Rounds {
        private static final int MOST_ROUNDS = 64;

        public static void main(String[] arguments) {
            int failed = 0;
            boolean succeeded = false;
            System.setProperty("missing", arguments[0]);
            System.setProperty("transport", arguments[1]);
            System.setProperty("address", arguments[2]);
            if (arguments[0].equals("heap")) {
                LibraryCopy.call(Life.class, Map.of("room", "-1")); // has the JDK initialise its own classes
            }
            for (int round = 0; !succeeded && round < MOST_ROUNDS; round++) {
                succeeded = LibraryCopy.call(Life.class, Map.of("room", Integer.toString(round)))
                        .equals("succeeded");
                failed += succeeded ? 0 : 1;
            }
            System.out.println("failed " + failed + (succeeded ? ", then succeeded" : ""));
            System.out.println("left " + Fenced.remains());
        }
    }

    /** A round of {@link Rounds}. */
    static final class Life implements Callable<String> {
        /** The heap of the first round. */
        private static final int HEAP_STEP = 1 << 12;

        private final NodeOptions options = NodeOptions.defaults()
                .window(4)
                .sends(4)
                .messageSize(256)
                .closeTimeout(Duration.ofSeconds(5))
                .transport(Transport.valueOf(System.getProperty("transport")));
        private final InetSocketAddress own = new InetSocketAddress(System.getProperty("address"), 0);

        private Node client;
        private Channel sending;

        @Override
        public String call() throws Exception {
            int room = Integer.getInteger("room");
            loadClasses();
            boolean heap = System.getProperty("missing").equals("heap");
            boolean succeeded = room < 0 || (heap ? closesWith(HEAP_STEP << room) : opensWith(room));
            VerbsArena arena = VerbsArena.ofShared();
            use(arena);
            arena.close();
            Await.until(
                    "no thread is left",
                    () -> Thread.getAllStackTraces().keySet().stream()
                            .noneMatch(thread -> thread.getName().startsWith("verbena-node")));
            return succeeded ? "succeeded" : "failed";
        }

        /** Loads the classes of the library, which are in files, and initialises none. */
        private static void loadClasses() throws IOException, ClassNotFoundException {
            Path place = ChildJvm.place(dev.verbena.Rdma.class);
            try (Stream<Path> files = Files.walk(place.resolve("dev/verbena"))) {
                for (Path file :
                        files.filter(each -> each.toString().endsWith(".class")).toList()) {
                    String name = place.relativize(file).toString().replace('/', '.');
                    Class.forName(
                            name.substring(0, name.length() - ".class".length()), false, Life.class.getClassLoader());
                }
            }
        }

        private boolean opensWith(int files) {
            long before = OpenFileLimit.count();
            try (VerbsArena arena = VerbsArena.ofShared()) {
                try (OpenFileLimit limit = OpenFileLimit.left(files)) {
                    assert limit.limit() > 0;
                    Node.open(own, options, arena);
                    return true;
                } catch (VerbsException refused) {
                    return false;
                }
            } finally {
                Await.until("as few files as before", () -> OpenFileLimit.count() <= before);
            }
        }

        private boolean closesWith(int bytes) throws InterruptedException {
            VerbsArena arena = VerbsArena.ofShared();
            use(arena);
            byte[] room = new byte[bytes];
            Heap.take();
            boolean closed = false;
            try {
                assert room.length == bytes;
                room = null;
                closeChannel();
                arena.close();
                closed = true;
            } catch (OutOfMemoryError hungry) {
                assert !closed;
            }
            Heap.giveBack();
            if (!closed) {
                closeChannel();
                if (client.toString().contains("(1 of")) {
                    throw new AssertionError("a closed channel keeps its place: " + client);
                }
                arena.close();
            }
            return closed;
        }

        private void closeChannel() {
            try {
                sending.close();
            } catch (ChannelException lost) {
                // A node that lacked memory may be over, and says so.
            }
        }

        private void use(VerbsArena arena) throws InterruptedException {
            Node server = Node.open(own, options, arena);
            client = Node.open(own, options, arena);
            sending = client.connect(server.address(), Loopback.DEADLINE);
            Channel receiving = server.accept(Loopback.DEADLINE);
            sending.send(sending.message(Loopback.DEADLINE).length(8), Loopback.DEADLINE);
            try (Message message = receiving.receive(Loopback.DEADLINE)) {
                assert message.length() == 8;
            }
        }
    }

    /**
     * A program for {@link ChildJvm} with a small heap and without buffers for the allocations of threads: takes all of the
     * heap while two nodes have traffic. With the heap free again, each channel either works or says why it has ended, and
     * everything closes. The arguments are the transport and the address.
     */
    static final class Calls {
        private static final int ROUNDS = 3;

        /** Threads of nodes may get no processor in the time without heap. */
        private static final int MOST_ROUNDS = 50;

        private static final int CHANNELS = 3;

        /** The time without heap. A round is good whatever happens meanwhile. */
        private static final long HUNGER_NANOS = 400_000_000;

        private static final Duration LONGEST = Duration.ofSeconds(30);

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
            for (int round = 0; round < ROUNDS || (over == 0 && round < MOST_ROUNDS); round++) {
                over += round(own, options) ? 1 : 0;
            }
            Await.until(
                    "no thread is left",
                    () -> Thread.getAllStackTraces().keySet().stream()
                            .noneMatch(thread -> thread.getName().startsWith("verbena-node")));
            System.out.println("over " + over);
            System.out.println("left " + Fenced.remains());
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
                Heap.take(HUNGER_NANOS);
                Heap.giveBack();
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

    /**
     * A program for {@link ChildJvm} with a small heap and without buffers for the allocations of threads: takes all of the
     * heap, and has the device report events meanwhile. A thread that takes an event of another thread's queue, and the
     * thread of a listener, lack memory for that. Once the heap is free again, the other thread gets its queue, and the
     * listener its event.
     */
    static final class Events {
        private static final int ROUNDS = 10;
        private static final long HUNGER_NANOS = 30_000_000;

        private final AtomicInteger served = new AtomicInteger();
        private final AtomicInteger heard = new AtomicInteger();
        private final Context context;
        private final CompletionChannel channel;
        private final CompletionQueue queue;
        private final CompletionQueue other;
        private final QueuePair pair;
        private final MemoryRegion memory;
        private final RemoteMemory remote;

        private Events(VerbsArena arena) {
            context = TestDevice.get().open(arena);
            channel = context.createCompletionChannel();
            queue = context.createCompletionQueue(CompletionQueueOptions.of(16).channel(channel));
            other = context.createCompletionQueue(CompletionQueueOptions.of(16).channel(channel));
            ProtectionDomain domain = context.allocateProtectionDomain();
            pair = domain.createQueuePair(QueuePair.rc(queue));
            QueuePair peer = domain.createQueuePair(QueuePair.rc(context.createCompletionQueue(16)));
            pair.connect(peer.endpoint());
            peer.connect(pair.endpoint());
            memory = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
            remote = memory.remote();
        }

        public static void main(String[] arguments) {
            try (VerbsArena arena = VerbsArena.ofShared()) {
                new Events(arena).run();
            }
            System.out.println("left " + Fenced.remains());
            System.exit(0); // threads may still wait
        }

        private void run() {
            context.events().subscribe(event -> heard.incrementAndGet());
            Thread taking = start(() -> other.await(Loopback.DEADLINE));
            Await.until("the thread that takes events sleeps", () -> Await.isAsleep(taking));
            Thread serving = start(() -> {
                queue.requestNotification(false);
                serve(queue); // what has come before the request
                serve(channel.await(Loopback.DEADLINE));
            });
            cause(serving);
            for (int round = 0; round < ROUNDS; round++) {
                Heap.take();
                try {
                    post();
                } catch (OutOfMemoryError hungry) {
                    continue; // in this thread
                }
                Heap.take(HUNGER_NANOS);
            }
            Heap.giveBack();
            int servedBefore = served.get();
            int heardBefore = heard.get();
            post();
            Await.until("the queue of the event", () -> served.get() > servedBefore);
            Await.until("the event of the listener", () -> heard.get() > heardBefore);
        }

        private void serve(CompletionQueue ready) {
            while (ready.poll() != null) {
                served.incrementAndGet();
            }
        }

        /** Causes events before memory is missing, so that all classes are there. */
        private void cause(Thread serving) {
            Await.until("the thread that serves the queue sleeps", () -> Await.isAsleep(serving));
            post();
            Await.until("the event", () -> served.get() == 1 && heard.get() == 1);
            Await.until("the thread that serves the queue sleeps", () -> Await.isAsleep(serving));
        }

        private void post() {
            pair.postWrite(1, memory, remote);
            Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        }

        private interface Work {
            void once() throws InterruptedException;
        }

        /** Starts a thread that does work again and again, whatever it lacks. */
        private static Thread start(Work work) {
            return Thread.ofPlatform().daemon().start(() -> {
                while (true) {
                    try {
                        work.once();
                    } catch (OutOfMemoryError hungry) {
                        Thread.onSpinWait();
                    } catch (InterruptedException | RuntimeException closed) {
                        return;
                    }
                }
            });
        }
    }
}

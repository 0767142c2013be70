package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A program for {@link ChildJvm}: opens a node while descriptors are missing, or closes nodes while heap is missing, with more
 * of it each time, until that succeeds. The library is loaded anew each time, so that its static initialisers run in the
 * shortage. Once it is over, nodes open, work and close. The arguments are what is missing, the transport and the address.
 */
public final class LifeInShortage {
    private static final int MOST_ROUNDS = 64;

    /** The heap of the first round. */
    private static final int HEAP_STEP = 1 << 12;

    private LifeInShortage() {}

    public static void main(String[] arguments) {
        int failed = 0;
        boolean succeeded = false;
        Map<String, String> given = Map.of("missing", arguments[0], "transport", arguments[1], "address", arguments[2]);
        for (String key : given.keySet()) {
            System.setProperty(key, given.get(key));
        }
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

    /** A round. */
    static final class Life implements Callable<String> {
        private final NodeOptions options = NodeOptions.defaults()
                .window(4)
                .sends(4)
                .messageSize(256)
                .closeTimeout(Duration.ofSeconds(5))
                .transport(Transport.valueOf(System.getProperty("transport")));
        private final InetSocketAddress own = new InetSocketAddress(System.getProperty("address"), 0);

        private Node client;
        private Channel sending;

        private static @Nullable Object taken;

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
            takeHeap();
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
            giveHeap();
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

        private static void takeHeap() {
            for (int size = 1 << 20; size > 0; ) {
                try {
                    taken = new Object[] {taken, new byte[size]};
                } catch (OutOfMemoryError full) {
                    size /= 4;
                }
            }
        }

        /** Gives the heap back. An allocation right after that may still fail, while the collector is at work. */
        private static void giveHeap() {
            taken = null;
            boolean isThere = false;
            while (!isThere) {
                try {
                    taken = new byte[8 << 20];
                    isThere = true;
                } catch (OutOfMemoryError early) {
                    System.gc();
                }
            }
            taken = null;
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
}

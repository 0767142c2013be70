package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.verbs.MemoryRegion;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** A listener of a shared arena, and threads that accept and wait. */
final class AcceptingListener implements AutoCloseable {
    final VerbsArena arena = VerbsArena.ofShared();
    final Listener listener;
    private final ExecutorService threads =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());

    /** Both ends of a connection. */
    record Ends(Connection client, Connection server) {}

    AcceptingListener(InetSocketAddress address) {
        listener = Listener.open(address, arena);
    }

    Ends connected() throws Exception {
        return connected(ConnectionResources.defaults());
    }

    /** Connects a client; the options are the server's. */
    Ends connected(ConnectionResources options) throws Exception {
        Future<Connection> accepted = start(() -> listener.accept(DEADLINE, options, arena));
        Connection client = Connection.open(listener.address(), DEADLINE, arena);
        return new Ends(client, end(accepted));
    }

    /** Returns a client whose request waits to be taken. */
    Connection requesting() throws InterruptedException {
        return requesting(arena);
    }

    Connection requesting(VerbsArena of) throws InterruptedException {
        Connection client = Connection.to(listener.address(), DEADLINE, of);
        client.id().beginConnect(ConnectionParameters.defaults());
        return client;
    }

    MemoryRegion buffer(Connection of) {
        return of.register(arena.allocate(64), LOCAL_WRITE, REMOTE_READ);
    }

    <T> Future<T> start(Callable<T> work) {
        return threads.submit(work);
    }

    /** Starts a thread that waits, and is asleep when this returns. */
    <T> Future<T> asleep(Callable<T> wait) {
        AtomicReference<Thread> thread = new AtomicReference<>();
        Future<T> result = start(() -> {
            thread.set(Thread.currentThread());
            return wait.call();
        });
        Await.until("a thread that waits", () -> thread.get() != null && Await.isAsleep(thread.get()));
        return result;
    }

    static <T> T end(Future<T> work) throws Exception {
        return work.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        threads.shutdownNow();
        arena.close();
    }
}

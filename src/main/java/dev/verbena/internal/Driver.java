package dev.verbena.internal;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A driver's functions of the data path: {@code static inline} verbs in C, reached through the function pointers of a
 * context.
 *
 * <p>Each table of functions has a class of this type, {@link DriverCalls} or a hidden copy of it, in which the functions and
 * the way to call them are constants. So C2 inlines the calls, also where a program uses several drivers by turns. While
 * there is one such class, and {@code GuardedDriver} is not loaded, C2 leaves out the check of the type, which costs 0.3 to
 * 0.4 ns a call (rows post+poll, 8 frames deep, and receive, 2026-11-25).
 *
 * <p>A native image of GraalVM can't define classes at run time. There, each table has a {@link TableDriver}.
 *
 * <p>All arguments are passed as {@code long}, which costs no liveness check: {@link CFunction} says why C takes them. The
 * caller makes sure that the memory behind them is alive.
 *
 * <p>A <em>critical</em> call does without a change of thread state, and so holds up every safepoint while it runs. It
 * suits a poll, and a post where the driver's library rings the doorbell from user space.
 */
public abstract class Driver {
    private static final String TEMPLATE = "DriverCalls.class";
    private static final List<Table> KNOWN = new ArrayList<>();

    /** The property that a native image has; tests set it in an ordinary JVM. */
    private static final boolean NATIVE_IMAGE =
            "runtime".equals(System.getProperty("org.graalvm.nativeimage.imagecode"));

    /** The table that a class of calls is being made of, under the lock of {@link #KNOWN}. */
    static @Nullable Table making;

    /** The functions of a driver, and the way to call them. */
    static final class Table {
        final MemorySegment postSends;
        final MemorySegment postReceives;
        final MemorySegment poll;
        final MemorySegment ask;
        final boolean criticalPosts;
        final boolean criticalPolls;

        /** The instance of the class of calls, which that class sets. */
        @Nullable
        Driver driver;

        private Table(
                MemorySegment postSends,
                MemorySegment postReceives,
                MemorySegment poll,
                MemorySegment ask,
                boolean criticalPosts,
                boolean criticalPolls) {
            this.postSends = postSends;
            this.postReceives = postReceives;
            this.poll = poll;
            this.ask = ask;
            this.criticalPosts = criticalPosts;
            this.criticalPolls = criticalPolls;
        }

        /** Compares by hand: a program's first call of a record's method takes 32 ms of processor time (2026-11-25). */
        private boolean isSameAs(Table other) {
            return postSends.address() == other.postSends.address()
                    && postReceives.address() == other.postReceives.address()
                    && poll.address() == other.poll.address()
                    && ask.address() == other.ask.address()
                    && criticalPosts == other.criticalPosts
                    && criticalPolls == other.criticalPolls;
        }
    }

    private static final LinkedHandle PLAIN = link(LinkedHandle.Kind.PLAIN);
    private static final LinkedHandle CRITICAL = link(LinkedHandle.Kind.CRITICAL);

    /** Holds a handle, in a class of its own: only what a driver needs is linked, when the driver is made. */
    static final class Plain {
        static final MethodHandle HANDLE = PLAIN.get();
    }

    static final class Critical {
        static final MethodHandle HANDLE = CRITICAL.get();
    }

    protected Driver() {}

    /**
     * Returns the driver with these functions.
     *
     * @param criticalPosts whether posts are critical calls
     * @param criticalPolls whether polls are critical calls
     */
    public static Driver of(
            MemorySegment postSends,
            MemorySegment postReceives,
            MemorySegment poll,
            MemorySegment ask,
            boolean criticalPosts,
            boolean criticalPolls) {
        Table wanted = new Table(postSends, postReceives, poll, ask, criticalPosts, criticalPolls);
        synchronized (KNOWN) {
            for (Table known : KNOWN) {
                if (known.driver != null && known.isSameAs(wanted)) {
                    return known.driver;
                }
            }
            PLAIN.get(); // asks for events
            if (criticalPosts || criticalPolls) {
                CRITICAL.get();
            }
            KNOWN.add(wanted);
            return make(wanted);
        }
    }

    private static Driver make(Table table) {
        if (NATIVE_IMAGE) {
            Driver made = TableDriver.of(table);
            table.driver = made;
            return made;
        }
        making = table;
        try {
            if (KNOWN.size() == 1) {
                // The first driver takes the template itself. To read the template's bytes, the JDK opens its image of
                // modules, which takes 8 ms of a program's start (processor time, 2026-11-25).
                MethodHandles.lookup().ensureInitialized(DriverCalls.class);
            } else {
                MethodHandles.lookup().defineHiddenClass(bytesOfTemplate(), true);
            }
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
        Driver made = table.driver;
        if (made == null) {
            throw new AssertionError("not made of " + TEMPLATE);
        }
        return made;
    }

    private static byte[] bytesOfTemplate() {
        try (InputStream template = Driver.class.getResourceAsStream(TEMPLATE)) {
            if (template == null) {
                throw new AssertionError("no " + TEMPLATE);
            }
            return template.readAllBytes();
        } catch (IOException e) {
            throw new AssertionError(TEMPLATE, e);
        }
    }

    private static LinkedHandle link(LinkedHandle.Kind kind) {
        ValueLayout.OfLong any = ValueLayout.JAVA_LONG;
        return new LinkedHandle(kind, ValueLayout.JAVA_INT, any, any, any);
    }

    /**
     * Posts sends ({@code int post_send(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **)}).
     *
     * @return 0 or an error number
     */
    public abstract int postSends(long queue, long requests, long firstRefused);

    /**
     * Posts receives, as {@link #postSends} does: to a queue pair, or to a shared receive queue if the function is one of
     * those, {@code int post_srq_recv(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **)}.
     */
    public abstract int postReceives(long queue, long requests, long firstRefused);

    /**
     * Polls ({@code int poll_cq(struct ibv_cq *, int, struct ibv_wc *)}).
     *
     * @return the number of completions, or less than 0
     */
    public abstract int poll(long queue, int entries, long completions);

    /**
     * Asks for an event ({@code int req_notify_cq(struct ibv_cq *, int)}), which is a system call with some drivers.
     *
     * @return 0 or an error number
     */
    public abstract int ask(long queue, int solicitedOnly);
}

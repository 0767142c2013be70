package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.WireTime;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RegionOptions;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The transport of a node: makes connections, registers memory, and reports completions and events to the channels. The
 * {@link LinkHost} and the {@link LinkOwner}s have the protocol, which is the same for all transports.
 */
public abstract sealed class Carrier implements Registrar permits RdmaCarrier, TcpCarrier, AutoCarrier {
    /** The rights that a peer may get. */
    public static final Set<AccessFlag> RIGHTS_OF_PEERS =
            EnumSet.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);

    /** The times that an adapter sends a request before it gives up. */
    private static final int ATTEMPTS = 8;

    private static final Duration SHORTEST_ACK = WireTime.acknowledgement(14);
    private static final Duration LONGEST_ACK = WireTime.acknowledgement(19);

    /** The acknowledgement timeout of soft-RoCE, which loses packets and never gives up. */
    private static final Duration SOFT_ACK = WireTime.acknowledgement(15);

    /**
     * Returns the time after which an adapter sends a request again, so that a lost packet does not hold up others for long.
     * All attempts together take at most the time between signs of life, but for the shortest times.
     *
     * @param alive the time between signs of life
     * @param soft true if the adapter never gives up
     */
    public static Duration ackTimeout(Duration alive, boolean soft) {
        Duration most = alive.dividedBy(ATTEMPTS);
        Duration longest = soft ? SOFT_ACK : LONGEST_ACK;
        if (most.compareTo(SHORTEST_ACK) <= 0) {
            return SHORTEST_ACK;
        }
        if (most.compareTo(longest) >= 0) {
            return longest;
        }
        int code = WireTime.acknowledgementCode(most);
        Duration rounded = WireTime.acknowledgement(code);
        return rounded.compareTo(most) > 0 ? WireTime.acknowledgement(code - 1) : rounded;
    }

    /** Returns the time after which the adapter sends a request again. TCP does that itself. */
    public Duration ackTimeout() {
        return LONGEST_ACK;
    }

    /** Memory of a sealed transfer that is over, for the next one. */
    public final AtomicReference<@Nullable SpareMemory> idle = new AtomicReference<>();

    /** The longest time of a connect from an address of this node, if the node has another one to try. */
    private static final Duration PATIENCE = Duration.ofSeconds(3);

    /** A step of a call that connects. */
    public interface Attempt {
        /** Begins to connect. */
        void begin(LinkOwner owner, InetSocketAddress peer);

        /** Returns the longest time to wait. */
        default Duration patience() {
            return Deadline.FOREVER;
        }

        /**
         * Returns the next step after this one has failed.
         *
         * @param failed the connection; null if C has refused to make it
         * @param late true if the peer has not greeted in time
         * @param unreachable true if no way leads to the peer, or if C has refused to begin
         * @return the step; null if the failure is final
         */
        default @Nullable Attempt next(@Nullable Connection failed, boolean late, boolean unreachable) {
            return null;
        }
    }

    /** The connection of a channel, from the time when it begins to be made. */
    public abstract static class Connection implements Registrar {
        private final boolean overTcp;

        /** The part of the node that has this connection. */
        public final Carrier carrier;

        public Connection(boolean overTcp, Carrier carrier) {
            this.overTcp = overTcp;
            this.carrier = carrier;
        }

        /** Returns true for a TCP connection, which needs no device. */
        public boolean isOverTcp() {
            return overTcp;
        }

        /** Returns true if no other peer can use memory that was registered here, whatever keys it guesses. */
        public abstract boolean isApart();

        /** Returns the number of the device. */
        public int device() {
            return 0;
        }

        /** Returns true if this side connects only if the peer has no RDMA. */
        public boolean asks() {
            return false;
        }

        /** Notes that a transfer begins to register memory, which may end after the channel. */
        public void beginTransfer() {
            // Most channels have nothing that ends with them.
        }

        /** Notes the end of such a transfer. */
        public void endTransfer() {
            // See beginTransfer.
        }

        /**
         * Allocates and registers the memory of a channel's messages, which may take long.
         */
        public final MemoryRegion memory(Sizes sizes, VerbsArena arena) {
            return register(Link.allocate(sizes, arena), List.of(AccessFlag.LOCAL_WRITE), arena);
        }

        /** Makes the queues, with memory for the greetings of both sides. */
        public abstract Link link();

        /** Accepts the peer. */
        public abstract void accept();

        /** Returns true if the peer has answered that the channel is to be made in another way. That is no failure. */
        public boolean isRedirected() {
            return false;
        }

        /** Returns true if a part of a large request was carried out since the last call. An adapter does not tell. */
        public boolean takeProgress() {
            return false;
        }

        /** Disconnects. No request is carried out afterwards. Does nothing if there is no connection. */
        public abstract void disconnect();

        /** Frees what the connections of a channel share, if the channel is closed and no queue pair is left. */
        public void freeUnused() {
            // Most channels share nothing.
        }

        /** Forgets the connection, whose channel is closed or has another one. Doing this twice does no harm. */
        public abstract void forget();
    }

    /** Registers a segment of options. The region does not close the owner that they may name. */
    public abstract MemoryRegion register(RegionOptions options, VerbsArena arena);

    /** Returns the number of bytes that the device pins for the node. */
    public abstract long pinnedBytes();

    /** Returns the addresses of the listeners: that of the node, and those of its options. */
    public abstract List<InetSocketAddress> addresses();

    /** Returns the address of the node. */
    public final InetSocketAddress address() {
        return addresses().getFirst();
    }

    /** Returns the number of devices whose keys differ. */
    public int devices() {
        return 1;
    }

    /** Returns the context of the device. */
    public abstract Context context();

    /** Returns the function that accepts peers, for messages. */
    public String acceptor() {
        return "accept";
    }

    /** Returns a name for the text of the node. */
    public abstract String device();

    /** Returns true if each channel gets keys of its own for exports. */
    public abstract boolean hasKeysOfChannels();

    /** Returns the rights to register memory with, to which channels give their peers some rights. */
    public abstract Set<AccessFlag> rightsToExport(Set<AccessFlag> access);

    /** Starts the threads, by {@link LinkHost#startThread}. */
    public abstract void start();

    /** Returns the first step to connect to a peer. */
    public Attempt attempt() {
        return new From(0, PATIENCE, false);
    }

    /**
     * Connects from one of this node's addresses, or else from the next one. If the peer has not answered one of them in time,
     * the first one follows the last, with more time: the peer may be busy.
     */
    final class From implements Attempt {
        private final int own;
        private final Duration patience;
        private final boolean slow;

        From(int own, Duration patience, boolean slow) {
            this.own = own;
            this.patience = patience;
            this.slow = slow;
        }

        @Override
        public void begin(LinkOwner owner, InetSocketAddress peer) {
            connect(owner, new Ways.Way(own, peer));
        }

        @Override
        public Duration patience() {
            return addresses().size() == 1 ? Deadline.FOREVER : patience;
        }

        @Override
        public @Nullable Attempt next(@Nullable Connection failed, boolean late, boolean unreachable) {
            if (failed != null && failed.isRedirected()) {
                return this;
            }
            if (!late && !unreachable) {
                return null;
            }
            boolean isSlow = slow || late;
            if (own < addresses().size() - 1) {
                return new From(own + 1, patience, isSlow);
            }
            return isSlow ? new From(0, Deadline.sum(patience, patience), false) : null;
        }
    }

    /** Begins to connect. */
    public abstract void connect(LinkOwner owner, Ways.Way way);

    /**
     * Hands completions and events to the channels. Only the thread that makes progress calls this.
     *
     * @return the number of completions and events
     */
    public abstract int poll();

    /**
     * Waits until an attempt finds something. Completions, events and {@link #wake} let the waiting threads try again.
     *
     * @return the result of the attempt; null when the time is over
     */
    public abstract <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException;

    /** Makes the threads in {@link #await} try again. */
    public abstract void wake();

    /** Frees what the arena of the node does not free. All channels are closed, and no thread of the node runs. */
    public void close() {
        SpareMemory unused = idle.getAndSet(null);
        if (unused != null) {
            unused.free();
        }
    }
}

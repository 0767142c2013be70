package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.StackRoom;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.access.VerbsAccess;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.nio.channels.FileChannel;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A node: this process on one device, or over TCP, with an address. It connects to other nodes, and accepts those that
 * connect to it. Each connection is a {@link Channel}.
 *
 * {@snippet file="NodeSnippets.java" region="server"}
 *
 * <p>A node listens at its address from the beginning. {@link NodeOptions#maxWaiting} peers may wait to be accepted.
 *
 * <p>Progress is made by a daemon thread of the node, or by the program: see {@link NodeOptions#progress}. A program that
 * polls calls {@link #progress} and then {@link #pollAccept}, {@link Channel#pollReceive} and {@link Channel#trySend}, which
 * allocate nothing:
 *
 * {@snippet file="NodeSnippets.java" region="polling"}
 *
 * <p>A node has one completion queue and one such thread, which calls all of its handlers. A program that needs more opens
 * several nodes on one device. Each has a port of its own, so let peers choose among the ports. Memory is registered with
 * each node that uses it.
 *
 * <p>The arena closes the node. Closing a node closes its channels, all at once. A peer that does not answer in
 * {@link NodeOptions#closeTimeout} is no failure then: close a channel itself to learn that.
 *
 * <p>All threads may use a node of a shared arena at once. A node of a confined arena belongs to the arena's thread; all
 * threads may use its channels.
 */
public final class Node extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final Engine engine;
    private final VerbsArena arena;

    private Node(ObjectLifetime lifetime, Engine engine, VerbsArena arena) {
        super(lifetime);
        this.lifetime = lifetime;
        this.engine = engine;
        this.arena = arena;
        lifetime.destroyedBy(engine::close);
    }

    /**
     * Opens a node with default options.
     *
     * @param own an address of a device of this machine, with port 0 for any free port
     * @param arena the arena that closes the node
     * @return a new node, which listens
     * @throws IllegalArgumentException if the address is the wildcard address: a node has one device
     * @throws VerbsException if no device has the address, or another program listens there
     */
    public static Node open(InetSocketAddress own, VerbsArena arena) {
        return open(own, NodeOptions.defaults(), arena);
    }

    /**
     * Opens a node.
     *
     * @param own an address of a device of this machine, with port 0 for any free port
     * @param options sizes and limits
     * @param arena the arena that closes the node
     * @return a new node, which listens
     * @throws IllegalArgumentException if the address is the wildcard address, because a node has one device, if the
     *     device's completion queues are too small for the options, or if there is a protection without a secret
     * @throws VerbsException if no device has the address, or another program listens there
     */
    public static Node open(InetSocketAddress own, NodeOptions options, VerbsArena arena) {
        StackRoom.forLinking();
        checkOwn(own);
        Objects.requireNonNull(options, "options").check();
        return ObjectLifetime.create(arena, lifetime -> {
            Node node = new Node(lifetime, new Engine(own, options), arena);
            node.engine.start(node);
            return node;
        });
    }

    /**
     * Opens a node with default options on the device that reaches a peer, at a free port.
     *
     * @param peer the address of another node
     * @param arena the arena that closes the node
     * @return a new node, which listens
     * @throws VerbsException if no network reaches the peer, or the network has no device
     */
    public static Node openTowards(InetSocketAddress peer, VerbsArena arena) {
        return openTowards(peer, NodeOptions.defaults(), arena);
    }

    /**
     * Opens a node on the device that reaches a peer, at a free port. The routes of the operating system tell the device.
     * Connect the node then: this method sends nothing.
     *
     * @param peer the address of another node
     * @param options sizes and limits
     * @param arena the arena that closes the node
     * @return a new node, which listens
     * @throws IllegalArgumentException if the device's completion queues are too small for the options
     * @throws VerbsException if no network reaches the peer, or the network has no device
     */
    public static Node openTowards(InetSocketAddress peer, NodeOptions options, VerbsArena arena) {
        checkPeer(peer);
        InetSocketAddress own;
        try (DatagramChannel probe = DatagramChannel.open()) {
            own = (InetSocketAddress)
                    probe.connect(peer).getLocalAddress(); // of the route: UDP connects without a packet
        } catch (IOException e) {
            throw new ChannelException(
                    EndReason.UNREACHABLE,
                    IpAddresses.text(peer),
                    "No network of this machine reaches it: " + e.getMessage(),
                    e);
        }
        return open(new InetSocketAddress(own.getAddress(), 0), options, arena);
    }

    private static void checkPeer(InetSocketAddress peer) {
        checkResolved(peer);
        if (peer.getAddress().isAnyLocalAddress() || peer.getPort() == 0) {
            throw new IllegalArgumentException(
                    "peer must be an address and port that a node listens at, got " + IpAddresses.text(peer));
        }
    }

    /** Throws if an address can't be that of a node. */
    static void checkOwn(InetSocketAddress own) {
        checkResolved(own);
        if (own.getAddress().isAnyLocalAddress()) {
            throw new IllegalArgumentException("own address must be that of one device, got the wildcard address "
                    + IpAddresses.text(own) + ": open a node for each device");
        }
    }

    private static void checkResolved(InetSocketAddress address) {
        if (address.isUnresolved()) {
            throw new IllegalArgumentException("host name '" + address.getHostString() + "' could not be resolved");
        }
    }

    /**
     * Connects to another node, from this node's address.
     *
     * @param peer the address of the other node
     * @param timeout the longest time to wait
     * @return an open channel, which this node closes
     * @throws ChannelException if the peer can't be reached or refuses the channel, or this side fails
     * @throws VerbsTimeoutException if the channel is not open in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if this node is closed, also while waiting, or has as many channels as its options
     *     allow
     */
    public Channel connect(InetSocketAddress peer, Duration timeout) throws InterruptedException {
        StackRoom.forLinking();
        lifetime.checkOpen();
        checkPeer(peer);
        return engine.connector.connect(peer, timeout);
    }

    /**
     * Waits for a node that connects to this one.
     *
     * @param timeout the longest time to wait
     * @return an open channel, which this node closes
     * @throws VerbsTimeoutException if no peer came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if this node is closed, also while waiting
     */
    public Channel accept(Duration timeout) throws InterruptedException {
        lifetime.checkOpen();
        return engine.accept(timeout);
    }

    /**
     * Takes the channel of a node that has connected to this one, if there is one.
     *
     * @return an open channel, which this node closes; null if no peer has come
     * @throws IllegalStateException if this node is closed
     */
    public @Nullable Channel pollAccept() {
        lifetime.checkOpen();
        return engine.takeAccepted();
    }

    /**
     * Registers memory with this node's device, for operations on all of its channels. The node's arena deregisters it. If the
     * node has a secret, and the device no memory windows of type 2, the first operation of each channel registers the memory
     * once more, for that channel.
     *
     * @param memory memory of the node's arena, or of an arena that lives longer
     * @param access what the adapter may do: {@code LOCAL_WRITE} for memory to read into
     * @return the registered memory
     * @throws VerbsException if the memory could not be registered
     */
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        return register(memory, List.of(access), arena);
    }

    /**
     * Registers memory with this node's device, for operations on all of its channels.
     *
     * @param memory memory of the arena, or of an arena that lives longer
     * @param access what the adapter may do: {@code LOCAL_WRITE} for memory to read into
     * @param owner the arena that deregisters the memory
     * @return the registered memory
     * @throws VerbsException if the memory could not be registered
     */
    public MemoryRegion register(MemorySegment memory, Collection<AccessFlag> access, VerbsArena owner) {
        try (var _ = lifetime.held()) {
            return engine.carrier.register(memory, access, owner);
        }
    }

    /**
     * Registers memory that its owner frees, such as a buffer of Netty or Arrow, or memory of an arena of the JDK. Closing the
     * region closes the owner, once neither the adapter nor a peer uses the memory any more:
     *
     * {@snippet file="MemorySnippets.java" region="owner"}
     *
     * @param memory native memory. Nobody but the owner frees it
     * @param owner frees the memory. It is not closed if this method throws. {@link
     *     RegionOptions#foreign(MemorySegment, AutoCloseable)} says more
     * @param access what the adapter may do: {@code LOCAL_WRITE} for memory to read into
     * @return the registered memory, which the node's arena closes if the program does not
     * @throws VerbsException if the memory could not be registered
     * @throws IllegalArgumentException if the owner is a {@link VerbsArena}
     */
    public MemoryRegion register(MemorySegment memory, AutoCloseable owner, AccessFlag... access) {
        return register(RegionOptions.foreign(memory, owner).access(access), arena);
    }

    /**
     * Registers memory with options, as {@link #register(RegionOptions, VerbsArena)} does. The node's arena deregisters it.
     *
     * @param options options that begin with {@code RegionOptions.of(memory)} or {@code foreign(memory)}, and have the rights
     * @return the registered memory
     * @throws VerbsException if the memory could not be registered
     * @throws IllegalArgumentException if the options name memory of another kind, an address or hints
     */
    public MemoryRegion register(RegionOptions options) {
        return register(options, arena);
    }

    /**
     * Registers memory with options. So a node takes memory that this library can't keep from being freed:
     * {@link RegionOptions#foreign(MemorySegment)}.
     *
     * @param options options that begin with {@code RegionOptions.of(memory)} or {@code foreign(memory)}, and have the rights
     * @param owner the arena that deregisters the memory
     * @return the registered memory
     * @throws VerbsException if the memory could not be registered
     * @throws IllegalArgumentException if the options name memory of another kind, an address or hints
     */
    public MemoryRegion register(RegionOptions options, VerbsArena owner) {
        VerbsAccess verbs = VerbsAccess.get();
        verbs.memory(options); // throws if a node can't register it
        try (var _ = lifetime.held()) {
            MemoryRegion made = engine.carrier.register(options, owner);
            verbs.closesOwner(made, options); // last: the owner is not closed before all is done
            return made;
        }
    }

    /**
     * Registers a part of a file with this node's device, as
     * {@link #register(FileChannel, long, long, Collection, VerbsArena)} does. The node's arena deregisters and unmaps it.
     *
     * @param file a file that is open for reading, and for writing too if the adapter may write
     * @param position the place of the first byte in the file
     * @param size the number of bytes, at least 1
     * @param access what the adapter may do
     * @return the registered memory, whose {@linkplain MemoryRegion#segment segment} can be exported too
     * @throws IOException if the file can't be read, or ends before
     * @throws VerbsException if the memory could not be registered
     */
    public MemoryRegion register(FileChannel file, long position, long size, AccessFlag... access) throws IOException {
        return register(file, position, size, List.of(access), arena);
    }

    /**
     * Registers a part of a file with this node's device. Without {@code LOCAL_WRITE}, the file may be read-only. It is
     * mapped where the kernel allows that, which is Linux 6.2 or later, and later changes of the file are seen. Otherwise
     * its content is copied into memory now. With {@code LOCAL_WRITE}, the file is mapped and becomes as long as needed.
     * Linux 6.5 and later allow that only in memory ({@code tmpfs}, {@code hugetlbfs}).
     *
     * <p>Let nobody truncate the file while it is registered. An adapter goes on with the pages that were the file's: peers'
     * writes succeed and are lost, without an error on either side. A node without a device ends the channel of a peer that
     * uses what is missing.
     *
     * @param file a file that is open for reading, and for writing too if the adapter may write
     * @param position the place of the first byte in the file
     * @param size the number of bytes, at least 1
     * @param access what the adapter may do
     * @param owner the arena that deregisters and unmaps the memory
     * @return the registered memory, whose {@linkplain MemoryRegion#segment segment} can be exported too
     * @throws IOException if the file can't be read, or ends before
     * @throws VerbsException if the memory could not be registered
     */
    public MemoryRegion register(
            FileChannel file, long position, long size, Collection<AccessFlag> access, VerbsArena owner)
            throws IOException {
        FileMemory range = new FileMemory(file, position, size);
        if (size == 0) {
            throw new IllegalArgumentException("size of registered memory must be at least 1 byte, got 0");
        }
        try (var _ = lifetime.held()) {
            if (!access.contains(AccessFlag.LOCAL_WRITE)) {
                return range.readable(engine.carrier, access, owner);
            }
            MemoryRegion region = range.tryWritable(engine.carrier, access, owner);
            if (region == null) {
                throw new IOException("The kernel can't pin this file for an adapter that writes: use a file in memory"
                        + " (tmpfs or hugetlbfs), or register other memory and write it to the file."
                        + " Transfer.fetch() does that");
            }
            return region;
        }
    }

    /**
     * Exports memory: peers find it by the name with {@link Channel#remote}, and read or write it. The node's arena owns its
     * registration. Peers can connect as soon as the node is open: one that asks for the name before this call gets a
     * {@link CallException}.
     *
     * @param name a name of this node's own, of 1 to 64 bytes in UTF-8
     * @param memory memory of the node's arena, or of an arena that lives longer
     * @param access what peers may do: {@code REMOTE_READ}, {@code REMOTE_WRITE} and {@code REMOTE_ATOMIC}, at least one
     * @return the export
     * @throws VerbsException if the memory could not be registered
     * @throws IllegalArgumentException if the name or the rights are out of range, or if the node's arena is confined
     * @throws IllegalStateException if an export has the name already, or if this node is closed
     */
    public Export export(String name, MemorySegment memory, AccessFlag... access) {
        return export(name, memory, List.of(access), arena);
    }

    /**
     * Exports memory: peers find it by the name with {@link Channel#remote}, and read or write it.
     *
     * @param name a name of this node's own, of 1 to 64 bytes in UTF-8
     * @param memory memory of the arena, or of an arena that lives longer
     * @param access what peers may do: {@code REMOTE_READ}, {@code REMOTE_WRITE} and {@code REMOTE_ATOMIC}, at least one
     * @param owner the arena that owns the registration, which must be shared
     * @return the export
     * @throws VerbsException if the memory could not be registered
     * @throws IllegalArgumentException if the name or the rights are out of range, or if the arena is confined
     * @throws IllegalStateException if an export has the name already, or if this node is closed
     */
    public Export export(String name, MemorySegment memory, Collection<AccessFlag> access, VerbsArena owner) {
        StackRoom.forLinking();
        try (var _ = lifetime.held()) {
            return engine.exports.export(name, memory, access, owner);
        }
    }

    /**
     * Exports memory with options, as {@link #export(String, RegionOptions, VerbsArena)} does. The node's arena owns its
     * registration.
     *
     * @param name a name of this node's own, of 1 to 64 bytes in UTF-8
     * @param options options that begin with {@code RegionOptions.of(memory)} or {@code foreign(memory)}, and have what peers
     *     may do as rights: {@code REMOTE_READ}, {@code REMOTE_WRITE} and {@code REMOTE_ATOMIC}, at least one, with
     *     {@code LOCAL_WRITE} beside the last two
     * @return the export
     * @throws VerbsException if the memory could not be registered
     * @throws IllegalArgumentException if the name or the rights are out of range, if the options name memory of another kind,
     *     an address or hints, or if the node's arena is confined
     * @throws IllegalStateException if an export has the name already, or if this node is closed
     */
    public Export export(String name, RegionOptions options) {
        return export(name, options, arena);
    }

    /**
     * Exports memory with options. So a node exports memory that this library can't keep from being freed, such as a buffer of
     * Netty or Arrow: with {@link RegionOptions#foreign(MemorySegment, AutoCloseable)}, closing the export closes the buffer's
     * owner.
     *
     * @param name a name of this node's own, of 1 to 64 bytes in UTF-8
     * @param options options that begin with {@code RegionOptions.of(memory)} or {@code foreign(memory)}, and have what peers
     *     may do as rights: {@code REMOTE_READ}, {@code REMOTE_WRITE} and {@code REMOTE_ATOMIC}, at least one, with
     *     {@code LOCAL_WRITE} beside the last two
     * @param owner the arena that owns the registration, which must be shared
     * @return the export
     * @throws VerbsException if the memory could not be registered
     * @throws IllegalArgumentException if the name or the rights are out of range, if the options name memory of another kind,
     *     an address or hints, or if the arena is confined
     * @throws IllegalStateException if an export has the name already, or if this node is closed
     */
    public Export export(String name, RegionOptions options, VerbsArena owner) {
        StackRoom.forLinking();
        try (var _ = lifetime.held()) {
            return engine.exports.export(name, options, owner);
        }
    }

    /**
     * Accepts all peers from now on, and gives their channels to a handler. Peers that wait already are handed over first.
     * The node closes these channels when they have ended. {@link #accept} can't be used any more.
     *
     * @param handler the handler
     * @throws IllegalStateException if this node has a handler already, or is closed
     */
    public void listen(Handler handler) {
        lifetime.checkOpen();
        engine.listen(Objects.requireNonNull(handler, "handler"));
    }

    /**
     * Accepts all peers from now on, for a node whose peers only read and write its exports. Peers that wait already are
     * accepted first. The node closes their channels when they leave. Calls and offers of these peers fail, and their messages
     * and notices are dropped. {@link #accept} and {@link #listen} can't be used any more.
     *
     * {@snippet file="ExportSnippets.java" region="acceptAll"}
     *
     * @throws IllegalStateException if this node has a handler already, or is closed
     */
    public void acceptAll() {
        listen((channel, message) -> {
            if (message.isRequest() || message.isOffer()) {
                message.refuse("The node answers reads and writes of its exports only");
            }
        });
    }

    /**
     * Makes progress without waiting: handles what has happened on all channels, and with {@link
     * NodeOptions.Progress#CALLER} calls the handlers. Returns at once if another thread does.
     *
     * @return the number of completions and events that were handled
     * @throws VerbsException if the device has failed
     * @throws IllegalStateException if this node is closed
     */
    public int progress() {
        lifetime.checkOpen();
        return engine.poll();
    }

    /**
     * Returns counters of this node, over all channels that it has or had. A channel that is being closed meanwhile counts
     * once.
     *
     * @return the counters
     */
    public NodeStatistics statistics() {
        lifetime.checkOpen();
        return engine.statistics();
    }

    /**
     * Returns the times of the calls that this node has made, over all channels that it has or had: see
     * {@link Channel#latency}.
     *
     * @return the times since the node was opened
     */
    public Latency latency() {
        lifetime.checkOpen();
        return engine.latency(false);
    }

    /**
     * Returns the times that the handlers of this node have taken, over all channels that it has or had: see
     * {@link Channel#handlerLatency}.
     *
     * @return the times since the node was opened
     */
    public Latency handlerLatency() {
        lifetime.checkOpen();
        return engine.latency(true);
    }

    /**
     * Returns the channels of this node that are open. Those of peers that wait to be accepted are not among them.
     *
     * @return the channels, which this method does not open or close
     */
    public List<Channel> channels() {
        lifetime.checkOpen();
        return engine.openChannels();
    }

    /**
     * Returns counters of what others on the network have tried with this node, since it was opened. The flight recorder has
     * each stranger as {@code dev.verbena.Stranger}, and the end of each channel.
     *
     * @return the counters, all 0 without a {@link NodeOptions#secret}
     */
    public Attacks attacks() {
        lifetime.checkOpen();
        return engine.counts.attacks();
    }

    /**
     * Returns the last exception that kept a peer out: thrown by the test of {@link NodeOptions#admit} or by the functions of
     * {@link NodeOptions#secrets}, or a {@link ChannelException} if this node failed while the peer connected, for lack of
     * memory for example. The peer was not told the exception. The flight recorder has each one as {@code
     * dev.verbena.AdmitFailure}.
     *
     * @return the exception; empty if there was none
     */
    public Optional<Throwable> admitFailure() {
        lifetime.checkOpen();
        return Optional.ofNullable(engine.counts.admitFailure());
    }

    /**
     * Returns the number of times that a handler has thrown, see {@link Handler#failed}.
     *
     * @return the number since this node was opened
     */
    public long handlerFailures() {
        lifetime.checkOpen();
        return engine.counts.handlerFailures();
    }

    /**
     * Returns the exception that a handler threw last, see {@link Handler#failed}.
     *
     * @return the exception; empty if no handler has thrown
     */
    public Optional<Throwable> handlerFailure() {
        lifetime.checkOpen();
        return Optional.ofNullable(engine.counts.handlerFailure());
    }

    /**
     * Returns the address that this node listens at.
     *
     * @return the address, with the port that was chosen if port 0 was asked for
     */
    public InetSocketAddress address() {
        lifetime.checkOpen();
        return engine.address;
    }

    /**
     * Returns the options of this node.
     *
     * @return the options
     */
    public NodeOptions options() {
        lifetime.checkOpen();
        return engine.options;
    }

    /**
     * Returns the context of this node's device.
     *
     * @return the context, closed with this node
     * @throws UnsupportedOperationException if the node has no device: its transport is TCP, or AUTO without a device
     * @throws IllegalStateException if this node is closed
     */
    public Context context() {
        lifetime.checkOpen();
        return engine.carrier.context();
    }

    Engine engine() {
        return engine;
    }

    /** Returns for example {@code node 10.9.9.1:7174 on rxe0 (3 of 64 channels, 0 waiting)}. */
    @Override
    public String toString() {
        return engine.toString();
    }

    /**
     * Counters of what others on the network have tried with a {@link Node} that has a secret. See {@link Node#attacks}.
     *
     * @param strangers the number of peers that have not proved that they know the secret, and so were refused
     * @param tampered the number of channels that this side has ended with {@link EndReason#TAMPERED}
     */
    public record Attacks(long strangers, long tampered) {}
}

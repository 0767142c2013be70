package dev.verbena.net;

import dev.verbena.internal.Checks;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Options of a {@link Node}: sizes, and limits against bad peers. Begin with {@link #defaults}. Each option has a method
 * that returns a changed copy, and a method of the same name that reads it. Options never change, so all threads can use
 * them.
 *
 * <p>A channel pins memory for {@code window + sends + 2 * calls + 5} messages of {@code messageSize} bytes.
 */
public final class NodeOptions {
    private static final NodeOptions DEFAULTS = new NodeOptions(new Values());

    /** The thread that makes progress for a node: takes completions and events, and acts on them. */
    public enum Progress {
        /** A daemon thread of the node. All other threads may block, and messages travel while they do other things. */
        BACKGROUND,
        /**
         * The program's own threads, in {@link Node#progress} and while they wait in a method of the node or of a channel.
         * This is the fastest way for a program that polls. A node whose program does neither answers no peer.
         */
        CALLER
    }

    /** The values of the options. An instance is changed only before its options are made. */
    private static final class Values implements Cloneable {
        private int window = 32;
        private int sends = 32;
        private int calls = 32;
        private int operations = 32;
        private int maxExports = 64;
        private long maxTransferSize = 1L << 40;
        private byte[] token = {};
        private @Nullable BiPredicate<InetSocketAddress, byte[]> admit;
        private int messageSize = 4096;
        private int maxChannels = 64;
        private int maxChannelsPerPeer = 65535;
        private int maxWaiting = 32;
        private Duration handshakeTimeout = Duration.ofSeconds(5);
        private Duration closeTimeout = Duration.ofSeconds(10);
        private Duration alive = Duration.ofSeconds(5);
        private Duration maxStall = Duration.ofMinutes(5);
        private Progress progress = Progress.BACKGROUND;
        private Transport transport = Transport.RDMA;

        private Values copy() {
            try {
                return (Values) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }

        private List<Object> all() {
            return List.of(
                    window,
                    sends,
                    calls,
                    operations,
                    maxExports,
                    maxTransferSize,
                    HexFormat.of().formatHex(token),
                    Optional.ofNullable(admit),
                    messageSize,
                    maxChannels,
                    maxChannelsPerPeer,
                    maxWaiting,
                    handshakeTimeout,
                    closeTimeout,
                    alive,
                    maxStall,
                    progress,
                    transport);
        }

        private void check() {
            Checks.checkRange("window", window, 1, Wire.MAX_WINDOW);
            Checks.checkRange("number of messages under way", sends, 1, Wire.MAX_WINDOW);
            Checks.checkRange("number of open calls", calls, 0, Wire.MAX_WINDOW);
            Checks.checkRange("number of operations under way", operations, 0, Wire.MAX_WINDOW);
            Checks.checkRange("number of exports of a peer", maxExports, 0, 0xffff);
            if (maxTransferSize < 0) {
                throw new IllegalArgumentException("size of transfers must not be negative, got " + maxTransferSize);
            }
            Checks.checkRange("number of bytes of a token", token.length, 0, Wire.MAX_TOKEN);
            Checks.checkRange("message size", messageSize, Wire.GREETING_BYTES, 1 << 30);
            Checks.checkRange("number of channels", maxChannels, 1, 0xffff);
            Checks.checkRange("number of channels of a peer", maxChannelsPerPeer, 0, 0xffff);
            Checks.checkRange("number of waiting peers", maxWaiting, 0, 0xffff);
            checkPositive("handshake timeout", handshakeTimeout);
            Objects.requireNonNull(closeTimeout, "closeTimeout");
            if (closeTimeout.isNegative()) {
                throw new IllegalArgumentException("close timeout must not be negative, got " + closeTimeout);
            }
            checkPositive("time between signs of life", alive);
            checkPositive("longest stall", maxStall);
            Objects.requireNonNull(progress, "progress");
            Objects.requireNonNull(transport, "transport");
        }
    }

    private final Values values;

    private NodeOptions(Values values) {
        values.check();
        this.values = values;
    }

    private NodeOptions with(Consumer<Values> change) {
        Values copy = values.copy();
        change.accept(copy);
        return new NodeOptions(copy);
    }

    private static void checkPositive(String what, Duration value) {
        if (Objects.requireNonNull(value, what).compareTo(Duration.ZERO) <= 0) {
            throw new IllegalArgumentException(what + " must be more than 0, got " + value);
        }
    }

    /**
     * Returns options for up to 64 channels with 32 messages of 4 KiB in each direction.
     *
     * @return the default options
     */
    public static NodeOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Returns the number of messages that a peer can send before this side has closed the first of them.
     *
     * @return the number
     */
    public int window() {
        return values.window;
    }

    /**
     * Returns a copy with another window. A larger window needs more memory, and keeps a faster peer going.
     *
     * @param changed 1 to 4095
     * @return a changed copy
     */
    public NodeOptions window(int changed) {
        return with(values -> values.window = changed);
    }

    /**
     * Returns the number of messages that a channel can have under way.
     *
     * @return the number
     */
    public int sends() {
        return values.sends;
    }

    /**
     * Returns a copy with another number of messages under way.
     *
     * @param changed 1 to 4095
     * @return a changed copy
     */
    public NodeOptions sends(int changed) {
        return with(values -> values.sends = changed);
    }

    /**
     * Returns the number of calls that can be open at once in each direction of a channel.
     *
     * @return the number
     */
    public int calls() {
        return values.calls;
    }

    /**
     * Returns a copy with another number of calls that can be open at once in each direction of a channel. A peer that wants
     * more waits: see {@link Channel#call}. With 0, the channels of the node have no calls.
     *
     * @param changed 0 to 4095
     * @return a changed copy
     */
    public NodeOptions calls(int changed) {
        return with(values -> values.calls = changed);
    }

    /**
     * Returns the number of reads, writes and atomics on the peer's memory that a channel can have under way.
     *
     * @return the number
     */
    public int operations() {
        return values.operations;
    }

    /**
     * Returns a copy with another number of reads, writes and atomics under way. Further ones wait.
     *
     * @param changed 0 to 4095
     * @return a changed copy
     */
    public NodeOptions operations(int changed) {
        return with(values -> values.operations = changed);
    }

    /**
     * Returns the number of exports that a peer may ask for on a channel.
     *
     * @return the number
     */
    public int maxExports() {
        return values.maxExports;
    }

    /**
     * Returns a copy with another number of exports that a peer may ask for on a channel. Each may need a key of its own.
     * Exports that were closed do not count.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxExports(int changed) {
        return with(values -> values.maxExports = changed);
    }

    /**
     * Returns the largest number of bytes that a peer may offer at once.
     *
     * @return the number
     */
    public long maxTransferSize() {
        return values.maxTransferSize;
    }

    /**
     * Returns a copy with another largest number of bytes that a peer may offer at once. The node refuses larger offers, and
     * the program does not see them. No memory is allocated for an offer in any case.
     *
     * @param changed 0 or more
     * @return a changed copy
     */
    public NodeOptions maxTransferSize(long changed) {
        return with(values -> values.maxTransferSize = changed);
    }

    /**
     * Returns the bytes that this node sends to each node that it connects to.
     *
     * @return a copy of the bytes
     */
    public byte[] token() {
        return values.token.clone();
    }

    /**
     * Returns a copy with another token, which this node sends to each node that it connects to, for {@link
     * #admit(BiPredicate)}. It travels without encryption.
     *
     * @param changed at most 40 bytes, which are copied
     * @return a changed copy
     */
    public NodeOptions token(byte[] changed) {
        byte[] copy = changed.clone();
        return with(values -> values.token = copy);
    }

    /**
     * Returns the test of peers that connect to this node.
     *
     * @return the test; empty if all peers are admitted
     */
    public Optional<BiPredicate<InetSocketAddress, byte[]>> admit() {
        return Optional.ofNullable(values.admit);
    }

    /**
     * Returns a copy with a test of peers that connect to this node. The test gets the peer's address and its
     * {@link #token}, before the peer can send anything else, or find an export. A peer that fails sees
     * {@link EndReason#REFUSED}. So does one for which the test throws: the exception stays on this side, where
     * {@link Node#admitFailure} and the flight recorder have it. The test must not wait: it is called by the thread that
     * makes progress.
     *
     * @param changed returns true to admit the peer
     * @return a changed copy
     */
    public NodeOptions admit(BiPredicate<InetSocketAddress, byte[]> changed) {
        Objects.requireNonNull(changed, "admit");
        return with(values -> values.admit = changed);
    }

    /**
     * Returns the largest number of bytes of a message that this side receives, and of its messages to send.
     *
     * @return the number
     */
    public int messageSize() {
        return values.messageSize;
    }

    /**
     * Returns a copy with another size of messages. Peers send at most as many bytes as both sides allow.
     *
     * @param changed 64 to 1 GiB
     * @return a changed copy
     */
    public NodeOptions messageSize(int changed) {
        return with(values -> values.messageSize = changed);
    }

    /**
     * Returns the largest number of channels of the node. A channel counts until it is closed.
     *
     * @return the number
     */
    public int maxChannels() {
        return values.maxChannels;
    }

    /**
     * Returns a copy with another largest number of channels.
     *
     * @param changed 1 to 65535
     * @return a changed copy
     */
    public NodeOptions maxChannels(int changed) {
        return with(values -> values.maxChannels = changed);
    }

    /**
     * Returns the largest number of channels that peers of one address may open.
     *
     * @return the number
     */
    public int maxChannelsPerPeer() {
        return values.maxChannelsPerPeer;
    }

    /**
     * Returns a copy with another largest number of channels that peers of one address may open.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxChannelsPerPeer(int changed) {
        return with(values -> values.maxChannelsPerPeer = changed);
    }

    /**
     * Returns the largest number of peers that have come and were not accepted yet. Others are refused.
     *
     * @return the number
     */
    public int maxWaiting() {
        return values.maxWaiting;
    }

    /**
     * Returns a copy with another largest number of peers that wait to be accepted. With 0, all peers are refused.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxWaiting(int changed) {
        return with(values -> values.maxWaiting = changed);
    }

    /**
     * Returns the longest time from a peer's request to its first message.
     *
     * @return the time
     */
    public Duration handshakeTimeout() {
        return values.handshakeTimeout;
    }

    /**
     * Returns a copy with another longest time from a peer's request to its first message.
     *
     * @param changed more than 0
     * @return a changed copy
     */
    public NodeOptions handshakeTimeout(Duration changed) {
        return with(values -> values.handshakeTimeout = changed);
    }

    /**
     * Returns the longest time that closing a channel takes: see {@link Channel#close}.
     *
     * @return the time
     */
    public Duration closeTimeout() {
        return values.closeTimeout;
    }

    /**
     * Returns a copy with another longest time that closing a channel takes.
     *
     * @param changed 0 or more
     * @return a changed copy
     */
    public NodeOptions closeTimeout(Duration changed) {
        return with(values -> values.closeTimeout = changed);
    }

    /**
     * Returns the time after which an idle channel asks the peer's adapter for a sign of life. A channel ends with
     * {@link EndReason#LOST} at most three times this long after the peer's machine has failed. Reads and writes that are
     * under way then add a second for each 4 MiB, because an adapter does not tell how far they are.
     *
     * <p>The adapter sends a request that was not acknowledged again after an eighth of this time, within 67 ms and 2.1 s;
     * soft-RoCE after 134 ms. All adapters but soft-RoCE give up when seven more attempts have failed, which ends the
     * channel too.
     *
     * @return the time
     */
    public Duration alive() {
        return values.alive;
    }

    /**
     * Returns a copy with another time after which an idle channel asks the peer's adapter for a sign of life.
     *
     * @param changed more than 0
     * @return a changed copy
     */
    public NodeOptions alive(Duration changed) {
        return with(values -> values.alive = changed);
    }

    /**
     * Returns the longest time that a channel with a message to send waits for a peer that closes no messages.
     *
     * @return the time
     */
    public Duration maxStall() {
        return values.maxStall;
    }

    /**
     * Returns a copy with another longest time that a channel with a message to send waits for a peer that closes no
     * messages. Then the channel ends with {@link EndReason#STALLED}, so that slow readers do not keep memory and threads
     * for ever.
     *
     * @param changed more than 0
     * @return a changed copy
     */
    public NodeOptions maxStall(Duration changed) {
        return with(values -> values.maxStall = changed);
    }

    /**
     * Returns who makes progress for the node.
     *
     * @return the way
     */
    public Progress progress() {
        return values.progress;
    }

    /**
     * Returns a copy with another way to make progress.
     *
     * @param changed the way
     * @return a changed copy
     */
    public NodeOptions progress(Progress changed) {
        return with(values -> values.progress = changed);
    }

    /**
     * Returns the transport of the node's channels.
     *
     * @return the choice, which is {@link Transport#RDMA} by default
     */
    public Transport transport() {
        return values.transport;
    }

    /**
     * Returns a copy with another transport. With {@link Transport#RDMA} or {@link Transport#TCP}, both nodes of a channel
     * need that one, or {@link Transport#AUTO}. With TCP a program runs on machines without a device, and without the
     * libraries of RDMA.
     *
     * <p>With {@code AUTO}, a node uses the device that has its address, if there is one, and TCP. It listens by both at
     * one port. A channel uses RDMA if both nodes have it. It uses TCP only if one of the nodes has no RDMA, if no device
     * leads from one to the other, or if nobody listens there by RDMA. A peer that refuses a channel by RDMA, or does not
     * answer, is not tried by TCP: the connection ends with the reason. Memory is registered with the device, for channels
     * of both kinds.
     *
     * @param changed the choice
     * @return a changed copy
     */
    public NodeOptions transport(Transport changed) {
        return with(values -> values.transport = changed);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof NodeOptions options && values.all().equals(options.values.all());
    }

    @Override
    public int hashCode() {
        return values.all().hashCode();
    }

    /** Returns the sizes and the limits. */
    @Override
    public String toString() {
        return "window " + values.window + ", " + values.sends + " under way, " + values.calls + " calls, "
                + values.operations
                + " operations, messages of "
                + values.messageSize + " bytes, at most " + values.maxChannels + " channels ("
                + values.maxChannelsPerPeer + " of a peer, " + values.maxWaiting + " waiting, "
                + values.maxExports + " exports), transfers of " + values.maxTransferSize + " bytes, "
                + (values.admit == null ? "all admitted" : "some admitted")
                + ", handshake "
                + values.handshakeTimeout + ", close " + values.closeTimeout + ", alive " + values.alive + ", stall "
                + values.maxStall + ", "
                + values.progress + ", " + values.transport;
    }
}

package dev.verbena.net;

import dev.verbena.internal.Checks;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of a {@link Node}: sizes, and limits against bad peers. Begin with {@link #defaults}. Each option has a method that
 * returns a changed copy, and a method of the same name that reads it. Options never change, so all threads can use them.
 *
 * <p>A channel pins memory for {@code window + sends + 5} messages of {@code messageSize} bytes.
 */
public final class NodeOptions {
    private static final NodeOptions DEFAULTS = new NodeOptions(
            32,
            32,
            4096,
            64,
            65535,
            32,
            Duration.ofSeconds(5),
            Duration.ofSeconds(10),
            Duration.ofSeconds(5),
            Progress.BACKGROUND);

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

    private final int window;
    private final int sends;
    private final int messageSize;
    private final int maxChannels;
    private final int maxChannelsPerPeer;
    private final int maxWaiting;
    private final Duration handshakeTimeout;
    private final Duration closeTimeout;
    private final Duration alive;
    private final Progress progress;

    private NodeOptions(
            int window,
            int sends,
            int messageSize,
            int maxChannels,
            int maxChannelsPerPeer,
            int maxWaiting,
            Duration handshakeTimeout,
            Duration closeTimeout,
            Duration alive,
            Progress progress) {
        Checks.checkRange("window", window, 1, Wire.MAX_WINDOW);
        Checks.checkRange("number of messages under way", sends, 1, Wire.MAX_WINDOW);
        Checks.checkRange("message size", messageSize, Wire.GREETING_BYTES, 1 << 30);
        Checks.checkRange("number of channels", maxChannels, 1, 0xffff);
        Checks.checkRange("number of channels of a peer", maxChannelsPerPeer, 0, 0xffff);
        Checks.checkRange("number of waiting peers", maxWaiting, 0, 0xffff);
        this.handshakeTimeout = positive("handshake timeout", handshakeTimeout);
        Objects.requireNonNull(closeTimeout, "closeTimeout");
        if (closeTimeout.isNegative()) {
            throw new IllegalArgumentException("close timeout must not be negative, got " + closeTimeout);
        }
        this.alive = positive("time between signs of life", alive);
        this.progress = Objects.requireNonNull(progress, "progress");
        this.window = window;
        this.sends = sends;
        this.messageSize = messageSize;
        this.maxChannels = maxChannels;
        this.maxChannelsPerPeer = maxChannelsPerPeer;
        this.maxWaiting = maxWaiting;
        this.closeTimeout = closeTimeout;
    }

    private static Duration positive(String what, Duration value) {
        if (Objects.requireNonNull(value, what).compareTo(Duration.ZERO) <= 0) {
            throw new IllegalArgumentException(what + " must be more than 0, got " + value);
        }
        return value;
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
        return window;
    }

    /**
     * Returns a copy with another window. A larger window needs more memory, and keeps a faster peer going.
     *
     * @param changed 1 to 4095
     * @return a changed copy
     */
    public NodeOptions window(int changed) {
        return new NodeOptions(
                changed,
                sends,
                messageSize,
                maxChannels,
                maxChannelsPerPeer,
                maxWaiting,
                handshakeTimeout,
                closeTimeout,
                alive,
                progress);
    }

    /**
     * Returns the number of messages that a channel can have under way.
     *
     * @return the number
     */
    public int sends() {
        return sends;
    }

    /**
     * Returns a copy with another number of messages under way.
     *
     * @param changed 1 to 4095
     * @return a changed copy
     */
    public NodeOptions sends(int changed) {
        return new NodeOptions(
                window,
                changed,
                messageSize,
                maxChannels,
                maxChannelsPerPeer,
                maxWaiting,
                handshakeTimeout,
                closeTimeout,
                alive,
                progress);
    }

    /**
     * Returns the largest number of bytes of a message that this side receives, and of its messages to send.
     *
     * @return the number
     */
    public int messageSize() {
        return messageSize;
    }

    /**
     * Returns a copy with another size of messages. Peers send at most as many bytes as both sides allow.
     *
     * @param changed 64 to 1 GiB
     * @return a changed copy
     */
    public NodeOptions messageSize(int changed) {
        return new NodeOptions(
                window,
                sends,
                changed,
                maxChannels,
                maxChannelsPerPeer,
                maxWaiting,
                handshakeTimeout,
                closeTimeout,
                alive,
                progress);
    }

    /**
     * Returns the largest number of channels of the node. A channel counts until it is closed.
     *
     * @return the number
     */
    public int maxChannels() {
        return maxChannels;
    }

    /**
     * Returns a copy with another largest number of channels.
     *
     * @param changed 1 to 65535
     * @return a changed copy
     */
    public NodeOptions maxChannels(int changed) {
        return new NodeOptions(
                window,
                sends,
                messageSize,
                changed,
                maxChannelsPerPeer,
                maxWaiting,
                handshakeTimeout,
                closeTimeout,
                alive,
                progress);
    }

    /**
     * Returns the largest number of channels that peers of one address may open.
     *
     * @return the number
     */
    public int maxChannelsPerPeer() {
        return maxChannelsPerPeer;
    }

    /**
     * Returns a copy with another largest number of channels that peers of one address may open.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxChannelsPerPeer(int changed) {
        return new NodeOptions(
                window,
                sends,
                messageSize,
                maxChannels,
                changed,
                maxWaiting,
                handshakeTimeout,
                closeTimeout,
                alive,
                progress);
    }

    /**
     * Returns the largest number of peers that have come and were not accepted yet. Others are refused.
     *
     * @return the number
     */
    public int maxWaiting() {
        return maxWaiting;
    }

    /**
     * Returns a copy with another largest number of peers that wait to be accepted. With 0, all peers are refused.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxWaiting(int changed) {
        return new NodeOptions(
                window,
                sends,
                messageSize,
                maxChannels,
                maxChannelsPerPeer,
                changed,
                handshakeTimeout,
                closeTimeout,
                alive,
                progress);
    }

    /**
     * Returns the longest time from a peer's request to its first message.
     *
     * @return the time
     */
    public Duration handshakeTimeout() {
        return handshakeTimeout;
    }

    /**
     * Returns a copy with another longest time from a peer's request to its first message.
     *
     * @param changed more than 0
     * @return a changed copy
     */
    public NodeOptions handshakeTimeout(Duration changed) {
        return new NodeOptions(
                window,
                sends,
                messageSize,
                maxChannels,
                maxChannelsPerPeer,
                maxWaiting,
                changed,
                closeTimeout,
                alive,
                progress);
    }

    /**
     * Returns the longest time that closing a channel takes: see {@link Channel#close}.
     *
     * @return the time
     */
    public Duration closeTimeout() {
        return closeTimeout;
    }

    /**
     * Returns a copy with another longest time that closing a channel takes.
     *
     * @param changed 0 or more
     * @return a changed copy
     */
    public NodeOptions closeTimeout(Duration changed) {
        return new NodeOptions(
                window,
                sends,
                messageSize,
                maxChannels,
                maxChannelsPerPeer,
                maxWaiting,
                handshakeTimeout,
                changed,
                alive,
                progress);
    }

    /**
     * Returns the time after which an idle channel asks the peer's adapter for a sign of life. A channel ends with {@link EndReason#LOST} at most three times this long after the peer's machine has failed.
     *
     * @return the time
     */
    public Duration alive() {
        return alive;
    }

    /**
     * Returns a copy with another time after which an idle channel asks the peer's adapter for a sign of life.
     *
     * @param changed more than 0
     * @return a changed copy
     */
    public NodeOptions alive(Duration changed) {
        return new NodeOptions(
                window,
                sends,
                messageSize,
                maxChannels,
                maxChannelsPerPeer,
                maxWaiting,
                handshakeTimeout,
                closeTimeout,
                changed,
                progress);
    }

    /**
     * Returns who makes progress for the node.
     *
     * @return the way
     */
    public Progress progress() {
        return progress;
    }

    /**
     * Returns a copy with another way to make progress.
     *
     * @param changed the way
     * @return a changed copy
     */
    public NodeOptions progress(Progress changed) {
        return new NodeOptions(
                window,
                sends,
                messageSize,
                maxChannels,
                maxChannelsPerPeer,
                maxWaiting,
                handshakeTimeout,
                closeTimeout,
                alive,
                changed);
    }

    private List<Object> all() {
        return List.of(
                window,
                sends,
                messageSize,
                maxChannels,
                maxChannelsPerPeer,
                maxWaiting,
                handshakeTimeout,
                closeTimeout,
                alive,
                progress);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof NodeOptions options && all().equals(options.all());
    }

    @Override
    public int hashCode() {
        return all().hashCode();
    }

    /** Returns the sizes and the limits. */
    @Override
    public String toString() {
        return "window " + window + ", " + sends + " under way, messages of " + messageSize + " bytes, at most "
                + maxChannels + " channels (" + maxChannelsPerPeer + " of a peer, " + maxWaiting
                + " waiting), handshake " + handshakeTimeout + ", close " + closeTimeout + ", alive " + alive + ", "
                + progress;
    }
}

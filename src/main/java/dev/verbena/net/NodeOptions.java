package dev.verbena.net;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Options of a {@link Node}: sizes, and limits against bad peers. Begin with {@link #defaults}. Each option has a method
 * that returns a changed copy. Options never change, so all threads can use them.
 *
 * <p>A channel pins memory for {@code window + sends + 2 * calls + 3} messages of {@code messageSize} bytes, once its peer is
 * admitted: before, for two greetings. A {@linkplain Protection#SEALED sealed} channel pins memory for {@code calls} more. Over TCP, memory is not pinned, and a page is taken when it is first used.
 */
public final class NodeOptions extends Options<NodeOptions> {
    private static final NodeOptions DEFAULTS = new NodeOptions();

    /** The thread that makes progress for a node: takes completions and events, and acts on them. */
    public enum Progress {
        /** A daemon thread of the node. All other threads may block, and messages travel while they do other things. */
        BACKGROUND,
        /**
         * The program's own threads, in {@link Node#progress} and while they wait in a method of the node or of a channel.
         * This is the fastest way for a program that polls. A node whose program does neither answers no peer.
         *
         * <p>Over {@link Transport#TCP}, these threads use the sockets too. A thread of the node does, once the program has made no
         * progress for a millisecond.
         */
        CALLER
    }

    private int window = 32;
    private int sends = 32;
    private int calls = 32;
    private int operations = 32;
    private int maxExports = 64;
    private long maxTransferSize = 1L << 40;
    private byte[] token = {};
    private @Nullable BiPredicate<InetSocketAddress, byte[]> admit;
    private @Nullable Secrets secrets;

    /** The protection; null for that of the secret alone. */
    private @Nullable Protection protection;

    private int messageSize = 4096;
    private int maxChannels = 64;

    /** The number of channels of an address; -1 for three quarters of all. */
    private int maxChannelsPerPeer = -1;

    private int maxWaiting = 32;
    private Duration handshakeTimeout = Duration.ofSeconds(30);
    private Duration closeTimeout = Duration.ofSeconds(10);
    private Duration alive = Duration.ofSeconds(5);
    private Duration maxStall = Duration.ofMinutes(5);
    private Progress progress = Progress.BACKGROUND;
    private Transport transport = Transport.RDMA;

    private NodeOptions() {}

    /**
     * Returns options for up to 64 channels with 32 messages of 4 KiB in each direction.
     *
     * @return the default options
     */
    public static NodeOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Returns a copy with another window: the number of messages that a peer can send before this side has closed the first
     * of them. A larger window needs more memory, and keeps a faster peer going.
     *
     * @param changed 1 to 4095
     * @return a changed copy
     */
    public NodeOptions window(int changed) {
        return with(copy -> copy.window = Checks.checkRange("window", changed, 1, Wire.MAX_WINDOW));
    }

    /**
     * Returns a copy with another number of messages that a channel can have under way.
     *
     * @param changed 1 to 4095
     * @return a changed copy
     */
    public NodeOptions sends(int changed) {
        return with(
                copy -> copy.sends = Checks.checkRange("number of messages under way", changed, 1, Wire.MAX_WINDOW));
    }

    /**
     * Returns a copy with another number of calls that can be open at once in each direction of a channel. A peer that wants
     * more waits: see {@link Channel#call}. With 0, the channels of the node have no calls.
     *
     * @param changed 0 to 4095
     * @return a changed copy
     */
    public NodeOptions calls(int changed) {
        return with(copy -> copy.calls = Checks.checkRange("number of open calls", changed, Wire.MAX_WINDOW));
    }

    /**
     * Returns a copy with another number of reads, writes and atomics on the peer's memory that a channel can have
     * under way. Further ones wait.
     *
     * @param changed 0 to 4095
     * @return a changed copy
     */
    public NodeOptions operations(int changed) {
        return with(copy ->
                copy.operations = Checks.checkRange("number of operations under way", changed, Wire.MAX_WINDOW));
    }

    /**
     * Returns a copy with another number of exports that a peer may ask for on a channel. Each may need a key of its own.
     * Exports that were closed do not count.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxExports(int changed) {
        return with(copy -> copy.maxExports = Checks.checkRange("number of exports of a peer", changed, 0xffff));
    }

    /**
     * Returns a copy with another largest number of bytes that a peer may offer at once. The node refuses larger offers, and
     * the program does not see them. No memory is allocated for an offer in any case.
     *
     * @param changed 0 or more
     * @return a changed copy
     */
    public NodeOptions maxTransferSize(long changed) {
        return with(copy -> copy.maxTransferSize = Checks.checkAtLeast("size of transfers", changed, 0));
    }

    /**
     * Returns a copy with another token, which this node sends to each node that it connects to, for {@link
     * #admit(BiPredicate)}. Without a {@link #secret} it travels without encryption, and proves nothing.
     *
     * @param changed at most 40 bytes, which are copied
     * @return a changed copy
     */
    public NodeOptions token(byte[] changed) {
        Checks.checkRange("number of bytes of a token", changed.length, Wire.MAX_TOKEN);
        return with(copy -> copy.token = changed.clone());
    }

    /**
     * Returns a copy with a secret that this node shares with its peers. The node admits only peers that prove that they know
     * it, proves the same to them, and with that the channels are {@link Protection#SEALED}: see {@link #protection}. The
     * secret never travels.
     *
     * <p>Take random bytes, and no password: who records a greeting can try guesses on it, as fast as computers can.
     *
     * @param changed at least 16 bytes, which are hashed and not kept
     * @return a changed copy
     */
    public NodeOptions secret(byte[] changed) {
        Secrets one = new Secrets(changed);
        return with(copy -> copy.secrets = one);
    }

    /**
     * Returns a copy with secrets that the program finds by their names, so that a secret can be replaced while nodes live:
     * first all nodes get to know the new one, then they connect with it, and then they forget the old one. Channels that are
     * open stay so. The name of a secret travels in the clear, and the secret never.
     *
     * <p>The functions must not wait: {@code byName} is called by the thread that makes progress. A peer whose name has no
     * secret sees {@link EndReason#WRONG_SECRET}, and so does one for which the function throws.
     *
     * @param current returns the name of the secret that this node connects with, of at most 40 bytes in UTF-8
     * @param byName returns the secret of a name, of at least 16 bytes, which are hashed and not kept
     * @return a changed copy
     */
    public NodeOptions secrets(Supplier<String> current, Function<String, Optional<byte[]>> byName) {
        Secrets many = new Secrets(current, byName);
        return with(copy -> copy.secrets = many);
    }

    /**
     * Returns a copy with another protection of all channels of the node. Without this call, a node with a {@link #secret} has
     * {@link Protection#SEALED}, and another one {@link Protection#NONE}. Both nodes of a channel need the same, else the
     * channel ends with {@link EndReason#OTHER_PROTECTION} before anything else is said.
     *
     * <p>A sealed message is 16 bytes longer, and a channel pins memory for {@code calls} more messages. A sealed transfer
     * pins up to 1 MiB, which the node keeps for the next one. The JDK's cipher allocates some 950 bytes for each message that
     * is sealed or opened (JDK 25).
     *
     * @param changed the protection. All but {@code NONE} need a secret, and with {@code NONE} there must be none
     * @return a changed copy
     */
    public NodeOptions protection(Protection changed) {
        return with(copy -> copy.protection = Objects.requireNonNull(changed, "protection"));
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
        return with(copy -> copy.admit = Objects.requireNonNull(changed, "admit"));
    }

    /**
     * Returns a copy with another largest number of bytes of a message. Peers send at most as many bytes as both sides allow.
     *
     * @param changed 64 to 1 GiB
     * @return a changed copy
     */
    public NodeOptions messageSize(int changed) {
        return with(
                copy -> copy.messageSize = Checks.checkRange("message size", changed, Wire.GREETING_BYTES, 1 << 30));
    }

    /**
     * Returns a copy with another largest number of channels. A channel counts until it is closed.
     *
     * @param changed 1 to 65535
     * @return a changed copy
     */
    public NodeOptions maxChannels(int changed) {
        return with(copy -> copy.maxChannels = Checks.checkRange("number of channels", changed, 1, 0xffff));
    }

    /**
     * Returns a copy with another largest number of channels that peers of one address may open. By default it is three
     * quarters of {@link #maxChannels}, so that one address can't keep all others out.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxChannelsPerPeer(int changed) {
        return with(
                copy -> copy.maxChannelsPerPeer = Checks.checkRange("number of channels of a peer", changed, 0xffff));
    }

    /**
     * Returns a copy with another largest number of peers that wait to be accepted. With 0, all peers are refused.
     *
     * <p>A peer that has left before it was accepted is not there any more. One that has left messages stays, so that they can be
     * received, until another peer needs its place.
     *
     * <p>Once there are as many, a peer that was refused gives way to the next one; or else the oldest peer that has connected
     * and not greeted, of the address that has the most of them. Over TCP, peers that have not greeted do not count, as they
     * cost little. Of these, a node keeps eight times as many.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxWaiting(int changed) {
        return with(copy -> copy.maxWaiting = Checks.checkRange("number of waiting peers", changed, 0xffff));
    }

    /**
     * Returns a copy with another longest time from a peer's request to its first message. The default of 30 seconds lets in a
     * peer whose virtual machine has just started on a busy machine.
     *
     * @param changed more than 0
     * @return a changed copy
     */
    public NodeOptions handshakeTimeout(Duration changed) {
        return with(copy -> copy.handshakeTimeout = Checks.checkPositive("handshake timeout", changed));
    }

    /**
     * Returns a copy with another longest time that closing a channel takes: see {@link Channel#close}.
     *
     * @param changed 0 or more
     * @return a changed copy
     */
    public NodeOptions closeTimeout(Duration changed) {
        if (Objects.requireNonNull(changed, "closeTimeout").isNegative()) {
            throw new IllegalArgumentException("close timeout must not be negative, got " + changed);
        }
        return with(copy -> copy.closeTimeout = changed);
    }

    /**
     * Returns a copy with another time after which an idle channel asks the peer's adapter for a sign of life. A channel
     * ends with {@link EndReason#LOST} at most three times this long after the peer's machine has failed. Reads and writes
     * that are under way then add a second for each 4 MiB, because an adapter does not tell how far they are.
     *
     * <p>The adapter sends a request that was not acknowledged again after an eighth of this time, within 67 ms and 2.1 s;
     * soft-RoCE after 134 ms. All adapters but soft-RoCE give up when seven more attempts have failed, which ends the
     * channel too.
     *
     * @param changed more than 0
     * @return a changed copy
     */
    public NodeOptions alive(Duration changed) {
        return with(copy -> copy.alive = Checks.checkPositive("time between signs of life", changed));
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
        return with(copy -> copy.maxStall = Checks.checkPositive("longest stall", changed));
    }

    /**
     * Returns a copy with another thread that makes progress for the node.
     *
     * @param changed the way
     * @return a changed copy
     */
    public NodeOptions progress(Progress changed) {
        return with(copy -> copy.progress = Objects.requireNonNull(changed, "progress"));
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
        return with(copy -> copy.transport = Objects.requireNonNull(changed, "transport"));
    }

    int window() {
        return window;
    }

    int sends() {
        return sends;
    }

    int calls() {
        return calls;
    }

    int operations() {
        return operations;
    }

    int maxExports() {
        return maxExports;
    }

    long maxTransferSize() {
        return maxTransferSize;
    }

    byte[] token() {
        return token;
    }

    Optional<BiPredicate<InetSocketAddress, byte[]>> admit() {
        return Optional.ofNullable(admit);
    }

    /** Returns the secrets, which all protection needs. */
    Secrets secrets() {
        return Objects.requireNonNull(secrets, "secrets");
    }

    Protection protection() {
        Protection chosen = protection;
        return chosen != null ? chosen : secrets == null ? Protection.NONE : Protection.SEALED;
    }

    /** Returns the number of bytes behind each message for its seal. */
    int room() {
        return isSealed() ? Seal.BYTES : 0;
    }

    boolean isSealed() {
        return protection() == Protection.SEALED;
    }

    /** Returns the number of bytes behind those of the program in an offer. */
    int offerBytes() {
        return isSealed() ? Wire.EXPORT_BYTES + SealedOffer.KEY_BYTES : Wire.EXPORT_BYTES;
    }

    /** Throws if the options of a node contradict each other. */
    void check() {
        if ((protection() == Protection.NONE) != (secrets == null)) {
            throw new IllegalArgumentException(
                    secrets == null
                            ? "protection " + protection + " needs a secret: see NodeOptions.secret()"
                            : "protection NONE has no use for a secret: leave NodeOptions.secret() out, or choose another protection");
        }
    }

    int messageSize() {
        return messageSize;
    }

    int maxChannels() {
        return maxChannels;
    }

    int maxChannelsPerPeer() {
        return maxChannelsPerPeer < 0 ? maxChannels - maxChannels / 4 : maxChannelsPerPeer;
    }

    int maxWaiting() {
        return maxWaiting;
    }

    Duration handshakeTimeout() {
        return handshakeTimeout;
    }

    Duration closeTimeout() {
        return closeTimeout;
    }

    Duration alive() {
        return alive;
    }

    Duration maxStall() {
        return maxStall;
    }

    Progress progress() {
        return progress;
    }

    Transport transport() {
        return transport;
    }

    @Override
    protected List<Option> options() {
        return List.of(
                option("window", window, DEFAULTS.window),
                option("sends", sends, DEFAULTS.sends),
                option("calls", calls, DEFAULTS.calls),
                option("operations", operations, DEFAULTS.operations),
                option("exports", maxExports, DEFAULTS.maxExports),
                option("transfer size", maxTransferSize, DEFAULTS.maxTransferSize),
                hidden("token", HexFormat.of().formatHex(token), ""),
                hidden("admission test", admit, null),
                hidden("secret", secrets, null),
                option("protection", protection(), Protection.NONE),
                option("message size", messageSize, DEFAULTS.messageSize),
                option("channels", maxChannels, DEFAULTS.maxChannels),
                option("channels per peer", maxChannelsPerPeer, DEFAULTS.maxChannelsPerPeer),
                option("waiting", maxWaiting, DEFAULTS.maxWaiting),
                option("handshake timeout", handshakeTimeout, DEFAULTS.handshakeTimeout),
                option("close timeout", closeTimeout, DEFAULTS.closeTimeout),
                option("alive", alive, DEFAULTS.alive),
                option("stall", maxStall, DEFAULTS.maxStall),
                option("progress", progress, DEFAULTS.progress),
                option("transport", transport, DEFAULTS.transport));
    }
}

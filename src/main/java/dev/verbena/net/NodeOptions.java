package dev.verbena.net;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.link.LinkOptions;
import dev.verbena.internal.link.Sizes;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.device.Mtu;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Options of a {@link Node}: sizes, and limits against bad peers. Begin with {@link #defaults}. Each option has a method
 * that returns a changed copy. Options never change, so all threads can use them.
 *
 * <p>A channel pins memory for {@code window + sends + 2 * calls + 3} messages of {@code messageSize} bytes, and 64
 * bytes more for each, once its peer is admitted: before, for two greetings. With a window of 16 or more, it pins memory
 * for {@code window / 8 - 1} more, at most 7, because it posts receives several at a time. A
 * {@linkplain Protection#SEALED sealed} channel pins memory for {@code calls} more. Over TCP, memory is not pinned, and a
 * page is taken when it is first used.
 */
public final class NodeOptions extends Options<NodeOptions> {
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

    private static final Keys<NodeOptions> KEYS = new Keys<>();
    private static final Key<NodeOptions, Integer> WINDOW = KEYS.key("window", 32);
    private static final Key<NodeOptions, Integer> SENDS = KEYS.key("sends", 32);
    private static final Key<NodeOptions, Integer> CALLS = KEYS.key("calls", 32);
    private static final Key<NodeOptions, Integer> OPERATIONS = KEYS.key("operations", 32);
    private static final Key<NodeOptions, Integer> MAX_EXPORTS = KEYS.key("exports", 64);
    private static final Key<NodeOptions, Long> MAX_TRANSFER_SIZE = KEYS.key("transfer size", 1L << 40);
    private static final Key<NodeOptions, byte[]> TOKEN = KEYS.hidden("token", new byte[0]);
    private static final Key<NodeOptions, @Nullable BiPredicate<InetSocketAddress, byte[]>> ADMIT =
            KEYS.hidden("admission test", null);
    private static final Key<NodeOptions, @Nullable Secrets> SECRETS = KEYS.hidden("secret", null);

    /** The protection; null for that of the secret alone. */
    private static final Key<NodeOptions, @Nullable Protection> PROTECTION = KEYS.key("protection", null);

    private static final Key<NodeOptions, Integer> MESSAGE_SIZE = KEYS.key("message size", 4096);
    private static final Key<NodeOptions, Integer> MAX_CHANNELS = KEYS.key("channels", 64);

    /** The number of channels of an address; null for three quarters of all. */
    private static final Key<NodeOptions, @Nullable Integer> MAX_CHANNELS_PER_PEER =
            KEYS.key("channels per peer", null);

    private static final Key<NodeOptions, Integer> MAX_WAITING = KEYS.key("waiting", 32);
    private static final Key<NodeOptions, Integer> CONNECTING = KEYS.key("connecting", 64);
    private static final Key<NodeOptions, Duration> HANDSHAKE_TIMEOUT =
            KEYS.key("handshake timeout", Duration.ofSeconds(30));
    private static final Key<NodeOptions, Duration> CLOSE_TIMEOUT = KEYS.key("close timeout", Duration.ofSeconds(10));
    private static final Key<NodeOptions, Duration> ALIVE = KEYS.key("alive", Duration.ofSeconds(5));
    private static final Key<NodeOptions, Duration> MAX_STALL = KEYS.key("stall", Duration.ofMinutes(5));
    private static final Key<NodeOptions, Duration> HEAL = KEYS.key("heal", Duration.ZERO);
    private static final Key<NodeOptions, List<InetSocketAddress>> PATHS = KEYS.key("paths", List.of());
    private static final Key<NodeOptions, Progress> PROGRESS = KEYS.key("progress", Progress.BACKGROUND);
    private static final Key<NodeOptions, Transport> TRANSPORT = KEYS.key("transport", Transport.RDMA);
    private static final Key<NodeOptions, @Nullable Integer> TRAFFIC_CLASS = KEYS.key("traffic class", null);
    private static final Key<NodeOptions, @Nullable Integer> SERVICE_LEVEL = KEYS.key("service level", null);
    private static final Key<NodeOptions, @Nullable Mtu> PATH_MTU = KEYS.key("path MTU", null);
    private static final Key<NodeOptions, Integer> COMPLETION_VECTOR = KEYS.key("completion vector", 0);

    private static final NodeOptions DEFAULTS = new NodeOptions();

    private NodeOptions() {
        super(KEYS);
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
     * Returns a copy with another window: the number of messages that a peer can send before this side has closed the first
     * of them. A larger window needs more memory, and keeps a faster peer going.
     *
     * @param changed 1 to 4095
     * @return a changed copy
     */
    public NodeOptions window(int changed) {
        return with(WINDOW, Checks.checkRange("window", changed, 1, Wire.MAX_WINDOW));
    }

    /**
     * Returns a copy with another number of messages that a channel can have under way.
     *
     * @param changed 1 to 4095
     * @return a changed copy
     */
    public NodeOptions sends(int changed) {
        return with(SENDS, Checks.checkRange("number of messages under way", changed, 1, Wire.MAX_WINDOW));
    }

    /**
     * Returns a copy with another number of calls that can be open at once in each direction of a channel. A peer that wants
     * more waits: see {@link Channel#call}. With 0, the channels of the node have no calls.
     *
     * @param changed 0 to 4095
     * @return a changed copy
     */
    public NodeOptions calls(int changed) {
        return with(CALLS, Checks.checkRange("number of open calls", changed, Wire.MAX_WINDOW));
    }

    /**
     * Returns a copy with another number of reads, writes and atomics on the peer's memory that a channel can have
     * under way. Further ones wait.
     *
     * @param changed 0 to 4095
     * @return a changed copy
     */
    public NodeOptions operations(int changed) {
        return with(OPERATIONS, Checks.checkRange("number of operations under way", changed, Wire.MAX_WINDOW));
    }

    /**
     * Returns a copy with another number of exports that a peer may ask for on a channel. Each may need a key of its own.
     * Exports that were closed do not count.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxExports(int changed) {
        return with(MAX_EXPORTS, Checks.checkRange("number of exports of a peer", changed, 0xffff));
    }

    /**
     * Returns a copy with another largest number of bytes that a peer may offer at once. The node refuses larger offers, and
     * the program does not see them. No memory is allocated for an offer in any case.
     *
     * @param changed 0 or more
     * @return a changed copy
     */
    public NodeOptions maxTransferSize(long changed) {
        return with(MAX_TRANSFER_SIZE, Checks.checkAtLeast("size of transfers", changed, 0));
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
        return with(TOKEN, changed.clone());
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
        return with(SECRETS, new Secrets(changed));
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
        return with(SECRETS, new Secrets(current, byName));
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
        return with(PROTECTION, Objects.requireNonNull(changed, "protection"));
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
        return with(ADMIT, Objects.requireNonNull(changed, "admit"));
    }

    /**
     * Returns a copy with another largest number of bytes of a message. Peers send at most as many bytes as both sides allow.
     *
     * @param changed 64 to 1 GiB
     * @return a changed copy
     */
    public NodeOptions messageSize(int changed) {
        return with(MESSAGE_SIZE, Checks.checkRange("message size", changed, Wire.GREETING_BYTES, 1 << 30));
    }

    /**
     * Returns a copy with another largest number of channels. A channel counts until it is closed.
     *
     * @param changed 1 to 65535
     * @return a changed copy
     */
    public NodeOptions maxChannels(int changed) {
        return with(MAX_CHANNELS, Checks.checkRange("number of channels", changed, 1, 0xffff));
    }

    /**
     * Returns a copy with another largest number of channels that peers of one address may open. By default it is three
     * quarters of {@link #maxChannels}, so that one address can't keep all others out.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxChannelsPerPeer(int changed) {
        return with(MAX_CHANNELS_PER_PEER, Checks.checkRange("number of channels of a peer", changed, 0xffff));
    }

    /**
     * Returns a copy with another largest number of peers that wait to be accepted. With 0, all peers are refused.
     *
     * <p>A peer that has left before it was accepted is not there any more. One that has left messages stays, so that they can be
     * received, until another peer needs its place.
     *
     * <p>Once there are as many, a peer that was refused gives way to the next one; or else the oldest peer that has connected
     * and not greeted, of the address that has the most of them. Over TCP, peers that have not greeted, or are refused by their
     * greeting, do not count, as they cost little. Of the first, a node keeps eight times as many. Peers that go on with a
     * channel have places of their own.
     *
     * @param changed 0 to 65535
     * @return a changed copy
     */
    public NodeOptions maxWaiting(int changed) {
        return with(MAX_WAITING, Checks.checkRange("number of waiting peers", changed, 0xffff));
    }

    /**
     * Returns a copy with another number of threads that connect at once. Others wait in {@link Node#connect}, within their
     * time limits. The connection managers of some drivers get stuck with several hundred set-ups under way.
     *
     * @param changed 1 to 65535
     * @return a changed copy
     */
    public NodeOptions connecting(int changed) {
        return with(CONNECTING, Checks.checkRange("number of threads that connect", changed, 1, 0xffff));
    }

    /**
     * Returns a copy with another longest time from a peer's request to its first message. The default of 30 seconds lets in a
     * peer whose virtual machine has just started on a busy machine.
     *
     * @param changed more than 0
     * @return a changed copy
     */
    public NodeOptions handshakeTimeout(Duration changed) {
        return with(HANDSHAKE_TIMEOUT, Checks.checkPositive("handshake timeout", changed));
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
        return with(CLOSE_TIMEOUT, changed);
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
        return with(ALIVE, Checks.checkPositive("time between signs of life", changed));
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
        return with(MAX_STALL, Checks.checkPositive("longest stall", changed));
    }

    /**
     * Returns a copy with another longest time that a channel may be without a connection: 0 by default. If both nodes of a
     * channel have more than 0, the channel outlives the loss of its connection. The node that has connected connects again,
     * and the other waits for it, each for its own time. Then the channel ends with {@link EndReason#LOST}. A peer that was
     * started again is another peer, and the channel ends at once.
     *
     * <p>Meanwhile no message can be sent, as without credits, and all calls wait within their own times. Nothing that was
     * sent is lost, and nothing arrives twice or in another order. Reads and writes are repeated until they are sure. An
     * atomic that was under way ends with {@link OutcomeUnknownException}. {@link Handler#pathLost}, {@link Handler#pathBack}
     * and the flight recorder tell what happens.
     *
     * <p>A message keeps its memory until the peer has received it. So such a channel pins {@code window} more messages, or if
     * it is sealed {@code 2 * window + sends + calls} more, and uses at most {@code window} of the peer's receives. Memory of
     * the program is registered once more for each channel that uses it. The node listens to the events of its devices, to
     * hear of ports that fail: a program that wants them subscribes too, and does not poll them.
     *
     * @param changed 0 or more
     * @return a changed copy
     */
    public NodeOptions heal(Duration changed) {
        if (Objects.requireNonNull(changed, "heal").isNegative()) {
            throw new IllegalArgumentException("time without a connection must not be negative, got " + changed);
        }
        return with(HEAL, changed);
    }

    /**
     * Returns a copy with further addresses of the node, so that a channel which {@linkplain #heal heals} has several paths.
     * The node listens at each of them too, and tells them to its peers.
     *
     * <p>A channel uses one path at a time. Its first path leads from the node's own address to the address that the program
     * has connected to. When the path is lost, the node that has connected tries the others in turn: from each address of its
     * own to each of the peer's. Once the channel has used another path for five seconds, that node tries the first one
     * again, and takes it when it works. Nothing is lost then, and the program waits for one answer of the peer at most. Each
     * further loss of the first path doubles these five seconds, up to five minutes. {@link Node#connect} tries the further
     * addresses too, if the first one does not reach the peer; with {@link Transport#AUTO} it does not.
     *
     * <p>A node that connects trusts the peer for this: it may connect to each address that the peer has told.
     *
     * @param further at most three addresses, with port 0 for any free port; none for one path alone
     * @return a changed copy
     */
    public NodeOptions paths(InetSocketAddress... further) {
        Checks.checkRange("number of further addresses", further.length, Wire.MAX_PATHS - 1);
        for (InetSocketAddress each : further) {
            Node.checkOwn(each);
        }
        return with(PATHS, List.of(further));
    }

    /**
     * Returns a copy with another thread that makes progress for the node.
     *
     * @param changed the way
     * @return a changed copy
     */
    public NodeOptions progress(Progress changed) {
        return with(PROGRESS, Objects.requireNonNull(changed, "progress"));
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
        return with(TRANSPORT, Objects.requireNonNull(changed, "transport"));
    }

    /**
     * Returns a copy with another traffic class, so that switches put the node's packets into a queue of their own, such as
     * a lossless one. With RoCE, its upper six bits are the DSCP of the packets. The kernel derives the priority (service
     * level) from it, as for sockets. With InfiniBand, it is the class in the question to the subnet manager, whose answer
     * has the service level. Over iWARP, the driver uses it or not. Over TCP, it is the type of service of the sockets.
     *
     * <p>The class of the node that connects holds for both directions of a channel. Over iWARP and TCP, each node has its
     * own. Without this call, the system's settings hold.
     *
     * @param changed 8 bits, such as {@code 26 << 2} for DSCP 26
     * @return a changed copy
     */
    public NodeOptions trafficClass(int changed) {
        return with(TRAFFIC_CLASS, Checks.checkRange("traffic class", changed, 0xff));
    }

    /**
     * Returns a copy with another service level of the packets that this node sends, for networks where the
     * {@link #trafficClass} is not enough. With RoCE, it is the priority in the VLAN header. Soft-RoCE, iWARP and TCP have
     * none: they ignore it.
     *
     * @param changed 0 to 15, and over RoCE to 7
     * @return a changed copy
     */
    public NodeOptions serviceLevel(int changed) {
        return with(SERVICE_LEVEL, Checks.checkRange("service level", changed, 15));
    }

    /**
     * Returns a copy with another limit of the payload of a packet, for paths whose switches take smaller packets than
     * both ports. Of two nodes with different limits, the smaller one holds for both directions of a channel; connecting to
     * a node with a smaller limit takes two connections. Over iWARP and TCP, the connection finds the size itself, and
     * ignores this.
     *
     * @param changed the limit. The connection manager's own one, which is that of both ports, is not exceeded
     * @return a changed copy
     */
    public NodeOptions pathMtu(Mtu changed) {
        if (changed == Mtu.UNKNOWN) {
            throw new IllegalArgumentException("path MTU must be one that this release knows, got " + changed);
        }
        return with(PATH_MTU, Objects.requireNonNull(changed, "pathMtu"));
    }

    /**
     * Returns a copy with another completion vector: the interrupt, and by it the processor, that signals the completions
     * of the node. Several nodes of a process spread their work with one each. TCP has none, and ignores this.
     *
     * @param changed less than {@link dev.verbena.verbs.Context#completionVectors}; 0 by default
     * @return a changed copy
     */
    public NodeOptions completionVector(int changed) {
        return with(COMPLETION_VECTOR, Checks.checkAtLeast("completion vector", changed, 0));
    }

    int window() {
        return WINDOW.of(this);
    }

    int sends() {
        return SENDS.of(this);
    }

    int calls() {
        return CALLS.of(this);
    }

    int operations() {
        return OPERATIONS.of(this);
    }

    int maxExports() {
        return MAX_EXPORTS.of(this);
    }

    long maxTransferSize() {
        return MAX_TRANSFER_SIZE.of(this);
    }

    byte[] token() {
        return TOKEN.of(this);
    }

    Optional<BiPredicate<InetSocketAddress, byte[]>> admit() {
        return Optional.ofNullable(ADMIT.of(this));
    }

    /** Returns the secrets, which all protection needs. */
    Secrets secrets() {
        return Objects.requireNonNull(SECRETS.of(this), "secrets");
    }

    Protection protection() {
        Protection chosen = PROTECTION.of(this);
        return chosen != null ? chosen : SECRETS.of(this) == null ? Protection.NONE : Protection.SEALED;
    }

    boolean isSealed() {
        return protection() == Protection.SEALED;
    }

    /** Returns the number of bytes behind those of the program in an offer of a node with a number of devices. */
    int offerBytes(int devices) {
        return Link.Shown.bytes(devices) + (isSealed() ? SealedOffer.KEY_BYTES : 0);
    }

    /** Returns the sizes of each channel. */
    Sizes sizes() {
        return new Sizes(
                window(),
                sends(),
                calls(),
                operations(),
                messageSize(),
                protection() != Protection.NONE,
                isSealed(),
                heals());
    }

    /** Returns what the carriers of a node need of these options. */
    LinkOptions forLinks(InetSocketAddress own) {
        List<InetSocketAddress> all = new ArrayList<>(paths());
        all.addFirst(own);
        return new LinkOptions(
                List.copyOf(all),
                sizes(),
                maxChannels(),
                maxWaiting(),
                handshakeTimeout(),
                alive(),
                new LinkOptions.Quality(
                        optional(TRAFFIC_CLASS.of(this)), optional(SERVICE_LEVEL.of(this)), PATH_MTU.of(this)),
                COMPLETION_VECTOR.of(this),
                progress() == Progress.CALLER);
    }

    /** Throws if the options of a node contradict each other. */
    void check() {
        boolean hasSecret = SECRETS.of(this) != null;
        if ((protection() == Protection.NONE) == hasSecret) {
            throw new IllegalArgumentException(
                    !hasSecret
                            ? "protection " + protection() + " needs a secret: see NodeOptions.secret()"
                            : "protection NONE has no use for a secret: leave NodeOptions.secret() out, or choose another protection");
        }
        if (!paths().isEmpty() && !heals()) {
            throw new IllegalArgumentException(
                    "paths " + paths() + " have no use without a time to change them: see NodeOptions.heal()");
        }
    }

    int messageSize() {
        return MESSAGE_SIZE.of(this);
    }

    int maxChannels() {
        return MAX_CHANNELS.of(this);
    }

    int maxChannelsPerPeer() {
        Integer chosen = MAX_CHANNELS_PER_PEER.of(this);
        return chosen == null ? maxChannels() - maxChannels() / 4 : chosen;
    }

    int connecting() {
        return CONNECTING.of(this);
    }

    int maxWaiting() {
        return MAX_WAITING.of(this);
    }

    Duration handshakeTimeout() {
        return HANDSHAKE_TIMEOUT.of(this);
    }

    Duration closeTimeout() {
        return CLOSE_TIMEOUT.of(this);
    }

    Duration alive() {
        return ALIVE.of(this);
    }

    Duration maxStall() {
        return MAX_STALL.of(this);
    }

    Duration heal() {
        return HEAL.of(this);
    }

    boolean heals() {
        return !heal().isZero();
    }

    List<InetSocketAddress> paths() {
        return PATHS.of(this);
    }

    Progress progress() {
        return PROGRESS.of(this);
    }

    Transport transport() {
        return TRANSPORT.of(this);
    }

    private static OptionalInt optional(@Nullable Integer chosen) {
        return chosen == null ? OptionalInt.empty() : OptionalInt.of(chosen);
    }
}

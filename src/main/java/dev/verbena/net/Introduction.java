package dev.verbena.net;

import dev.verbena.internal.noise.NoiseHandshake;
import dev.verbena.internal.noise.NoiseHandshake.Pattern;
import dev.verbena.internal.wire.Seal;
import dev.verbena.internal.wire.Wire;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The greetings of two sides that know a secret: the handshake {@code Noise_NNpsk0_25519_AESGCM_SHA256} between
 * the limits of the sides. The first greeting begins with the limits in the clear, which are the prologue of the handshake.
 * Those of the second one are in its payload. An instance is one side of one channel, and the channel's lock guards it.
 */
final class Introduction {
    /** The number of bytes in the clear before the second message of the handshake. */
    private static final int HEAD = 8;

    /** The number of bytes in the payload of the first message: the length of the token, and the token. */
    private static final int TOKEN_BYTES = 1 + Wire.MAX_TOKEN;

    private static final int LIMITS_BYTES = 24;

    private static final long NAME_LENGTH_AT = 20;
    private static final long NAME_AT = 24;

    private final NodeOptions options;
    private final Secrets secrets;
    private final Transport transport;
    private final boolean asks;
    private @Nullable NoiseHandshake handshake;

    /** The channel that this side can go on with later; null if it can't. */
    private Wire.@Nullable Claim claim;

    private final Wire.Place own;

    /** The peer's greeting, once it was read. */
    private Wire.@Nullable Greeting ofPeer;

    /**
     * Begins the greetings of one side.
     *
     * @param asks true to connect only if the peer has no RDMA
     * @param claim the channel, for the side that connects, if it can go on with the channel later; else null
     * @param own what this side says of itself to a peer that can go on with the channel
     */
    Introduction(NodeOptions options, Transport transport, boolean asks, Wire.@Nullable Claim claim, Wire.Place own) {
        this.claim = claim;
        this.own = own;
        this.options = options;
        this.secrets = options.secrets();
        this.transport = transport;
        this.asks = asks;
    }

    /** Returns the key that a peer that connects has made for its greeting alone. */
    static byte[] passing(MemorySegment greeting) {
        return greeting.asSlice(Wire.GREETING_BYTES, NoiseHandshake.HASH_BYTES).toArray(ValueLayout.JAVA_BYTE);
    }

    /**
     * Reads the peer's greeting.
     *
     * @param first true if the peer has connected
     * @param failed gets what the program throws that is asked for a secret
     * @return the limits of the peer; null if it has not made the greeting with the secret
     */
    Wire.@Nullable Greeting read(MemorySegment greeting, boolean first, Consumer<Throwable> failed) {
        try {
            ofPeer = first ? readFirst(greeting) : readSecond(greeting);
            return ofPeer;
        } catch (RuntimeException | Error thrown) {
            failed.accept(thrown);
            return null;
        }
    }

    /** Returns the peer's greeting, once it was read. */
    Wire.Greeting ofPeer() {
        return Objects.requireNonNull(ofPeer);
    }

    /** Generators of the first use: they take a while to start. */
    private static final class Generator {
        private static final SecureRandom RANDOM = new SecureRandom();
    }

    static byte[] random(int bytes) {
        byte[] made = new byte[bytes];
        Generator.RANDOM.nextBytes(made);
        return made;
    }

    private NoiseHandshake begin(boolean initiator, byte[] prologue, byte[] key) {
        return new NoiseHandshake(Pattern.NN, initiator, prologue, key, random(NoiseHandshake.HASH_BYTES), null);
    }

    /** Writes the bytes with which a greeting begins. */
    private MemorySegment head(byte[] greeting, int tokenLength) {
        MemorySegment bytes = MemorySegment.ofArray(greeting);
        new Wire.Greeting(options.window(), options.messageSize(), options.calls(), new byte[tokenLength], claim)
                .writeTo(bytes);
        Wire.protect(bytes, options.protection().code(), transport.code());
        if (asks) {
            Wire.ask(bytes);
        }
        return bytes;
    }

    /**
     * Returns the greeting of the side that connects.
     *
     * @throws IllegalStateException if the program has no secret of the name that it gives
     */
    byte[] first() {
        byte[] name = secrets.currentName();
        byte[] key = secrets.key(name);
        if (key == null) {
            throw new IllegalStateException(
                    "NodeOptions.secrets() has no secret of the name that this node connects with");
        }
        byte[] head = new byte[Wire.GREETING_BYTES];
        MemorySegment.copy(name, 0, head(head, name.length), ValueLayout.JAVA_BYTE, NAME_AT, name.length);
        byte[] token = options.token();
        byte[] payload = new byte[TOKEN_BYTES];
        payload[0] = (byte) token.length;
        System.arraycopy(token, 0, payload, 1, token.length);
        NoiseHandshake begun = begin(true, head, key);
        handshake = begun;
        byte[] whole = claim == null ? payload : joined(payload, claim.toBytes());
        byte[] greeting = joined(head, Objects.requireNonNull(begun.write(whole))); // has no product of keys
        Arrays.fill(key, (byte) 0);
        return greeting;
    }

    private static byte[] joined(byte[] one, byte[] other) {
        byte[] both = Arrays.copyOf(one, one.length + other.length);
        System.arraycopy(other, 0, both, one.length, other.length);
        return both;
    }

    /**
     * Reads the greeting of the side that connects. One that was made without the secret is found out by one cheap check. A
     * name that no secret has takes as long.
     *
     * @return the limits of the peer; null if the greeting was made without the secret, or is malformed
     */
    private Wire.@Nullable Greeting readFirst(MemorySegment greeting) {
        byte[] bytes = greeting.toArray(ValueLayout.JAVA_BYTE);
        int nameLength = greeting.get(Wire.INT, NAME_LENGTH_AT);
        if (nameLength < 0 || nameLength > Secrets.MAX_NAME) {
            return null;
        }
        byte[] known = secrets.key(Arrays.copyOfRange(bytes, (int) NAME_AT, (int) NAME_AT + nameLength));
        byte[] key = known == null ? random(NoiseHandshake.HASH_BYTES) : known;
        NoiseHandshake begun = begin(false, Arrays.copyOf(bytes, Wire.GREETING_BYTES), key);
        byte[] payload = begun.read(Arrays.copyOfRange(bytes, Wire.GREETING_BYTES, bytes.length));
        Arrays.fill(key, (byte) 0);
        if (payload == null || payload.length < TOKEN_BYTES || payload[0] < 0 || payload[0] > Wire.MAX_TOKEN) {
            return null;
        }
        Wire.Claim made = Wire.Claim.of(greeting, MemorySegment.ofArray(payload).asSlice(TOKEN_BYTES));
        if (payload.length != TOKEN_BYTES + (made == null ? 0 : made.bytes())) {
            return null;
        }
        Wire.Greeting limits = Wire.readGreeting(greeting);
        if (limits == null || !isHere(greeting)) {
            return null;
        }
        handshake = begun;
        byte[] token = Arrays.copyOfRange(payload, 1, 1 + payload[0]);
        claim = options.heals() ? made : null;
        return new Wire.Greeting(limits.window(), limits.messageSize(), limits.calls(), token, made);
    }

    /**
     * Returns the greeting of the side that is connected to, which {@link #readFirst} has read the other one for. This takes
     * two products of keys, and so half a millisecond of a processor.
     *
     * @return the greeting; null if the peer's key shares a secret with nobody
     */
    byte @Nullable [] second() {
        byte[] head = new byte[Wire.GREETING_BYTES];
        head(head, 0);
        NoiseHandshake begun = begun();
        byte[] limits = Arrays.copyOf(head, LIMITS_BYTES);
        byte[] message = begun.write(
                claim == null ? limits : joined(limits, claim.answeredBy(own).toBytes()));
        return message == null ? null : joined(Arrays.copyOf(head, HEAD), message);
    }

    /**
     * Reads the greeting of the side that is connected to.
     *
     * @return the limits of the peer; null if the greeting was made without the secret, or for another one, or is malformed
     */
    private Wire.@Nullable Greeting readSecond(MemorySegment greeting) {
        byte[] bytes = greeting.toArray(ValueLayout.JAVA_BYTE);
        byte[] payload = begun().read(Arrays.copyOfRange(bytes, HEAD, bytes.length));
        if (payload == null || payload.length < LIMITS_BYTES) {
            return null;
        }
        int rest = payload.length - LIMITS_BYTES;
        byte[] whole = new byte[Wire.GREETING_BYTES + rest]; // as in the clear
        System.arraycopy(payload, 0, whole, 0, LIMITS_BYTES);
        System.arraycopy(payload, LIMITS_BYTES, whole, Wire.GREETING_BYTES, rest);
        MemorySegment limits = MemorySegment.ofArray(whole);
        Wire.Claim made = Wire.Claim.of(limits, limits.asSlice(Wire.GREETING_BYTES));
        if (rest != (made == null ? 0 : made.bytes())) {
            return null;
        }
        boolean matches = Arrays.equals(bytes, 0, HEAD, payload, 0, HEAD) // that in the clear could be changed
                && Wire.protection(limits) == options.protection().code()
                && isHere(limits);
        return matches ? Wire.readGreeting(limits) : null;
    }

    /** Returns true if a greeting is of the transport of this connection, and so was not taken from one of another. */
    private boolean isHere(MemorySegment greeting) {
        return Wire.transport(greeting) == transport.code();
    }

    /** Ends the greetings. */
    Seal seal() {
        return new Seal(begun().split());
    }

    private NoiseHandshake begun() {
        return Objects.requireNonNull(handshake);
    }
}

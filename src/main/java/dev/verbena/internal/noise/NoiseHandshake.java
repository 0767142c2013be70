package dev.verbena.internal.noise;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * One side of a handshake of the Noise Protocol Framework, with X25519, AES-GCM and SHA-256: the object
 * {@code HandshakeState}, and the {@code SymmetricState} in it. The side that begins writes the first message and reads the
 * second one. Then both sides have the same two keys, which nobody else can have. One thread at a time uses an instance.
 */
public final class NoiseHandshake {
    /** The number of bytes of a hash, a shared secret and a key of X25519. */
    public static final int HASH_BYTES = 32;

    private static final byte[] NOTHING = {};

    /** The patterns of handshakes with two messages, without and with the modifier {@code psk0}. */
    public enum Pattern {
        /** Neither side has a key that the other knows. */
        NN(false, List.of(Token.E), List.of(Token.E, Token.EE)),
        /** Each side knows the other's public key. */
        KK(true, List.of(Token.E, Token.ES, Token.SS), List.of(Token.E, Token.EE, Token.SE));

        private final boolean known;
        private final List<Token> first;
        private final List<Token> second;

        Pattern(boolean known, List<Token> first, List<Token> second) {
            this.known = known;
            this.first = first;
            this.second = second;
        }
    }

    /** The parts of a message: the sender's passing key, and products of two keys, of which the initiator's is named first. */
    private enum Token {
        E,
        EE,
        ES,
        SE,
        SS
    }

    /**
     * The keys of a side that stay the same.
     *
     * @param own the private key of this side
     * @param peer the public key of the other side
     */
    @SuppressWarnings("ArrayRecordComponent") // is never compared
    public record StaticKeys(byte[] own, byte[] peer) {}

    private final Pattern pattern;
    private final boolean initiator;
    private final @Nullable StaticKeys statics;
    private final byte[] passing;
    private final byte @Nullable [] secret;
    private byte[] peerPassing = NOTHING;

    private byte[] hash;
    private byte[] chaining;
    private byte[] key = NOTHING;
    private int turn;

    /**
     * Begins a handshake.
     *
     * @param initiator true for the side that writes the first message
     * @param prologue bytes that both sides must have alike
     * @param secret the {@link #HASH_BYTES} that both sides share beforehand; null for a pattern without {@code psk0}
     * @param passing the private key for this handshake only, of {@link #HASH_BYTES} random bytes. It is wiped at the end
     * @param statics the keys of a pattern whose sides know each other; null for {@link Pattern#NN}
     */
    public NoiseHandshake(
            Pattern pattern,
            boolean initiator,
            byte[] prologue,
            byte @Nullable [] secret,
            byte[] passing,
            @Nullable StaticKeys statics) {
        this.pattern = pattern;
        this.initiator = initiator;
        this.secret = secret;
        this.passing = passing;
        this.statics = statics;
        byte[] name = ("Noise_" + pattern + (secret == null ? "" : "psk0") + "_25519_AESGCM_SHA256")
                .getBytes(StandardCharsets.US_ASCII);
        hash = Arrays.copyOf(name, HASH_BYTES); // no name here is longer
        chaining = hash;
        mixHash(prologue);
        if (pattern.known) {
            StaticKeys keys = Objects.requireNonNull(statics, "statics");
            byte[] own = X25519.publicKey(keys.own);
            mixHash(initiator ? own : keys.peer);
            mixHash(initiator ? keys.peer : own);
        }
    }

    /**
     * Returns this side's message.
     *
     * @param payload bytes for the other side
     * @return the message; null if the other side's passing key shares a secret with nobody: the handshake is over then
     */
    public byte @Nullable [] write(byte[] payload) {
        List<Token> tokens = nextTokens(true);
        ByteArrayOutputStream message = new ByteArrayOutputStream();
        for (Token token : tokens) {
            if (token == Token.E) {
                byte[] own = X25519.publicKey(passing);
                message.writeBytes(own);
                mixPassing(own);
            } else if (!mixProduct(token)) {
                return null;
            }
        }
        message.writeBytes(sealAndHash(payload));
        return message.toByteArray();
    }

    /**
     * Reads the other side's message. Nothing is known of a message that can't be read, and the handshake is over then. With
     * {@code psk0}, a first message of a side without the secret is found out before any product of keys.
     *
     * @param message the message
     * @return the bytes that the other side has sent with it; null if the message is not authentic
     */
    public byte @Nullable [] read(byte[] message) {
        List<Token> tokens = nextTokens(false);
        int at = 0;
        for (Token token : tokens) {
            if (token == Token.E) {
                if (message.length < X25519.BYTES) {
                    return null;
                }
                peerPassing = Arrays.copyOf(message, X25519.BYTES);
                at = X25519.BYTES;
                mixPassing(peerPassing);
            } else if (!mixProduct(token)) {
                return null;
            }
        }
        return openAndHash(Arrays.copyOfRange(message, at, message.length));
    }

    private List<Token> nextTokens(boolean writes) {
        boolean firstMessage = turn++ == 0;
        if (turn > 2 || firstMessage != (writes == initiator)) {
            throw new IllegalStateException("A handshake has one message of each side");
        }
        if (firstMessage && secret != null) {
            mixKeyAndHash(secret);
        }
        return firstMessage ? pattern.first : pattern.second;
    }

    /** Makes a key of two keys. Returns false if they share no secret. */
    private boolean mixProduct(Token token) {
        boolean ownStays = token == Token.SS || token == (initiator ? Token.SE : Token.ES);
        boolean peerStays = token == Token.SS || token == (initiator ? Token.ES : Token.SE);
        byte[] own = ownStays ? Objects.requireNonNull(statics).own : passing;
        byte[] peer = peerStays ? Objects.requireNonNull(statics).peer : peerPassing;
        byte[] product = X25519.agree(own, peer);
        if (product == null) {
            return false;
        }
        mixKey(product);
        return true;
    }

    /**
     * Returns the hash of all that was said.
     *
     * @return {@link #HASH_BYTES}, equal on both sides and in no other handshake
     */
    public byte[] hash() {
        return hash.clone();
    }

    /**
     * Ends the handshake, whose two messages were exchanged. All of its keys are wiped.
     *
     * @return the cipher that seals what this side sends, and the one that opens what the other side sends
     */
    public List<NoiseCipher> split() {
        if (turn != 2) {
            throw new IllegalStateException("The handshake is not over");
        }
        byte[][] keys = derive(NOTHING, 2);
        NoiseCipher sends = NoiseCipher.sealing(keys[initiator ? 0 : 1]);
        NoiseCipher receives = NoiseCipher.opening(keys[initiator ? 1 : 0]);
        wipe(keys);
        wipe(chaining, key, passing);
        return List.of(sends, receives);
    }

    // The symmetric state

    private void mixPassing(byte[] publicKey) {
        mixHash(publicKey);
        if (secret != null) {
            mixKey(publicKey);
        }
    }

    private void mixHash(byte[] data) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(hash);
            hash = digest.digest(data);
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("This JDK has no SHA-256", missing);
        }
    }

    private void mixKey(byte[] material) {
        byte[][] made = derive(material, 2);
        chaining = made[0];
        newKey(made[1]);
    }

    private void mixKeyAndHash(byte[] material) {
        byte[][] made = derive(material, 3);
        chaining = made[0];
        mixHash(made[1]);
        newKey(made[2]);
    }

    private void newKey(byte[] made) {
        wipe(key);
        key = made;
    }

    // Each message of these patterns makes a new key, and so has the number 0.

    private byte[] sealAndHash(byte[] plain) {
        byte[] bytes = plain;
        if (key.length > 0) {
            bytes = new byte[plain.length + NoiseCipher.TAG_BYTES];
            NoiseCipher.sealing(key).seal(hash, plain, plain.length, bytes);
        }
        mixHash(bytes);
        return bytes;
    }

    private byte @Nullable [] openAndHash(byte[] bytes) {
        byte[] plain = bytes;
        if (key.length > 0) {
            plain = new byte[Math.max(0, bytes.length - NoiseCipher.TAG_BYTES)];
            if (!NoiseCipher.opening(key).open(hash, bytes, bytes.length, plain)) {
                return null;
            }
        }
        mixHash(bytes);
        return plain;
    }

    /** Makes keys of the chaining key and of new material: {@code HKDF} of Noise. */
    private byte[][] derive(byte[] material, int count) {
        byte[] pseudorandom = hmac(chaining, material);
        byte[][] made = new byte[count][];
        byte[] before = NOTHING;
        for (int i = 0; i < count; i++) {
            byte[] input = Arrays.copyOf(before, before.length + 1);
            input[before.length] = (byte) (i + 1);
            before = hmac(pseudorandom, input);
            made[i] = before;
        }
        wipe(pseudorandom);
        return made;
    }

    private static byte[] hmac(byte[] key, byte[] data) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(data);
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("This JDK has no HmacSHA256", missing);
        }
    }

    private static void wipe(byte[]... all) {
        for (byte[] each : all) {
            Arrays.fill(each, (byte) 0);
        }
    }
}

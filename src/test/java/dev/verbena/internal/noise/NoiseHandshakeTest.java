package dev.verbena.internal.noise;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.internal.noise.NoiseHandshake.Pattern;
import dev.verbena.internal.noise.NoiseHandshake.StaticKeys;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Matcher;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The handshake against figures of another program, against another implementation, and against changed messages. */
class NoiseHandshakeTest {
    private static final byte[] NONE = {};

    /** A vector: its fields by name, and the payloads and bytes of its messages in order. */
    private record Vector(Map<String, String> fields, List<byte[]> payloads, List<byte[]> sent) {
        private byte[] bytes(String field) {
            return HexFormat.of().parseHex(fields.get(field));
        }

        private NoiseHandshake side(boolean initiator) {
            String own = initiator ? "initiator" : "responder";
            String other = initiator ? "responder" : "initiator";
            StaticKeys statics = fields.containsKey(own + "_static")
                    ? new StaticKeys(bytes(own + "_static"), X25519.publicKey(bytes(other + "_static")))
                    : null;
            return new NoiseHandshake(
                    Pattern.valueOf(fields.get("name").substring(6, 8)),
                    initiator,
                    bytes("prologue"),
                    fields.containsKey("psk") ? bytes("psk") : null,
                    bytes(own + "_ephemeral"),
                    statics);
        }

        @Override
        public String toString() {
            return fields.get("name");
        }
    }

    static List<Vector> vectors() throws IOException {
        String json;
        try (InputStream file = NoiseHandshakeTest.class.getResourceAsStream("/noise-vectors.json")) {
            json = new String(file.readAllBytes(), UTF_8);
        }
        List<Vector> vectors = new ArrayList<>();
        Matcher field = java.util.regex.Pattern.compile("\"(\\w+)\": (?:\"([^\"]*)\"|(\\d+))")
                .matcher(json);
        while (field.find()) {
            String name = field.group(1);
            String value = field.group(2) == null ? field.group(3) : field.group(2);
            if (name.equals("name")) {
                vectors.add(new Vector(new HashMap<>(), new ArrayList<>(), new ArrayList<>()));
            }
            Vector last = vectors.getLast();
            switch (name) {
                case "payload" -> last.payloads.add(HexFormat.of().parseHex(value));
                case "sent" -> last.sent.add(HexFormat.of().parseHex(value));
                default -> last.fields.put(name, value);
            }
        }
        return vectors;
    }

    private static byte[] seal(NoiseCipher cipher, byte[] plain) {
        byte[] sealed = new byte[plain.length + NoiseCipher.TAG_BYTES];
        cipher.seal(NONE, plain, plain.length, sealed);
        return sealed;
    }

    private static byte[] open(NoiseCipher cipher, byte[] sealed) {
        byte[] plain = new byte[sealed.length - NoiseCipher.TAG_BYTES];
        return cipher.open(NONE, sealed, sealed.length, plain) ? plain : null;
    }

    @Test
    void vectorsAreThoseOfThreePatterns() throws IOException {
        assertThat(vectors())
                .extracting(Vector::toString)
                .containsExactly(
                        "Noise_NN_25519_AESGCM_SHA256",
                        "Noise_NNpsk0_25519_AESGCM_SHA256",
                        "Noise_KKpsk0_25519_AESGCM_SHA256");
        assertThat(vectors()).allSatisfy(vector -> assertThat(vector.sent).hasSize(8));
    }

    @ParameterizedTest
    @MethodSource("vectors")
    void handshakeAndMessagesEqualVectors(Vector vector) {
        NoiseHandshake initiator = vector.side(true);
        NoiseHandshake responder = vector.side(false);
        assertThat(initiator.write(vector.payloads.get(0))).isEqualTo(vector.sent.get(0));
        assertThat(responder.read(vector.sent.get(0))).isEqualTo(vector.payloads.get(0));
        assertThat(responder.write(vector.payloads.get(1))).isEqualTo(vector.sent.get(1));
        assertThat(initiator.read(vector.sent.get(1))).isEqualTo(vector.payloads.get(1));
        assertThat(initiator.hash()).isEqualTo(vector.bytes("handshake_hash")).isEqualTo(responder.hash());

        List<NoiseCipher> ofInitiator = initiator.split();
        List<NoiseCipher> ofResponder = responder.split();
        int rekeyed = Integer.parseInt(vector.fields.get("both_rekey_before_message"));
        for (int i = 2; i < vector.sent.size(); i++) {
            List<NoiseCipher> from = i % 2 == 0 ? ofInitiator : ofResponder;
            List<NoiseCipher> to = i % 2 == 0 ? ofResponder : ofInitiator;
            if (i == rekeyed) {
                from.forEach(NoiseCipher::rekey);
                to.forEach(NoiseCipher::rekey);
            }
            assertThat(seal(from.get(0), vector.payloads.get(i)))
                    .as("message " + i)
                    .isEqualTo(vector.sent.get(i));
            assertThat(open(to.get(1), vector.sent.get(i))).as("message " + i).isEqualTo(vector.payloads.get(i));
        }
    }

    private static final byte[] SECRET = HexFormat.of().parseHex("5a".repeat(32));

    private static NoiseHandshake side(boolean initiator, byte[] prologue, byte[] secret) {
        return new NoiseHandshake(Pattern.NN, initiator, prologue, secret, random(initiator ? 1 : 2), null);
    }

    private static byte[] random(int seed) {
        byte[] bytes = new byte[NoiseHandshake.HASH_BYTES];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    @Test
    void eachChangedBitOfBothMessagesIsFound() {
        byte[] first = side(true, NONE, SECRET).write(new byte[3]);
        for (int bit = 0; bit < 8 * first.length; bit++) {
            byte[] changed = first.clone();
            changed[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(side(false, NONE, SECRET).read(changed)).as("bit " + bit).isNull();
        }
        for (int bit = 0; bit < 8 * (32 + 3 + 16); bit++) {
            NoiseHandshake initiator = side(true, NONE, SECRET);
            NoiseHandshake responder = side(false, NONE, SECRET);
            responder.read(initiator.write(NONE));
            byte[] second = responder.write(new byte[3]);
            second[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(initiator.read(second)).as("bit " + bit).isNull();
        }
    }

    @Test
    void eachChangedBitOfTheSecretIsFound() {
        byte[] first = side(true, NONE, SECRET).write(NONE);
        for (int bit = 0; bit < 8 * SECRET.length; bit++) {
            byte[] guess = SECRET.clone();
            guess[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(side(false, NONE, guess).read(first)).as("bit " + bit).isNull();
        }
    }

    @Test
    void anotherPrologueIsFound() {
        byte[] first = side(true, new byte[] {1}, SECRET).write(NONE);
        assertThat(side(false, new byte[] {2}, SECRET).read(first)).isNull();
        assertThat(side(false, new byte[] {1}, SECRET).read(first)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 31, 32, 47})
    void shortMessagesAreRefused(int length) {
        byte[] first = side(true, NONE, SECRET).write(NONE);
        assertThat(side(false, NONE, SECRET).read(Arrays.copyOf(first, length))).isNull();
    }

    @Test
    void keyThatSharesNothingIsRefused() {
        NoiseHandshake initiator = side(true, NONE, null);
        initiator.write(NONE);
        assertThat(initiator.read(new byte[48])).isNull(); // the point of order 1
    }

    @Test
    void keyThatSharesNothingGetsNoAnswer() {
        NoiseHandshake responder = side(false, NONE, null);
        assertThat(responder.read(new byte[32])).isEmpty();
        assertThat(responder.write(NONE)).isNull();
    }

    @Test
    void messagesOutOfTurnAreRefused() {
        assertThatThrownBy(() -> side(false, NONE, SECRET).write(NONE)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> side(true, NONE, SECRET).split()).isInstanceOf(IllegalStateException.class);
        NoiseHandshake initiator = side(true, NONE, SECRET);
        NoiseHandshake responder = side(false, NONE, SECRET);
        responder.read(initiator.write(NONE));
        byte[] second = responder.write(NONE);
        initiator.read(second);
        assertThatThrownBy(() -> initiator.read(second)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> responder.write(NONE)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void passingKeyIsWipedAtTheEnd() {
        byte[] passing = random(1);
        NoiseHandshake initiator = new NoiseHandshake(Pattern.NN, true, NONE, SECRET, passing, null);
        NoiseHandshake responder = side(false, NONE, SECRET);
        responder.read(initiator.write(NONE));
        initiator.read(responder.write(NONE));
        assertThat(passing).isEqualTo(random(1));
        initiator.split();
        assertThat(passing).containsOnly(0);
    }

    /** Repeated and exchanged messages have other numbers than the receiver counts. */
    @Test
    void repeatedAndExchangedMessagesAreFound() {
        byte[] key = random(3);
        NoiseCipher sender = NoiseCipher.sealing(key);
        byte[] zero = seal(sender, new byte[8]);
        byte[] one = seal(sender, new byte[8]);
        NoiseCipher repeated = NoiseCipher.opening(key);
        assertThat(open(repeated, zero)).isEqualTo(new byte[8]);
        assertThat(open(repeated, zero)).isNull();
        assertThat(open(NoiseCipher.opening(key), one)).isNull();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 16, 32767, 32768, 32769, 65536, 100_001})
    void messagesSealedInPiecesAreTheSame(int length) {
        byte[] plain = new byte[length];
        new Random(length).nextBytes(plain);
        int start = 16;
        byte[] memory = new byte[start + length + NoiseCipher.TAG_BYTES];
        System.arraycopy(plain, 0, memory, start, length);
        byte[] piece = new byte[NoiseCipher.PIECE];
        NoiseCipher.sealing(SECRET)
                .seal(
                        NONE,
                        MemorySegment.ofArray(memory),
                        MemorySegment.ofArray(memory),
                        start,
                        length,
                        piece,
                        new byte[piece.length + NoiseCipher.TAG_BYTES]);
        assertThat(Arrays.copyOfRange(memory, start, memory.length))
                .isEqualTo(seal(NoiseCipher.sealing(SECRET), plain));
        assertThat(Arrays.copyOf(memory, start)).containsOnly(0);
    }

    // noise-java, which is found by name: these sources compile where the library is missing

    private static Object call(Object on, String method, Object... arguments) throws ReflectiveOperationException {
        for (var each : on.getClass().getMethods()) {
            if (each.getName().equals(method) && each.getParameterCount() == arguments.length) {
                each.setAccessible(true); // methods of classes that are not public
                return each.invoke(on, arguments);
            }
        }
        throw new NoSuchMethodException(on.getClass() + "." + method);
    }

    /** A side of the other implementation. */
    private record Other(Object state) {
        static Other of(Pattern pattern, boolean initiator, StaticKeys statics) throws ReflectiveOperationException {
            Object state = Class.forName("com.southernstorm.noise.protocol.HandshakeState")
                    .getConstructor(String.class, int.class)
                    .newInstance("Noise_" + pattern + "_25519_AESGCM_SHA256", initiator ? 1 : 2);
            call(state, "setPrologue", NONE, 0, 0);
            if (statics != null) {
                call(call(state, "getLocalKeyPair"), "setPrivateKey", statics.own(), 0);
                call(call(state, "getRemotePublicKey"), "setPublicKey", statics.peer(), 0);
            }
            call(state, "start");
            return new Other(state);
        }

        private byte[] write(byte[] payload) throws ReflectiveOperationException {
            byte[] message = new byte[256];
            int length = (int) call(state, "writeMessage", message, 0, payload, 0, payload.length);
            return Arrays.copyOf(message, length);
        }

        private byte[] read(byte[] message) throws ReflectiveOperationException {
            byte[] payload = new byte[256];
            return Arrays.copyOf(payload, (int) call(state, "readMessage", message, 0, message.length, payload, 0));
        }
    }

    @ParameterizedTest
    @EnumSource(Pattern.class)
    void initiatorSpeaksWithNoiseJava(Pattern pattern) throws ReflectiveOperationException {
        speak(pattern, true);
    }

    @ParameterizedTest
    @EnumSource(Pattern.class)
    void responderSpeaksWithNoiseJava(Pattern pattern) throws ReflectiveOperationException {
        speak(pattern, false);
    }

    private static void speak(Pattern pattern, boolean initiates) throws ReflectiveOperationException {
        byte[] mine = random(4);
        byte[] others = random(5);
        boolean known = pattern == Pattern.KK;
        StaticKeys own = known ? new StaticKeys(mine, X25519.publicKey(others)) : null;
        NoiseHandshake me = new NoiseHandshake(pattern, initiates, NONE, null, random(6), own);
        Other other = Other.of(pattern, !initiates, known ? new StaticKeys(others, X25519.publicKey(mine)) : null);
        byte[] ask = "ask".getBytes(UTF_8);
        byte[] answer = "answer".getBytes(UTF_8);
        if (initiates) {
            assertThat(other.read(me.write(ask))).isEqualTo(ask);
            assertThat(me.read(other.write(answer))).isEqualTo(answer);
        } else {
            assertThat(me.read(other.write(ask))).isEqualTo(ask);
            assertThat(other.read(me.write(answer))).isEqualTo(answer);
        }
        assertThat(me.hash()).isEqualTo(call(other.state, "getHandshakeHash"));
        Object pair = call(other.state, "split");
        List<NoiseCipher> ciphers = me.split();
        for (int length : new int[] {0, 1, 64, 100_000}) {
            byte[] plain = new byte[length];
            new Random(length).nextBytes(plain);
            byte[] opened = new byte[length];
            byte[] toOther = seal(ciphers.get(0), plain);
            call(call(pair, "getReceiver"), "decryptWithAd", null, toOther, 0, opened, 0, toOther.length);
            assertThat(opened).isEqualTo(plain);
            byte[] toMe = new byte[length + NoiseCipher.TAG_BYTES];
            call(call(pair, "getSender"), "encryptWithAd", null, plain, 0, toMe, 0, length);
            assertThat(open(ciphers.get(1), toMe)).isEqualTo(plain);
        }
    }
}

package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.internal.noise.NoiseHandshake;
import dev.verbena.internal.wire.Wire;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Greetings under a secret, byte by byte: of peers that know it and greet as no node does, and of some that do not. */
class IntroductionTest {
    private static final NodeOptions SEALED = SMALL.secret("a secret of some 32 random bytes".getBytes(US_ASCII));
    private static final NodeOptions HEALS = SEALED.heal(Duration.ofSeconds(9));
    private static final Wire.Claim CLAIM = new Wire.Claim(false, new UUID(1, 2), Wire.Place.ONE);
    static final int TOKEN_BYTES = 41;

    static Introduction introduction(NodeOptions options) {
        return introduction(options, null);
    }

    private static Introduction introduction(NodeOptions options, Wire.@Nullable Claim claim) {
        return new Introduction(options, Transport.TCP, false, claim, Wire.Place.ONE);
    }

    static boolean isRead(Introduction by, byte[] greeting, boolean first) {
        return by.read(MemorySegment.ofArray(greeting), first, thrown -> {
                    throw new AssertionError(thrown);
                })
                != null;
    }

    static NoiseHandshake handshake(boolean first, byte[] head, byte @Nullable [] key) {
        return new NoiseHandshake(NoiseHandshake.Pattern.NN, first, head, key, Introduction.random(32), null);
    }

    private static byte[] key() {
        return SEALED.secrets().key(new byte[0]);
    }

    static byte[] joined(byte[] one, byte[] other) {
        byte[] both = Arrays.copyOf(one, one.length + other.length);
        System.arraycopy(other, 0, both, one.length, other.length);
        return both;
    }

    /** Returns a first greeting whose bytes in the clear are changed before the handshake, which so agrees with them. */
    private static byte[] greeting(Introduction of, byte @Nullable [] key, Consumer<MemorySegment> change, int bytes) {
        byte[] head = Arrays.copyOf(of.first(), Wire.GREETING_BYTES);
        change.accept(MemorySegment.ofArray(head));
        byte[] payload = new byte[bytes];
        MemorySegment claim = MemorySegment.ofArray(CLAIM.toBytes());
        MemorySegment.copy(
                claim, 0, MemorySegment.ofArray(payload), TOKEN_BYTES, Math.clamp(bytes - TOKEN_BYTES, 0, (int)
                        claim.byteSize()));
        return joined(head, handshake(true, head, key).write(payload));
    }

    @ParameterizedTest
    @CsvSource({"41, 0, true", "41, 40, true", "41, 41, false", "41, -1, false", "40, 0, false", "42, 0, false"})
    void firstGreetingHasATokenOfItsLength(int length, byte tokenLength, boolean isRead) {
        byte[] head = Arrays.copyOf(introduction(SEALED).first(), Wire.GREETING_BYTES);
        byte[] payload = new byte[length];
        payload[0] = tokenLength;
        byte[] greeting = joined(head, handshake(true, head, key()).write(payload));
        assertThat(isRead(introduction(SEALED), greeting, true)).isEqualTo(isRead);
    }

    @ParameterizedTest
    @CsvSource({"0, true", "-1, false", "1, false"})
    void firstGreetingHasTheBytesOfItsClaim(int more, boolean isRead) {
        byte[] greeting = greeting(introduction(HEALS, CLAIM), key(), head -> {}, TOKEN_BYTES + CLAIM.bytes() + more);
        assertThat(isRead(introduction(HEALS), greeting, true)).isEqualTo(isRead);
    }

    @Test
    void nodeThatDoesNotHealAnswersNoClaim() {
        Introduction client = introduction(HEALS, CLAIM);
        byte[] claims = client.first();
        Introduction heals = introduction(HEALS);
        Introduction forgets = introduction(SEALED);
        assertThat(isRead(heals, claims, true)).isTrue();
        assertThat(isRead(forgets, claims, true)).isTrue();
        byte[] answer = heals.second();
        assertThat(answer.length - forgets.second().length).isEqualTo(CLAIM.bytes());
        assertThat(isRead(client, answer, false)).isTrue();
        assertThat(client.ofPeer().claim()).isEqualTo(CLAIM);
    }

    @Test
    void secondGreetingThatWasChangedIsThatOfAStranger() {
        Introduction client = introduction(SEALED);
        Introduction server = introduction(SEALED);
        assertThat(isRead(server, client.first(), true)).isTrue();
        byte[] changed = server.second();
        changed[changed.length - 1] ^= 1;
        assertThat(isRead(client, changed, false)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void greetingSaysWhetherItsSideWantsTcpOnlyIfThePeerHasNoRdma(boolean asks) {
        Introduction own = new Introduction(SEALED, Transport.TCP, asks, null, Wire.Place.ONE);
        assertThat(Wire.asks(MemorySegment.ofArray(own.first()))).isEqualTo(asks);
    }

    /** Who knows no secret could do without one: it would take one of another name, which the node does not know either. */
    @Test
    void nameThatNoSecretHasIsThatOfAStranger() {
        Consumer<MemorySegment> another = head -> head.set(Wire.INT, 20, 1);
        for (byte[] key : new byte @Nullable [][] {null, key(), new byte[32]}) {
            byte[] greeting = greeting(introduction(SEALED), key, another, TOKEN_BYTES);
            assertThat(isRead(introduction(SEALED), greeting, true))
                    .as(Arrays.toString(key))
                    .isFalse();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 41, Integer.MAX_VALUE, Integer.MIN_VALUE})
    void nameOfAnotherLengthThanNamesHaveIsRefused(int length) {
        byte[] greeting = greeting(introduction(SEALED), key(), head -> head.set(Wire.INT, 20, length), TOKEN_BYTES);
        assertThat(isRead(introduction(SEALED), greeting, true)).isFalse();
    }

    @Test
    void limitsAndTransportOfTheFirstGreetingAreThoseOfANode() {
        Consumer<MemorySegment> noWindow = head -> head.set(Wire.INT, 8, 0);
        Consumer<MemorySegment> rdma =
                head -> Wire.protect(head, SEALED.protection().code(), Transport.RDMA.code());
        Consumer<MemorySegment> right = head -> {};
        assertThat(isRead(introduction(SEALED), greeting(introduction(SEALED), key(), right, TOKEN_BYTES), true))
                .isTrue();
        assertThat(isRead(introduction(SEALED), greeting(introduction(SEALED), key(), noWindow, TOKEN_BYTES), true))
                .isFalse();
        assertThat(isRead(introduction(SEALED), greeting(introduction(SEALED), key(), rdma, TOKEN_BYTES), true))
                .isFalse();
    }

    @ParameterizedTest
    @CsvSource({"24, 0, true", "23, 0, false", "25, 0, false", "24, 5, false", "24, 6, false"})
    void secondGreetingHasTheLimitsTheLevelAndTheTransport(int length, int changed, boolean isRead) {
        Introduction client = introduction(SEALED);
        byte[] first = client.first();
        NoiseHandshake server = handshake(false, Arrays.copyOf(first, Wire.GREETING_BYTES), key());
        server.read(Arrays.copyOfRange(first, Wire.GREETING_BYTES, first.length));
        byte[] limits = Arrays.copyOf(first, length);
        limits[changed] ^= (byte) (changed == 0 ? 0 : 3);
        byte[] greeting = joined(Arrays.copyOf(limits, 8), server.write(limits));
        assertThat(isRead(client, greeting, false)).isEqualTo(isRead);
    }

    @Test
    void nameOfASecretHasAtMost40Bytes() {
        String longest = "x".repeat(40);
        assertThat(secrets(longest).currentName()).hasSize(40);
        NodeOptions named = SMALL.secrets(() -> longest, name -> Optional.of(new byte[32]));
        assertThat(isRead(introduction(named), introduction(named).first(), true))
                .isTrue();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> secrets("\u00e4".repeat(21)).currentName())
                .withMessage("name of a secret must have at most 40 bytes in UTF-8, got 42: see NodeOptions.secrets()");
    }

    @Test
    void nameOfASecretMustBeKnown() {
        assertThat(secrets("x").key(new byte[] {'x'})).isNull();
        assertThatIllegalStateException()
                .isThrownBy(introduction(SMALL.secrets(() -> "x", name -> Optional.empty()))::first)
                .withMessageContaining("has no secret of the name");
    }

    @Test
    void secretsAreEqualIfTheirBytesOrFunctionsAre() {
        assertThat(SEALED.secrets())
                .isEqualTo(SMALL.secret("a secret of some 32 random bytes".getBytes(US_ASCII))
                        .secrets());
        assertThat(SEALED).isNotEqualTo(SEALED.secret(new byte[16])).isNotEqualTo(SMALL);
        Secrets byName = secrets("x");
        assertThat(byName).isEqualTo(byName).isNotEqualTo(secrets("x")).isNotEqualTo(SEALED.secrets());
        assertThat(SEALED.secrets()).isNotEqualTo(byName).isNotEqualTo("a secret");
    }

    private static Secrets secrets(String name) {
        return new Secrets(() -> name, asked -> Optional.empty());
    }
}

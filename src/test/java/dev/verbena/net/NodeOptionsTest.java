package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import java.time.Duration;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** The ranges of a node's options, and that each option changes itself only. */
class NodeOptionsTest {
    private static final NodeOptions DEFAULTS = NodeOptions.defaults();

    @Test
    void optionsChangeThemselvesOnly() {
        NodeOptions changed = DEFAULTS.window(1)
                .sends(2)
                .calls(9)
                .operations(10)
                .maxExports(11)
                .maxStall(Duration.ofMillis(14))
                .maxTransferSize(13)
                .token(new byte[] {12})
                .messageSize(65)
                .maxChannels(3)
                .maxChannelsPerPeer(4)
                .maxWaiting(5)
                .handshakeTimeout(Duration.ofMillis(6))
                .closeTimeout(Duration.ofMillis(7))
                .alive(Duration.ofMillis(8))
                .progress(NodeOptions.Progress.CALLER);
        assertThat(List.of(
                        changed.window(),
                        changed.sends(),
                        changed.calls(),
                        changed.operations(),
                        changed.maxExports(),
                        (int) changed.token()[0],
                        (int) changed.maxTransferSize(),
                        changed.messageSize(),
                        changed.maxChannels(),
                        changed.maxChannelsPerPeer(),
                        changed.maxWaiting()))
                .containsExactly(1, 2, 9, 10, 11, 12, 13, 65, 3, 4, 5);
        assertThat(List.of(changed.handshakeTimeout(), changed.closeTimeout(), changed.alive(), changed.maxStall()))
                .containsExactly(
                        Duration.ofMillis(6), Duration.ofMillis(7), Duration.ofMillis(8), Duration.ofMillis(14));
        assertThat(changed.progress()).isEqualTo(NodeOptions.Progress.CALLER);
        assertThat(changed).isNotEqualTo(DEFAULTS).hasSameHashCodeAs(changed.window(1));
        assertThat(changed.toString()).contains("window 1", "PT0.008S", "CALLER");
    }

    @Test
    void defaultsAreThoseOfTheDocumentation() {
        assertThat(List.of(
                        DEFAULTS.window(),
                        DEFAULTS.sends(),
                        DEFAULTS.calls(),
                        DEFAULTS.operations(),
                        DEFAULTS.maxExports(),
                        DEFAULTS.messageSize(),
                        DEFAULTS.maxChannels(),
                        DEFAULTS.maxChannelsPerPeer(),
                        DEFAULTS.maxWaiting()))
                .containsExactly(32, 32, 32, 32, 64, 4096, 64, 48, 32);
        assertThat(DEFAULTS.maxChannels(1).maxChannelsPerPeer()).isEqualTo(1);
        assertThat(DEFAULTS.maxChannels(5).maxChannelsPerPeer()).isEqualTo(4);
        assertThat(List.of(DEFAULTS.handshakeTimeout(), DEFAULTS.closeTimeout(), DEFAULTS.alive(), DEFAULTS.maxStall()))
                .containsExactly(
                        Duration.ofSeconds(30), Duration.ofSeconds(10), Duration.ofSeconds(5), Duration.ofMinutes(5));
        assertThat(DEFAULTS.maxTransferSize()).isEqualTo(1L << 40);
        assertThat(DEFAULTS.token()).isEmpty();
        assertThat(DEFAULTS.progress()).isEqualTo(NodeOptions.Progress.BACKGROUND);
    }

    @Test
    void limitsOfTheWireAreAccepted() {
        assertThat(DEFAULTS.window(4095)
                        .sends(4095)
                        .calls(4095)
                        .operations(4095)
                        .window())
                .isEqualTo(4095);
        assertThat(DEFAULTS.calls(0)
                        .operations(0)
                        .maxExports(0)
                        .maxWaiting(0)
                        .maxChannelsPerPeer(0)
                        .calls())
                .isZero();
        assertThat(DEFAULTS.maxExports(65535)
                        .maxWaiting(65535)
                        .maxChannels(65535)
                        .maxWaiting())
                .isEqualTo(65535);
        assertThat(DEFAULTS.messageSize(1 << 30).messageSize()).isEqualTo(1 << 30);
    }

    @Test
    void valuesOutOfRangeAreRefused() {
        List<ThrowingCallable> calls = List.of(
                () -> DEFAULTS.window(0),
                () -> DEFAULTS.window(4096),
                () -> DEFAULTS.sends(0),
                () -> DEFAULTS.calls(-1),
                () -> DEFAULTS.operations(-1),
                () -> DEFAULTS.maxExports(-1),
                () -> DEFAULTS.maxStall(Duration.ZERO),
                () -> DEFAULTS.maxTransferSize(-1),
                () -> DEFAULTS.calls(4096),
                () -> DEFAULTS.sends(4096),
                () -> DEFAULTS.messageSize(63),
                () -> DEFAULTS.messageSize((1 << 30) + 1),
                () -> DEFAULTS.maxChannels(0),
                () -> DEFAULTS.maxChannels(65536),
                () -> DEFAULTS.maxChannelsPerPeer(-1),
                () -> DEFAULTS.maxWaiting(-1),
                () -> DEFAULTS.maxWaiting(65536),
                () -> DEFAULTS.maxExports(65536),
                () -> DEFAULTS.maxChannelsPerPeer(65536),
                () -> DEFAULTS.operations(4096),
                () -> DEFAULTS.token(new byte[41]),
                () -> DEFAULTS.handshakeTimeout(Duration.ZERO),
                () -> DEFAULTS.closeTimeout(Duration.ofMillis(-1)),
                () -> DEFAULTS.alive(Duration.ZERO));
        calls.forEach(
                call -> assertThatIllegalArgumentException().isThrownBy(call).withMessageContaining("got "));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.closeTimeout(Duration.ofMillis(-1)))
                .withMessageContaining("close timeout")
                .withMessageContaining("got PT-0.001S");
        assertThat(DEFAULTS.maxTransferSize(0).maxTransferSize()).isZero();
        assertThatNullPointerException()
                .isThrownBy(() -> DEFAULTS.closeTimeout(null))
                .withMessage("closeTimeout");
        assertThatNullPointerException().isThrownBy(() -> DEFAULTS.admit(null));
        assertThatNullPointerException().isThrownBy(() -> DEFAULTS.progress(null));
        assertThatNullPointerException().isThrownBy(() -> DEFAULTS.alive(null));
    }
}

package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.verbs.device.QueuePairType;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What can be asked of a new queue pair. No queue is needed to ask. */
class QueuePairOptionsTest {
    private static final QueuePairOptions DEFAULT = QueuePair.rc(null);

    @Test
    void defaultsAreModest() {
        assertThat(DEFAULT.type()).isEqualTo(QueuePairType.RC);
        assertThat(DEFAULT.capabilities()).isEqualTo(QueueCapabilities.of(64, 64));
        assertThat(DEFAULT.port()).isEqualTo(1);
        assertThat(DEFAULT.gidIndex()).isEqualTo(QueuePairOptions.BEST_GID);
        assertThat(QueuePair.uc(null).type()).isEqualTo(QueuePairType.UC);
    }

    @Test
    void changeReturnsCopyAndLeavesOriginal() {
        assertThat(DEFAULT.sendDepth(2).capabilities()).isEqualTo(QueueCapabilities.of(2, 64));
        assertThat(DEFAULT.receiveDepth(3).capabilities()).isEqualTo(QueueCapabilities.of(64, 3));
        assertThat(DEFAULT.sendSge(4).capabilities())
                .isEqualTo(QueueCapabilities.of(64, 64).sendSge(4));
        assertThat(DEFAULT.receiveSge(5).capabilities())
                .isEqualTo(QueueCapabilities.of(64, 64).receiveSge(5));
        assertThat(DEFAULT.inlineSize(6).capabilities())
                .isEqualTo(QueueCapabilities.of(64, 64).inlineSize(6));
        assertThat(DEFAULT.port(2).port()).isEqualTo(2);
        assertThat(DEFAULT.gidIndex(3).gidIndex()).isEqualTo(3);
        assertThat(DEFAULT.capabilities()).as("the original").isEqualTo(QueueCapabilities.of(64, 64));
    }

    @Test
    void optionsCombine() {
        QueuePairOptions all = DEFAULT.sendDepth(1)
                .receiveDepth(2)
                .sendSge(3)
                .receiveSge(4)
                .inlineSize(5)
                .port(6)
                .gidIndex(7);
        assertThat(all.capabilities())
                .isEqualTo(QueueCapabilities.of(1, 2).sendSge(3).receiveSge(4).inlineSize(5));
        assertThat(all.port()).isEqualTo(6);
        assertThat(all.gidIndex()).isEqualTo(7);
    }

    static Stream<UnaryOperator<QueuePairOptions>> impossible() {
        return Stream.of(
                options -> options.sendDepth(-1),
                options -> options.receiveDepth(-1),
                options -> options.sendSge(-1),
                options -> options.receiveSge(-1),
                options -> options.inlineSize(-1),
                options -> options.port(0),
                options -> options.port(256),
                options -> options.gidIndex(-2),
                options -> options.gidIndex(256));
    }

    @ParameterizedTest
    @MethodSource("impossible")
    void setterRefusesImpossibleValues(UnaryOperator<QueuePairOptions> change) {
        assertThatIllegalArgumentException().isThrownBy(() -> change.apply(DEFAULT));
    }
}

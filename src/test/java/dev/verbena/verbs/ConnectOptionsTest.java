package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Rate;
import dev.verbena.verbs.device.Mtu;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Options for connecting never change, and refuse numbers that do not fit. */
class ConnectOptionsTest {
    private static final ConnectOptions DEFAULTS = ConnectOptions.defaults();

    static List<UnaryOperator<ConnectOptions>> changes() {
        return List.of(
                options -> options.access(List.of()),
                options -> options.pkeyIndex(1),
                options -> options.pathMtu(Mtu.BYTES_256),
                options -> options.minRnrTimer(Duration.ofMillis(1)),
                options -> options.minRnrTimerCode(1),
                options -> options.timeout(Duration.ofMillis(1)),
                options -> options.timeoutCode(1),
                options -> options.retryCount(1),
                options -> options.rnrRetry(1),
                options -> options.maxReadAtomic(1),
                options -> options.maxDestinationReadAtomic(1),
                options -> options.hopLimit(1),
                options -> options.trafficClass(1),
                options -> options.flowLabel(1),
                options -> options.serviceLevel(1),
                options -> options.sourcePathBits(1),
                options -> options.staticRate(Rate.GBPS_10),
                options -> options.staticRateCode(1),
                options -> options.global(true));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void changeReturnsCopyAndLeavesOriginal(UnaryOperator<ConnectOptions> change) {
        ConnectOptions changed = change.apply(DEFAULTS);
        assertThat(changed).isNotEqualTo(DEFAULTS);
        assertThat(DEFAULTS.timeoutCode()).isEqualTo(14);
        assertThat(change.apply(DEFAULTS)).isEqualTo(changed).hasSameHashCodeAs(changed);
    }

    @Test
    void timesAreReadAsDurationsAndCodes() {
        assertThat(DEFAULTS.timeout()).isEqualTo(Duration.ofNanos(67_108_864));
        assertThat(DEFAULTS.timeout(Duration.ofMillis(68)).timeoutCode()).isEqualTo(15);
        assertThat(DEFAULTS.minRnrTimer()).isEqualTo(Duration.ofNanos(640_000));
        assertThat(DEFAULTS.minRnrTimer(Duration.ofMillis(1)).minRnrTimerCode()).isEqualTo(14);
    }

    @Test
    void staticRateIsReadAsConstantAndCode() {
        assertThat(DEFAULTS.staticRate()).isEqualTo(Rate.MAX);
        assertThat(DEFAULTS.staticRate(Rate.GBPS_40).staticRateCode()).isEqualTo(7);
        assertThat(DEFAULTS.staticRateCode(200).staticRate()).isEqualTo(Rate.UNKNOWN);
        assertThatIllegalArgumentException().isThrownBy(() -> DEFAULTS.staticRate(Rate.UNKNOWN));
        AddressVector path = AddressVector.of(1).staticRate(Rate.GBPS_40);
        assertThat(path).isEqualTo(AddressVector.of(1).staticRateCode(7)).hasToString("port 1, static rate GBPS_40");
        assertThat(path.staticRateCode(200)).hasToString("port 1, static rate 200");
    }

    static List<UnaryOperator<ConnectOptions>> outOfRange() {
        return List.of(
                options -> options.pkeyIndex(0x10000),
                options -> options.pathMtu(Mtu.UNKNOWN),
                options -> options.minRnrTimerCode(32),
                options -> options.timeoutCode(32),
                options -> options.retryCount(8),
                options -> options.rnrRetry(8),
                options -> options.maxReadAtomic(256),
                options -> options.maxDestinationReadAtomic(-2),
                options -> options.hopLimit(256),
                options -> options.trafficClass(256),
                options -> options.flowLabel(1 << 20),
                options -> options.serviceLevel(16),
                options -> options.sourcePathBits(128),
                options -> options.staticRateCode(256));
    }

    @ParameterizedTest
    @MethodSource("outOfRange")
    void setterRefusesNumbersThatDoNotFit(UnaryOperator<ConnectOptions> change) {
        assertThatIllegalArgumentException().isThrownBy(() -> change.apply(DEFAULTS));
    }
}

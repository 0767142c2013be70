package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.Mtu;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Setting an attribute stores it and names it in the mask. */
class QueuePairAttributesTest {
    private static final AddressVector PATH = AddressVector.of(1)
            .destinationLid(0xfffe)
            .serviceLevel(15)
            .sourcePathBits(127)
            .staticRateCode(255)
            .globalRoute(new GlobalRoute(Gid.parse("::ffff:10.9.9.1"), 255, 0xfffff, 255, 254));

    private static <T> Arguments attribute(
            Attribute attribute,
            T value,
            BiFunction<QueuePairAttributes, T, QueuePairAttributes> setter,
            Function<QueuePairAttributes, T> getter) {
        return Arguments.of(attribute, value, setter, getter);
    }

    private static Set<AccessFlag> setOfTwo() {
        return EnumSet.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC);
    }

    static Stream<Arguments> settable() {
        return Stream.of(
                attribute(
                        Attribute.CURRENT_STATE,
                        QueuePairState.SQD,
                        QueuePairAttributes::currentState,
                        QueuePairAttributes::currentState),
                attribute(
                        Attribute.EN_SQD_ASYNC_NOTIFY,
                        true,
                        QueuePairAttributes::sqdNotification,
                        QueuePairAttributes::sqdNotification),
                attribute(Attribute.ACCESS_FLAGS, setOfTwo(), QueuePairAttributes::access, QueuePairAttributes::access),
                attribute(Attribute.PKEY_INDEX, 0xffff, QueuePairAttributes::pkeyIndex, QueuePairAttributes::pkeyIndex),
                attribute(Attribute.PORT, 255, QueuePairAttributes::port, QueuePairAttributes::port),
                attribute(Attribute.QKEY, 0x80010000, QueuePairAttributes::qkey, QueuePairAttributes::qkey),
                attribute(
                        Attribute.ADDRESS_VECTOR,
                        PATH,
                        QueuePairAttributes::addressVector,
                        QueuePairAttributes::addressVector),
                attribute(
                        Attribute.PATH_MTU, Mtu.BYTES_4096, QueuePairAttributes::pathMtu, QueuePairAttributes::pathMtu),
                attribute(
                        Attribute.TIMEOUT,
                        Duration.ofNanos(4_096L << 31),
                        QueuePairAttributes::timeout,
                        QueuePairAttributes::timeout),
                attribute(Attribute.RETRY_COUNT, 7, QueuePairAttributes::retryCount, QueuePairAttributes::retryCount),
                attribute(Attribute.RNR_RETRY, 7, QueuePairAttributes::rnrRetry, QueuePairAttributes::rnrRetry),
                attribute(Attribute.RQ_PSN, 0xffffff, QueuePairAttributes::receivePsn, QueuePairAttributes::receivePsn),
                attribute(Attribute.SQ_PSN, 0xffffff, QueuePairAttributes::sendPsn, QueuePairAttributes::sendPsn),
                attribute(
                        Attribute.MAX_READ_ATOMIC,
                        255,
                        QueuePairAttributes::maxReadAtomic,
                        QueuePairAttributes::maxReadAtomic),
                attribute(
                        Attribute.MAX_DEST_READ_ATOMIC,
                        255,
                        QueuePairAttributes::maxDestinationReadAtomic,
                        QueuePairAttributes::maxDestinationReadAtomic),
                attribute(
                        Attribute.MIN_RNR_TIMER,
                        Duration.ofNanos(491_520_000),
                        QueuePairAttributes::minRnrTimer,
                        QueuePairAttributes::minRnrTimer),
                attribute(
                        Attribute.PATH_MIGRATION_STATE,
                        QueuePairAttributes.MigrationState.ARMED,
                        QueuePairAttributes::pathMigrationState,
                        QueuePairAttributes::pathMigrationState),
                attribute(
                        Attribute.DESTINATION_QP,
                        0xffffff,
                        QueuePairAttributes::destinationQueuePair,
                        QueuePairAttributes::destinationQueuePair),
                attribute(
                        Attribute.CAPABILITIES,
                        QueueCapabilities.of(1, 2).sendSge(3).receiveSge(4).inlineSize(5),
                        QueuePairAttributes::capabilities,
                        QueuePairAttributes::capabilities),
                attribute(
                        Attribute.RATE_LIMIT,
                        40_000_000,
                        QueuePairAttributes::rateLimit,
                        QueuePairAttributes::rateLimit),
                attribute(
                        Attribute.ALTERNATE_PATH,
                        PATH,
                        (attributes, path) -> attributes.alternatePath(path, 3, Duration.ofMillis(67)),
                        QueuePairAttributes::alternatePath));
    }

    @ParameterizedTest
    @MethodSource("settable")
    void setterStoresAndNamesItsAttribute(
            Attribute attribute,
            Object value,
            BiFunction<QueuePairAttributes, Object, QueuePairAttributes> setter,
            Function<QueuePairAttributes, Object> getter) {
        QueuePairAttributes attributes = setter.apply(QueuePairAttributes.none(), value);
        assertThat(attributes.mask()).containsExactly(attribute);
        assertThat(getter.apply(attributes)).isEqualTo(value);
        assertThat(attributes.toString()).startsWith(attribute + " ").contains(value.toString());
    }

    @ParameterizedTest
    @EnumSource(Attribute.class)
    void everyAttributeHasASetter(Attribute attribute) {
        boolean hasSetter = settable().anyMatch(arguments -> arguments.get()[0] == attribute);
        assertThat(hasSetter || attribute == Attribute.STATE).isTrue();
    }

    @Test
    void toSetsTheState() {
        QueuePairAttributes attributes = QueuePairAttributes.to(QueuePairState.RTR);
        assertThat(attributes.state()).isEqualTo(QueuePairState.RTR);
        assertThat(attributes.mask()).containsExactly(Attribute.STATE);
    }

    @Test
    void maskNamesEachSetAttributeOnce() {
        QueuePairAttributes attributes =
                QueuePairAttributes.to(QueuePairState.INIT).port(1).pkeyIndex(0).port(2);
        assertThat(attributes.mask()).containsExactlyInAnyOrder(Attribute.STATE, Attribute.PORT, Attribute.PKEY_INDEX);
        assertThat(attributes.port()).isEqualTo(2);
        assertThat(QueuePairAttributes.none().mask()).isEmpty();
    }

    static Stream<Function<QueuePairAttributes, QueuePairAttributes>> outOfRange() {
        return Stream.of(
                attributes -> attributes.pkeyIndex(-1),
                attributes -> attributes.pkeyIndex(0x10000),
                attributes -> attributes.port(-1),
                attributes -> attributes.port(256),
                attributes -> attributes.timeoutCode(-1),
                attributes -> attributes.timeoutCode(32),
                attributes -> attributes.retryCount(-1),
                attributes -> attributes.retryCount(8),
                attributes -> attributes.rnrRetry(-1),
                attributes -> attributes.rnrRetry(8),
                attributes -> attributes.receivePsn(-1),
                attributes -> attributes.receivePsn(1 << 24),
                attributes -> attributes.sendPsn(-1),
                attributes -> attributes.sendPsn(1 << 24),
                attributes -> attributes.maxReadAtomic(-1),
                attributes -> attributes.maxReadAtomic(256),
                attributes -> attributes.maxDestinationReadAtomic(-1),
                attributes -> attributes.maxDestinationReadAtomic(256),
                attributes -> attributes.minRnrTimerCode(-1),
                attributes -> attributes.minRnrTimerCode(32),
                attributes -> attributes.destinationQueuePair(-1),
                attributes -> attributes.destinationQueuePair(1 << 24),
                attributes -> attributes.alternatePath(PATH, -1, Duration.ofMillis(1)),
                attributes -> attributes.alternatePath(PATH, 0, Duration.ZERO),
                attributes -> attributes.alternateTimeoutCode(32),
                attributes -> attributes.timeout(Duration.ZERO),
                attributes -> attributes.timeout(Duration.ofNanos((4_096L << 31) + 1)),
                attributes -> attributes.minRnrTimer(Duration.ofNanos(-1)),
                attributes -> attributes.minRnrTimer(Duration.ofNanos(655_360_001)));
    }

    @ParameterizedTest
    @MethodSource("outOfRange")
    void setterRefusesNumbersThatDoNotFit(Function<QueuePairAttributes, QueuePairAttributes> setter) {
        QueuePairAttributes attributes = QueuePairAttributes.none();
        assertThatIllegalArgumentException().isThrownBy(() -> setter.apply(attributes));
        assertThat(attributes.mask()).isEmpty();
    }

    @Test
    void setterRefusesUnknownConstants() {
        assertThatIllegalArgumentException().isThrownBy(() -> QueuePairAttributes.to(QueuePairState.UNKNOWN));
        QueuePairAttributes attributes = QueuePairAttributes.none();
        assertThatIllegalArgumentException().isThrownBy(() -> attributes.pathMtu(Mtu.UNKNOWN));
        assertThatIllegalArgumentException().isThrownBy(() -> attributes.currentState(QueuePairState.UNKNOWN));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> attributes.pathMigrationState(QueuePairAttributes.MigrationState.UNKNOWN));
        assertThat(attributes.mask()).isEmpty();
    }

    @Test
    void addressVectorRefusesNumbersThatDoNotFit() {
        assertThatIllegalArgumentException().isThrownBy(() -> AddressVector.of(256));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> AddressVector.of(1).destinationLid(0x10000));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> AddressVector.of(1).serviceLevel(16));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> AddressVector.of(1).sourcePathBits(128));
        assertThatIllegalArgumentException().isThrownBy(() -> new GlobalRoute(Gid.ZERO, 256, 0, 0, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new GlobalRoute(Gid.ZERO, 0, 0x100000, 0, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new GlobalRoute(Gid.ZERO, 0, 0, 256, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new GlobalRoute(Gid.ZERO, 0, 0, 0, -1));
    }

    @Test
    void addressVectorKeepsMissingGlobalRoute() {
        AddressVector local = AddressVector.of(1).destinationLid(7);
        assertThat(QueuePairAttributes.none().addressVector(local).addressVector())
                .isEqualTo(local);
    }
}

package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.address.Rate;
import org.junit.jupiter.api.Test;

/** The text and the defaults of values: each field is shown as it was set, and only where it says something. */
class ValueTextTest {
    private static final Gid GID = Gid.from(new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 10, 9, 9, 1});

    @Test
    void addressVectorShowsFieldsThatAreNotZero() {
        AddressVector plain = AddressVector.of(2);
        assertThat(plain).hasToString("port 2");
        assertThat(plain.destinationLid(7)).hasToString("port 2, LID 7");
        assertThat(plain.serviceLevel(3)).hasToString("port 2, service level 3");
        assertThat(plain.sourcePathBits(5)).hasToString("port 2, source path bits 5");
        assertThat(plain.staticRate(Rate.GBPS_10)).hasToString("port 2, static rate GBPS_10");
        assertThat(plain.globalRoute(GlobalRoute.to(GID, 4)).toString()).startsWith("port 2, ");
        assertThat(plain.destinationLid(7).serviceLevel(3).sourcePathBits(5).staticRate(Rate.GBPS_10))
                .hasToString("port 2, LID 7, service level 3, source path bits 5, static rate GBPS_10");
    }

    @Test
    void routeHasNoFlowLabelNoClassAnd64Hops() {
        GlobalRoute route = GlobalRoute.to(GID, 4);
        assertThat(route).isEqualTo(new GlobalRoute(GID, 4, 0, 64, 0));
        assertThat(route.flowLabel()).isZero();
        assertThat(route.hopLimit()).isEqualTo(64);
        assertThat(route.trafficClass()).isZero();
    }

    @Test
    void sizesOfQueuesAreShownInTheirOrder() {
        assertThat(new SharedReceiveQueue.Attributes(4, 2, 1)).hasToString("4x2, limit 1");
        assertThat(QueueCapabilities.none()).hasToString("send 0x0, receive 0x0, inline 0");
        assertThat(QueueCapabilities.of(5, 6).sendSge(7).receiveSge(8).inlineSize(9))
                .hasToString("send 5x7, receive 6x8, inline 9");
        QueueCapabilities nothing = QueueCapabilities.of(0, 0).sendSge(0).receiveSge(0);
        assertThat(nothing).isEqualTo(QueueCapabilities.none());
        QueueCapabilities all =
                QueueCapabilities.of(5, 6).sendSge(7).receiveSge(8).inlineSize(9);
        assertThat(new int[] {all.sendDepth(), all.receiveDepth(), all.sendSge(), all.receiveSge(), all.inlineSize()})
                .containsExactly(5, 6, 7, 8, 9);
    }

    @Test
    void hintsShowThoseThatAreSetAlsoToZero() {
        assertThat(DmaHints.none()).hasToString("defaults");
        assertThat(DmaHints.none().cpu(0)).hasToString("processor 0");
        assertThat(DmaHints.none().processingHint(0)).hasToString("processing hint 0");
        assertThat(DmaHints.none().memoryType(0)).hasToString("memory type 0");
        assertThat(DmaHints.none().cpu(3).processingHint(2).memoryType(1))
                .hasToString("processor 3, processing hint 2, memory type 1");
    }

    @Test
    void rateLimitShowsItsNumbers() {
        assertThatIllegalArgumentException().isThrownBy(() -> RateLimit.of(-1));
        assertThat(RateLimit.of(0)).hasToString("kbit/s 0");
        assertThat(RateLimit.of(7)).hasToString("kbit/s 7");
        assertThat(RateLimit.of(7).maxBurst(8)).hasToString("kbit/s 7, burst 8");
        assertThat(RateLimit.of(7).maxBurst(8).typicalPacket(9)).hasToString("kbit/s 7, burst 8, typical packet 9");
        assertThat(RateLimit.of(0).maxBurst(8)).hasToString("kbit/s 0, burst 8");
    }

    @Test
    void addressVectorWithDestinationIsThatOfTheOptions() {
        GlobalRoute route = GlobalRoute.to(GID, 4);
        assertThat(AddressVector.of(2, 7, route))
                .isEqualTo(AddressVector.of(2).destinationLid(7).globalRoute(route));
        assertThat(AddressVector.of(2, 0, null)).isEqualTo(AddressVector.of(2));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> AddressVector.of(2, 0x10000, null))
                .withMessageContaining("destination LID");
    }

    @Test
    void staticRateIsReadAsConstantAndCode() {
        AddressVector path = AddressVector.of(1).staticRate(Rate.GBPS_40);
        assertThat(path).isEqualTo(AddressVector.of(1).staticRateCode(7)).hasToString("port 1, static rate GBPS_40");
        assertThat(path.staticRateCode()).isEqualTo(7);
        assertThat(path.staticRateCode(200).staticRate()).isEqualTo(Rate.UNKNOWN);
        assertThat(path.staticRateCode(200)).hasToString("port 1, static rate 200");
        assertThatIllegalArgumentException().isThrownBy(() -> path.staticRate(Rate.UNKNOWN));
    }
}

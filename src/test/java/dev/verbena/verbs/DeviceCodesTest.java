package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the codes of a device's kind stand for, as C's own conversions have it. */
class DeviceCodesTest {
    @ParameterizedTest
    @CsvSource({
        "1, InfiniBand channel adapter",
        "2, InfiniBand switch",
        "3, InfiniBand router",
        "4, iWARP NIC",
        "5, usNIC",
        "6, usNIC UDP",
        "7, unspecified",
        "8, unknown"
    })
    void nodeTypesHaveTheirMeaning(int code, String meaning) {
        assertThat(Device.NodeType.of(code).meaning()).isEqualTo(meaning);
        assertThat(Device.NodeType.of(code).code()).isEqualTo(code < 8 ? code : -1);
    }

    @Test
    void unknownTransportIsNegative() {
        assertThat(Device.TransportType.of(99).code()).isEqualTo(-1);
    }
}

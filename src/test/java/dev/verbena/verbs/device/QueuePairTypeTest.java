package dev.verbena.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class QueuePairTypeTest {
    @Test
    void setContainsTheKnownTypesOfABitMask() {
        assertThat(QueuePairType.set(1 << 4 | 1 << 8 | 1 << 30))
                .containsExactlyInAnyOrder(QueuePairType.UD, QueuePairType.RAW_PACKET);
    }
}

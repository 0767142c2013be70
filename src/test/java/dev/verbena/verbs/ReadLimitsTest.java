package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.device.DeviceAttributes;
import org.junit.jupiter.api.Test;

/** The two limits of reads and atomics, of this side's and of the peer's, are not mistaken for each other. */
@FencedTest
class ReadLimitsTest {
    @Test
    void connectSetsEachLimit() {
        QueuePairAttributes how = QueuePairAttributes.none().maxReadAtomic(3).maxDestinationReadAtomic(5);
        try (Loopback loopback = Loopback.connected(VerbsArena.ofConfined(), how)) {
            QueuePairAttributes found = loopback.left.pair.query();
            assertThat(found.maxReadAtomic()).isEqualTo(3);
            assertThat(found.maxDestinationReadAtomic()).isEqualTo(5);
        }
    }

    @Test
    void connectTakesEachLimitOfTheDevice() {
        try (Loopback loopback = Loopback.connected()) {
            DeviceAttributes device = loopback.context.attributes();
            assertThat(device.maxReadAtomic()).isEqualTo(14);
            assertThat(device.maxInitiatedReadAtomic()).isEqualTo(12);
            QueuePairAttributes found = loopback.left.pair.query();
            assertThat(found.maxReadAtomic()).isEqualTo(12);
            assertThat(found.maxDestinationReadAtomic()).isEqualTo(14);
        }
    }
}

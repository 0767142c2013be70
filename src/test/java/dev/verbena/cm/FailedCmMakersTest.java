package dev.verbena.cm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.verbs.QueueCapabilities;
import org.junit.jupiter.api.Test;

/** Tests that makers of the connection manager's objects that fail leave nothing behind. */
@DeviceTest
class FailedCmMakersTest {
    @Test
    void queuePairThatFailsLeavesNoQueuesAndChannels() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ConnectionId id = EventChannel.create(arena).createId(PortSpace.TCP);
            id.bind(CmAddress.four(0));
            id.protectionDomain();
            var before = ArenaLifetime.of(arena).objects();
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(
                            () -> id.createQueuePair(QueueCapabilities.of(1, 1).sendSge(Short.MAX_VALUE)));
            assertThat(ArenaLifetime.of(arena).objects()).isEqualTo(before);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> id.createQueuePair(QueueCapabilities.of(1, Integer.MAX_VALUE / 2)));
            assertThat(ArenaLifetime.of(arena).objects()).isEqualTo(before);
            assertThat(id.createQueuePair(QueueCapabilities.of(1, 1)).isOpen()).isTrue();
        }
    }
}

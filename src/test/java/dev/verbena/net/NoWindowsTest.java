package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Nodes with a secret on a device without memory windows, whose keys other peers could guess. */
@FencedTest
@Over(Over.Wire.IWARP)
@Timeout(120)
class NoWindowsTest {
    private static NodePair nodes(Protection protection) {
        return new NodePair(NodePair.SMALL.secret(new byte[16]).protection(protection));
    }

    @ParameterizedTest
    @EnumSource(names = {"AUTHENTICATED", "SEALED"})
    void exportsAreNotFound(Protection protection) throws Exception {
        try (NodePair nodes = nodes(protection)) {
            Export export = nodes.server
                    .export("table", nodes.arena.allocate(64), AccessFlag.REMOTE_READ)
                    .inTheClear();
            assertThat(export.hasKeysOfChannels()).isFalse();
            Channel client = nodes.connect().client();
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> client.remote("table", DEADLINE))
                    .withMessageContaining("hasKeysOfChannels");
            assertThat(client.isOpen()).isTrue();
        }
    }

    @Test
    void offersThatAreNotSealedAreRefused() throws Exception {
        try (NodePair nodes = nodes(Protection.AUTHENTICATED)) {
            Channel client = nodes.connect().client();
            assertThatExceptionOfType(UnsupportedVerbException.class)
                    .isThrownBy(() -> client.offer(nodes.arena.allocate(64), new byte[0], DEADLINE))
                    .withMessageContaining("Protection.SEALED");
            assertThat(client.isOpen()).isTrue();
        }
    }

    @Test
    void sealedOffersAreTaken() throws Exception {
        try (NodePair nodes = nodes(Protection.SEALED)) {
            NodePair.Ends ends = nodes.connect();
            byte[] data = {1, 2, 3};
            Future<Void> offered = nodes.start(() -> {
                ends.client().offer(MemorySegment.ofArray(data), new byte[0], DEADLINE);
                return null;
            });
            byte[] target = new byte[data.length];
            try (Message offer = ends.server().receive(DEADLINE);
                    Transfer transfer = offer.transfer()) {
                transfer.accept(MemorySegment.ofArray(target), DEADLINE);
            }
            NodePair.end(offered);
            assertThat(target).isEqualTo(data);
        }
    }
}

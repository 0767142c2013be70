package dev.verbena.sockets;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;

/** A program that knows nothing of RDMA, with the provider's flag. */
@DeviceTest
class HttpTest {
    @Test
    void httpServerAndClientOfTheJdkRunOverRdma() {
        String output = ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        "-Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.RdmaSelectorProvider")
                .runOnClassPath(
                        HttpOverRdma.class, CmAddress.four(0).getAddress().getHostAddress())
                .successfulOutput();
        Assertions.assertThat(output)
                .contains(
                        "1 bytes: 200 true",
                        "1000 bytes: 200 true",
                        "300000 bytes: 200 true",
                        "tcp 0",
                        "tcp6 0",
                        "done");
    }
}

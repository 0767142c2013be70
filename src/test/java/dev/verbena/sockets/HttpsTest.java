package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.LongTest;
import org.junit.jupiter.api.Test;
import strangers.HttpOverRdma;

/** TLS of the JDK over RDMA. To make a key and a certificate takes more than a minute in an emulated guest. */
@LongTest
class HttpsTest {
    @Test
    void httpsServerAndClientOfTheJdkRunOverRdma() {
        String output = ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        "--add-exports=java.base/sun.security.tools.keytool=ALL-UNNAMED",
                        "-Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.RdmaSelectorProvider")
                .runOnClassPath(
                        HttpOverRdma.class, CmAddress.four(0).getAddress().getHostAddress())
                .successfulOutput();
        assertThat(output)
                .contains("https 1 bytes: 200 true TLSv1.3", "https 1000 bytes: 200 true TLSv1.3")
                .contains("https 300000 bytes: 200 true TLSv1.3", "https in tcp: 0", "https in tcp6: 0", "done");
    }
}

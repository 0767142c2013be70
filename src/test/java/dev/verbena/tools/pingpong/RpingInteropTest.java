package dev.verbena.tools.pingpong;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.IwarpToo.NotOnIwarp;
import dev.verbena.tools.Peer;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that rping interoperates with that of rdma-core, as server and as client. {@code -q} makes the queue pair itself. {@code
 * PingPongOnTheFencedProviderTest} has what servers that stay do.
 */
@DeviceTest
@IwarpToo
class RpingInteropTest {
    private static final AtomicInteger PORT = new AtomicInteger(17_374);

    private int port;

    @BeforeEach
    void choosePort() {
        port = PORT.getAndIncrement();
    }

    private static String four() {
        return CmAddress.four(0).getAddress().getHostAddress();
    }

    private static String six() {
        return CmAddress.six(0).getAddress().getHostAddress();
    }

    private static Peer rping(String line) {
        return Peer.java(Rping::run, line.split(" "));
    }

    private static final String SOME = "-C 10 -v -V";
    private static final String LARGEST = "-C 3 -S 65535 -V";
    private static final String OWN = "-C 3 -V -q";

    private static String served(String client) {
        return (client.contains("-q") ? "-q " : "") + "-S 65535 -v";
    }

    @Test
    void javaRpingServesCRping() throws Exception {
        javaServesPings(four(), LARGEST);
    }

    @Test
    @NotOnIwarp("the client of C wants to take a step that there is none of: rdma_establish: Invalid argument")
    void javaRpingWithItsOwnQueuePairServesCRping() throws Exception {
        javaServesPings(four(), OWN);
    }

    @ParameterizedTest
    @ValueSource(strings = {LARGEST, OWN})
    void cRpingServesJavaRping(String client) throws Exception {
        cServesPings(four(), client);
    }

    @Test
    void javaRpingServesCRpingOverIpv6() throws Exception {
        javaServesPings(six(), SOME);
    }

    @Test
    void cRpingServesJavaRpingOverIpv6() throws Exception {
        cServesPings(six(), SOME);
    }

    private void javaServesPings(String host, String client) throws Exception {
        try (Peer server = rping("-s -a " + host + " -p " + port + " " + served(client))) {
            server.awaitListener(port);
            try (Peer pings = Peer.c("rping -c -a " + host + " -p " + port + " " + client)) {
                pings.assertSucceeds();
            }
            server.assertSucceeds();
            assertThat(server.output()).contains("server ping data: rdma-ping-2: CDEFGHIJKLMNOPQRSTUV");
        }
    }

    private void cServesPings(String host, String client) throws Exception {
        try (Peer server = Peer.c("rping -s -a " + host + " -p " + port + " " + served(client))) {
            server.awaitListener(port);
            try (Peer pings = rping("-c -a " + host + " -p " + port + " " + client)) {
                pings.assertSucceeds();
            }
            server.assertSucceeds();
            assertThat(server.output()).contains("server ping data: rdma-ping-2: CDEFGHIJKLMNOPQRSTUV");
        }
    }
}

package dev.verbena.tools.pingpong;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.Loopback;
import dev.verbena.support.NotOnIwarp;
import dev.verbena.support.Resources;
import dev.verbena.tools.Peer;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that rping interoperates with that of rdma-core, as server and as client. {@code -q} makes the queue pair itself. */
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
    private static final String MANY = "-C 200 -S 1000 -V";
    private static final String OWN = "-C 3 -V -q";

    private static String served(String client) {
        return (client.contains("-q") ? "-q " : "") + "-S 65535 -v";
    }

    @ParameterizedTest
    @ValueSource(strings = {SOME, LARGEST, MANY})
    void javaRpingServesCRping(String client) throws Exception {
        javaServesPings(four(), client);
    }

    @Test
    @NotOnIwarp("the client of C wants to take a step that there is none of: rdma_establish: Invalid argument")
    void javaRpingWithItsOwnQueuePairServesCRping() throws Exception {
        javaServesPings(four(), OWN);
    }

    @ParameterizedTest
    @ValueSource(strings = {SOME, LARGEST, MANY, OWN})
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
            Resources.awaitListener(port);
            try (Peer pings = Peer.c("rping -c -a " + host + " -p " + port + " " + client)) {
                pings.assertSucceeds();
            }
            server.assertSucceeds();
            assertThat(server.output()).contains("server ping data: rdma-ping-2: CDEFGHIJKLMNOPQRSTUV");
        }
    }

    private void cServesPings(String host, String client) throws Exception {
        try (Peer server = Peer.c("rping -s -a " + host + " -p " + port + " " + served(client))) {
            Resources.awaitListener(port);
            try (Peer pings = rping("-c -a " + host + " -p " + port + " " + client)) {
                pings.assertSucceeds();
            }
            server.assertSucceeds();
            assertThat(server.output()).contains("server ping data: rdma-ping-2: CDEFGHIJKLMNOPQRSTUV");
        }
    }

    @Test
    void persistentRpingServesClientsAtOnce() throws Exception {
        String place = "-a " + four() + " -p " + port;
        try (Peer server = rping("-s -P -v " + place)) {
            Resources.awaitListener(port);
            try (Peer one = Peer.c("rping -c -C 20 -V " + place);
                    Peer two = rping("-c -C 20 -V " + place)) {
                one.assertSucceeds();
                two.assertSucceeds();
            }
            assertThat(server.output()).contains("rdma-ping-19: ");
        }
    }

    @Test
    void persistentRpingSurvivesClientsWithInvalidPings() throws Exception {
        String place = "-a " + four() + " -p " + port;
        try (Peer server = rping("-s -P -v -S 64 " + place)) {
            Resources.awaitListener(port);
            try (VerbsArena arena = VerbsArena.ofShared()) {
                ConnectionId id = EventChannel.create(arena).createId(PortSpace.TCP);
                id.resolveAddress(new InetSocketAddress(four(), port), Loopback.DEADLINE);
                id.resolveRoute(Loopback.DEADLINE);
                RpingLink link = new RpingLink(id, 64, false, step -> {});
                link.connect();
                link.source().segment().fill((byte) 0xc3); // neither ASCII nor UTF-8, and no NUL
                link.say(link.source().remote());
                assertThat(link.hear()).isNotNull();
                link.say(link.sink().remote());
                assertThat(link.hear()).isNotNull();
                assertThat(link.sink().segment().mismatch(link.source().segment()))
                        .isEqualTo(-1);
                RemoteMemory memory = link.source().remote();
                link.say(new RemoteMemory(memory.address(), memory.key(), 65));
                assertThat(link.hear()).as("the server has left this client").isNull();
                link.giveUp();
            }
            try (Peer client = rping("-c -C 3 -V " + place)) {
                client.assertSucceeds();
            }
            assertThat(server.output()).contains("server ping data: " + ".".repeat(64), "rdma-ping-2: ");
        }
    }
}

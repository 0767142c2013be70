package dev.verbena.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.Loopback;
import dev.verbena.support.NotOnIwarp;
import dev.verbena.support.Resources;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that the connection manager's tools interoperate with those of rdma-core, as server and as client. */
@DeviceTest
@IwarpToo
class CmInteropTest {
    private static final AtomicInteger PORT = new AtomicInteger(17_174);
    private static final int UDADDY_PORT = 7174;

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

    private static String[] args(String line) {
        return line.split(" ");
    }

    private static Peer rping(String line) {
        return Peer.java(Rping::run, args(line));
    }

    private static Peer ucmatose(String line) {
        return Peer.java(Ucmatose::run, args(line));
    }

    private static Peer udaddy(String line) {
        return Peer.java(Udaddy::run, args(line));
    }

    private static Peer cmtime(String line) {
        return Peer.java(Cmtime::run, args(line));
    }

    private static Peer mckey(String line) {
        return Peer.java(Mckey::run, args(line));
    }

    // rping: -q creates the queue pair without the connection manager

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

    // ucmatose

    @ParameterizedTest
    @ValueSource(strings = {"", " -c 4 -C 5 -S 4000", " -C 0 -m", " -P ib"})
    void javaUcmatoseServesCUcmatose(String options) throws Exception {
        try (Peer server = ucmatose("-b " + four() + " -p " + port + options)) {
            Resources.awaitListener(port);
            try (Peer client = Peer.c("ucmatose -s " + four() + " -p " + port + options)) {
                assertThat(client.assertSucceeds().output()).contains("return status 0");
            }
            assertThat(server.assertSucceeds().output())
                    .startsWith("cmatose: starting server\n")
                    .contains("disconnected\ntest complete\nreturn status 0");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " -c 4 -C 5 -S 4000", " -C 0 -m", " -P ib"})
    void cUcmatoseServesJavaUcmatose(String options) throws Exception {
        try (Peer server = Peer.c("ucmatose -b " + four() + " -p " + port + options)) {
            Resources.awaitListener(port);
            try (Peer client = ucmatose("-s " + four() + " -p " + port + options)) {
                assertThat(client.assertSucceeds().output())
                        .startsWith("cmatose: starting client\ncmatose: connecting\n")
                        .endsWith("test complete\nreturn status 0\n");
            }
            assertThat(server.assertSucceeds().output()).contains("return status 0");
        }
    }

    @Test
    @NotOnIwarp("a refusal is an errno")
    void ucmatoseReportsAPortWithoutListener() throws Exception {
        try (Peer client = ucmatose("-s " + four() + " -p " + port)) {
            assertThat(client.status()).isEqualTo(Main.FAILED);
            assertThat(client.output())
                    .contains(
                            "return status 8",
                            "cmatose: event: RDMA_CM_EVENT_REJECTED, error: 8 (no program listens on this port)");
        }
    }

    // udaddy, whose port is fixed

    @ParameterizedTest
    @ValueSource(strings = {"", " -c 3 -C 5 -S 1000"})
    @NotOnIwarp("there are no datagrams")
    void javaUdaddyServesCUdaddy(String options) throws Exception {
        try (Peer server = udaddy("-b " + four() + options)) {
            Resources.awaitListener(UDADDY_PORT);
            try (Peer client = Peer.c("udaddy -s " + four() + options)) {
                assertThat(client.assertSucceeds().output()).contains("return status 0");
            }
            assertThat(server.assertSucceeds().output())
                    .startsWith("udaddy: starting server\n")
                    .contains("sending replies\ndata transfers complete\ntest complete\nreturn status 0");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " -c 3 -C 5 -S 1000"})
    @NotOnIwarp("there are no datagrams")
    void cUdaddyServesJavaUdaddy(String options) throws Exception {
        try (Peer server = Peer.c("udaddy -b " + four() + options)) {
            Resources.awaitListener(UDADDY_PORT);
            try (Peer client = udaddy("-s " + four() + options)) {
                assertThat(client.assertSucceeds().output())
                        .contains("receiving data transfers\ndata transfers complete");
            }
            assertThat(server.assertSucceeds().output()).contains("return status 0");
        }
    }

    @Test
    @NotOnIwarp("there are no datagrams")
    void udaddyReportsAPortWithoutListener() throws Exception {
        try (Peer client = udaddy("-s " + four())) {
            assertThat(client.status()).isEqualTo(Main.FAILED);
            assertThat(client.output()).contains("udaddy: event: RDMA_CM_EVENT_UNREACHABLE, error: 1");
        }
    }

    // rdma_server, rdma_client

    @Test
    void javaRdmaServerServesCRdmaClient() throws Exception {
        try (Peer server = Peer.java(RdmaServer::run, args("-s " + four() + " -p " + port))) {
            Resources.awaitListener(port);
            try (Peer client = Peer.c("rdma_client -s " + four() + " -p " + port)) {
                assertThat(client.assertSucceeds().output()).contains("rdma_client: end 0");
            }
            assertThat(server.assertSucceeds().output()).isEqualTo("rdma_server: start\nrdma_server: end 0\n");
        }
    }

    @Test
    void cRdmaServerServesJavaRdmaClient() throws Exception {
        try (Peer server = Peer.c("rdma_server -s " + four() + " -p " + port)) {
            Resources.awaitListener(port);
            try (Peer client = Peer.java(RdmaClient::run, args("-s " + four() + " -p " + port))) {
                assertThat(client.assertSucceeds().output()).isEqualTo("rdma_client: start\nrdma_client: end 0\n");
            }
            assertThat(server.assertSucceeds().output()).contains("rdma_server: end 0");
        }
    }

    // cmtime, whose server never ends by itself

    /** From rdma-core 52 on, both ends of C's cmtime also meet over TCP. They can't work with an older one's, either. */
    private static void requireOldCmtime() throws Exception {
        try (Peer usage = Peer.c("cmtime -?")) {
            usage.status();
            assumeTrue(!usage.output().contains("num_threads"), "this cmtime has another protocol");
        }
    }

    @Test
    void javaCmtimeServesCCmtime() throws Exception {
        requireOldCmtime();
        try (Peer server = cmtime("-b " + four() + " -p " + port)) {
            Resources.awaitListener(port);
            try (Peer client = Peer.c("cmtime -s " + four() + " -c 10 -p " + port)) {
                assertThat(client.assertSucceeds().output())
                        .contains("destroy      :")
                        .doesNotContain("event:");
            }
            assertThat(server.output()).isEmpty();
        }
    }

    @Test
    void cCmtimeServesJavaCmtime() throws Exception {
        requireOldCmtime();
        try (Peer server = Peer.c("cmtime -b " + four() + " -p " + port)) {
            Resources.awaitListener(port);
            try (Peer client = cmtime("-s " + four() + " -c 10 -p " + port)) {
                assertThat(client.assertSucceeds().output())
                        .contains("step              total ms     max ms     min us  us / conn\n", "destroy      :");
            }
            assertThat(server.output()).isEmpty();
        }
    }

    // mckey

    @Test
    @NotOnIwarp("there are no datagrams")
    void javaMckeyReceivesFromCMckey() throws Exception {
        // C's sender leaves the group without waiting for the end of its sends, which newer kernels then drop.
        assumeTrue(
                System.getProperty("os.version").matches("(5|6\\.[0-3])\\..*"), "this kernel sends in another thread");
        try (Peer receiver = mckey("-m 239.1.1.1 -b " + four())) {
            receiver.awaitOutput("receiving data transfers");
            try (Peer sender = Peer.c("mckey -m 239.1.1.1 -s -b " + four())) {
                sender.assertSucceeds();
            }
            assertThat(receiver.assertSucceeds().output())
                    .contains("mckey: joined dgid: ::ffff:239.1.1.1 mlid 0x0 sl 0", "return status 0");
        }
    }

    @Test
    @NotOnIwarp("there are no datagrams")
    void cMckeyReceivesFromJavaMckey() throws Exception {
        try (Peer receiver = Peer.c("mckey -m 239.1.1.1 -b " + four())) {
            receiver.awaitOutput("joined dgid");
            try (Peer sender = mckey("-m 239.1.1.1 -s -b " + four())) {
                sender.assertSucceeds();
            }
            assertThat(receiver.assertSucceeds().output()).contains("data transfers complete", "return status 0");
        }
    }

    // InfiniBand addresses, which only InfiniBand networks accept

    private static boolean succeeds(Peer tool) throws Exception {
        try (tool) {
            return tool.status() == 0;
        } catch (ExecutionException refused) {
            assertThat(refused).hasCauseInstanceOf(VerbsException.class);
            return false;
        }
    }

    @Test
    void gidAddressesWorkWhereTheCToolsAcceptThem() throws Exception {
        String line = "-f gid -s ::ffff:" + four();
        assertThat(succeeds(ucmatose(line))).isEqualTo(succeeds(Peer.c("ucmatose " + line)));
        assertThat(succeeds(udaddy(line))).isEqualTo(succeeds(Peer.c("udaddy " + line)));
    }

    @Test
    void mckeyJoinsGidGroupsWhereCMckeyDoes() throws Exception {
        String line = "-M ff0e::1234 -s -b " + four();
        assertThat(succeeds(mckey(line))).isEqualTo(succeeds(Peer.c("mckey " + line)));
    }
}

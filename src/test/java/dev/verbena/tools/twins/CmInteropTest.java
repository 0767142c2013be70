package dev.verbena.tools.twins;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.VerbsException;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.NotOnIwarp;
import dev.verbena.support.Resources;
import dev.verbena.tools.Peer;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.perf.Cmtime;
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

    private static String[] args(String line) {
        return line.split(" ");
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
            assertThat(client.status()).isEqualTo(Tool.FAILED);
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
            assertThat(client.status()).isEqualTo(Tool.FAILED);
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

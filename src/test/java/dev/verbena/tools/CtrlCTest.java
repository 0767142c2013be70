package dev.verbena.tools;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.Connection;
import dev.verbena.cm.Listener;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.Resources;
import dev.verbena.support.Slow;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that Ctrl-C ends waiting and running tools at once and silently, tells their peers, and leaves no objects. A
 * tool whose line begins with a dollar runs in its own process, which gets the signal. The others are threads of this
 * process, which are interrupted as by the signal's handler, so that leaked objects would be found. The handler is the
 * same for all tools: {@code CtrlCOnTheFencedProviderTest} sends the signal to more of them.
 */
@Slow
class CtrlCTest {
    private static final String OWN_PROCESS = "$ ";

    private List<String> before = List.of();
    private final String host = CmAddress.four(0).getAddress().getHostAddress();

    /** Starts a tool, with port and address in place of PORT and HOST. */
    private Peer start(String line, int port) {
        String[] words = line.replace(OWN_PROCESS, "")
                .replace("PORT", "" + port)
                .replace("HOST", host)
                .split(" ");
        return line.startsWith(OWN_PROCESS) ? Peer.childJvm(words) : Peer.java(words);
    }

    static void assertEndsQuietly(Peer tool) throws Exception {
        String before = tool.output();
        tool.interrupt();
        assertThat(tool.status()).as(tool + " printed:\n" + tool.output()).isEqualTo(Tool.INTERRUPTED);
        assertThat(tool.output())
                .doesNotContain("verbena ", "rping: ", "Exception", "\tat ")
                .startsWith(before);
    }

    @BeforeEach
    void lookWhatOthersHaveLeft() throws Exception {
        before = Resources.ofThisProcess();
    }

    @AfterEach
    void nothingMoreIsLeft() throws Exception {
        assertThat(Resources.ofThisProcess()).isSubsetOf(before);
    }

    // Waiting tools

    @ParameterizedTest
    @ValueSource(strings = {"rc-pingpong -p PORT", "srq-pingpong -q 2 -p PORT", "perf server -p PORT"})
    void ctrlCEndsAWaitingTcpServer(String line) throws Exception {
        int port = Listening.freePort();
        try (Peer tool = start(line, port)) {
            Listening.await(port, () -> true);
            assertEndsQuietly(tool);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rping -s -P -a HOST -p PORT", "cmtime -p PORT"})
    void ctrlCEndsAWaitingCmServer(String line) throws Exception {
        int port = freePort();
        try (Peer tool = start(line, port)) {
            Resources.awaitListener(port);
            assertEndsQuietly(tool);
        }
    }

    // Connected tools, whose peers see the end

    @ParameterizedTest
    @ValueSource(strings = {"rping -s -a HOST -p PORT", "cmtime -p PORT"})
    void ctrlCOnAServerTellsItsClient(String line) throws Exception {
        int port = freePort();
        try (VerbsArena arena = VerbsArena.ofConfined();
                Peer tool = start(line, port)) {
            Resources.awaitListener(port);
            Connection client = Connection.open(CmAddress.four(port), DEADLINE, arena);
            assertEndsQuietly(tool);
            assertThat(client.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.DISCONNECTED);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rping -c -a HOST -p PORT", "cmtime -s HOST -c 2 -p PORT"})
    void ctrlCOnAClientTellsItsServer(String line) throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Listener listener = Listener.open(CmAddress.four(0), arena);
            try (Peer tool = start(line, listener.address().getPort())) {
                Connection server = listener.awaitConnection(DEADLINE);
                MemoryRegion buffer = server.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
                server.queuePair().postReceive(1, buffer);
                server.accept(DEADLINE);
                assertEndsQuietly(tool);
                assertThat(server.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.DISCONNECTED);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"$ rping -s -P -a HOST -p PORT"})
    void ctrlCOnAServerOfManyTellsAllClients(String line) throws Exception {
        int port = freePort();
        try (Peer tool = start(line + " -v", port)) {
            Resources.awaitListener(port);
            String client = "rping -c -v -a " + host + " -p " + port;
            try (Peer one = Peer.c(client);
                    Peer two = Peer.java(client.split(" "))) {
                one.awaitOutput("rdma-ping-3");
                two.awaitOutput("rdma-ping-3");
                assertEndsQuietly(tool);
                one.status();
                two.status();
                assertThat(two.output()).contains("verbena rping: the server has closed the connection");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rc-pingpong", "uc-pingpong", "ud-pingpong", "srq-pingpong -e"})
    void ctrlCEndsARunningPingPong(String line) throws Exception {
        int port = Listening.freePort();
        String c = line.replace(OWN_PROCESS, "").replace("-pingpong", "_pingpong") + " -g 1 -n 1000000000 -p " + port;
        String java = line + " -g 1 -n 1000000000 -p PORT";
        try (Peer server = start(java, port)) {
            Listening.await(port, () -> true);
            try (Peer.Process client = Peer.c("ibv_" + c + " 127.0.0.1")) {
                server.awaitOutput("remote address");
                client.awaitOutput("remote address");
                assertEndsQuietly(server);
            }
        }
        try (Peer.Process server = Peer.c("ibv_" + c)) {
            Listening.await(port, () -> true);
            try (Peer client = start(java.replace(OWN_PROCESS, "") + " 127.0.0.1", port)) {
                server.awaitOutput("remote address");
                client.awaitOutput("remote address");
                assertEndsQuietly(client);
            }
        }
    }

    // Measurements, whose peers see the end over TCP

    private static final String LONG = " -n 1000000000 -t 4 -p PORT HOST";

    @ParameterizedTest
    @ValueSource(strings = {"lat --op send", "lat --op write", "bw --op send -c UD -R", "bw --op read -R"})
    void ctrlCOnAMeasuringServerTellsItsClient(String options) throws Exception {
        measures(options, "perf server -p PORT", "perf " + options + LONG, true);
    }

    @ParameterizedTest
    @ValueSource(strings = {"lat --op send -e", "bw --op send", "lat --op read"})
    void ctrlCOnAMeasuringClientTellsItsServer(String options) throws Exception {
        measures(options, "perf server -p PORT", "perf " + options + LONG, false);
    }

    private void measures(String options, String serving, String measuring, boolean endsServer) throws Exception {
        int port = Listening.freePort();
        try (Peer server = start(serving, port)) {
            Listening.await(port, () -> true);
            try (Peer client = start(measuring, port)) {
                Await.until(
                        "a queue pair of each that is ready",
                        () -> !client.output().isEmpty() || Resources.readyQueuePairs() >= 2);
                assertThat(client.output()).isEmpty();
                assertEndsQuietly(endsServer ? server : client);
                Peer other = endsServer ? client : server;
                assertThat(other.status()).isEqualTo(Tool.FAILED);
                assertThat(other.output()).startsWith("verbena perf: ").hasLineCount(1);
            }
        }
    }

    @Test
    void ctrlCOnATerminalRemovesTheProgressLine() throws Exception {
        int port = Listening.freePort();
        try (Peer server = Peer.java("perf", "server", "-p", "" + port)) {
            Listening.await(port, () -> true);
            try (Peer.Process client =
                    Peer.childJvmOnTerminal("perf", "lat", "-n", "1000000000", "-t", "4", "-p", "" + port, host)) {
                client.awaitOutput("RC send, latency: 64 bytes ... ");
                client.type((char) 3);
                assertThat(client.status()).as(client.output()).isEqualTo(Tool.INTERRUPTED);
                assertThat(client.output()).endsWith("  \r").doesNotContain("Exception", "verbena perf");
            }
            assertThat(server.status()).isEqualTo(Tool.FAILED);
        }
    }

    private static int freePort() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            return Listener.open(CmAddress.four(0), arena).address().getPort();
        }
    }
}

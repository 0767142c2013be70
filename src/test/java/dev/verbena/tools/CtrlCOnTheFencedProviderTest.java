package dev.verbena.tools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.tools.command.Tool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that Ctrl-C ends tools that run in a process of their own: the signal, its handler and the exit status. What the
 * handler does does not depend on the device. {@code CtrlCTest} looks at peers and at the kernel's objects.
 */
@FencedTest
class CtrlCOnTheFencedProviderTest {
    private static void assertEndsQuietly(Peer.Process tool) throws Exception {
        String before = tool.output();
        tool.interrupt();
        assertThat(tool.status()).as(tool + " printed:\n" + tool.output()).isEqualTo(Tool.INTERRUPTED);
        assertThat(tool.output())
                .doesNotContain("verbena ", "rping: ", "Exception", "\tat ")
                .startsWith(before);
    }

    @ParameterizedTest
    @ValueSource(strings = {"rc-pingpong", "perf server"})
    void ctrlCEndsAWaitingTcpServer(String line) throws Exception {
        if (line.equals("rc-pingpong")) {
            Fenced.assumeNoLimit("has no reliable connections");
        }
        int port = Listening.freePort();
        try (Peer.Process tool = Peer.childJvm((line + " -p " + port).split(" "))) {
            Listening.await(port, tool::isAlive);
            assertEndsQuietly(tool);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rping -s -d -a 10.9.9.1", "rping -s -P -d -a 10.9.9.1"})
    void ctrlCEndsAWaitingCmServer(String line) throws Exception {
        Fenced.assumeNoLimit("has no connection manager");
        try (Peer.Process tool = Peer.childJvm(line.split(" "))) {
            tool.awaitOutput("rdma_listen");
            assertEndsQuietly(tool);
        }
    }

    @Test
    void ctrlCEndsTheToolThatWaitsForEvents() throws Exception {
        try (Peer.Process tool = Peer.childJvm("events")) {
            tool.awaitOutput("port 1 of");
            assertEndsQuietly(tool);
        }
    }
}

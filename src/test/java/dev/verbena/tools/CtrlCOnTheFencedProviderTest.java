package dev.verbena.tools;

import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that Ctrl-C ends tools that run in a process of their own: the signal, its handler and the exit status. What the
 * handler does does not depend on the device. {@code CtrlCTest} looks at peers and at the kernel's objects.
 */
@FencedTest
class CtrlCOnTheFencedProviderTest {
    @ParameterizedTest
    @ValueSource(strings = {"rc-pingpong", "perf server"})
    void ctrlCEndsAWaitingTcpServer(String line) throws Exception {
        if (line.equals("rc-pingpong")) {
            Fenced.assumeNoLimit("has no reliable connections");
        }
        int port = Listening.freePort();
        try (Peer.Process tool = Peer.childJvm((line + " -p " + port).split(" "))) {
            Listening.await(port, tool::isAlive);
            CtrlCTest.assertEndsQuietly(tool);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rping -s -d -a 10.9.9.1", "rping -s -P -d -a 10.9.9.1"})
    void ctrlCEndsAWaitingCmServer(String line) throws Exception {
        Fenced.assumeNoLimit("has no connection manager");
        try (Peer.Process tool = Peer.childJvm(line.split(" "))) {
            tool.awaitOutput("rdma_listen");
            CtrlCTest.assertEndsQuietly(tool);
        }
    }

    @Test
    void ctrlCEndsTheToolThatWaitsForEvents() throws Exception {
        try (Peer.Process tool = Peer.childJvm("events")) {
            tool.awaitOutput("port 1 of");
            CtrlCTest.assertEndsQuietly(tool);
        }
    }
}

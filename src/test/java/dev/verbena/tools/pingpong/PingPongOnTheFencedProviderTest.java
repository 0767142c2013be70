package dev.verbena.tools.pingpong;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.support.CmAddress;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.tools.Listening;
import dev.verbena.tools.Peer;
import dev.verbena.tools.ToolRun;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the ping-pongs and rping with each other. The provider checks each access to memory. */
@FencedTest
class PingPongOnTheFencedProviderTest {
    private record Both(ToolRun server, ToolRun client) {}

    /** Plays a game; the client may be another tool with other options. */
    private static Both play(String serverLine, String clientLine) throws Exception {
        int port = Listening.freePort();
        FutureTask<ToolRun> server = new FutureTask<>(() -> run(serverLine, port));
        Thread.ofPlatform().daemon().start(server);
        Listening.await(port, server);
        ToolRun client = run(clientLine + " 127.0.0.1", port);
        return new Both(server.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS), client);
    }

    private static ToolRun run(String line, int port) {
        List<String> words = new ArrayList<>(List.of(line.split(" ")));
        words.addAll(1, List.of("-p", String.valueOf(port)));
        return ToolRun.of(words.toArray(String[]::new));
    }

    /**
     * Each size and each option of a kind, with others where the order of calls allows it. {@code PingPongTest} has several
     * queue pairs: one side of such a game may end before the other's last sends.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "rc-pingpong -n 10 -c -s 1 -N",
                "rc-pingpong -n 10 -c -s 64 -e",
                "rc-pingpong -n 10 -c -s 4096",
                "rc-pingpong -n 5 -c -s 65536 -m 256 -r 3",
                "rc-pingpong -n 3 -c -s 1048576",
                "rc-pingpong -n 20 -o -c",
                "rc-pingpong -n 20 -o -P -c",
                "uc-pingpong -n 10 -c -s 1",
                "uc-pingpong -n 10 -c -s 4096 -e",
                "uc-pingpong -n 5 -c -s 65536",
                "ud-pingpong -n 10 -c -s 1",
                "ud-pingpong -n 10 -c -s 1024 -e",
                "srq-pingpong -n 10 -c -s 64 -q 1 -e",
                "srq-pingpong -n 10 -c -s 4096 -q 1"
            })
    void pingPongPlaysWithItself(String line) throws Exception {
        Both both = play(line, line);
        assertThat(both.client().status()).as(both.toString()).isZero();
        assertThat(both.server().status()).as(both.toString()).isZero();
        assertThat(both.toString()).doesNotContain("invalid data");
    }

    @Test
    void checkFindsWrongData() throws Exception {
        Both both = play("rc-pingpong -n 3 -c", "rc-pingpong -n 3");
        assertThat(both.client().status()).as(both.toString()).isZero();
        assertThat(both.server().status()).as(both.toString()).isEqualTo(Tool.FAILED);
        assertThat(both.server().err()).contains("invalid data in page 0").hasLineCount(1);
    }

    @Test
    void pingPongReportsPeersOfAnotherTool() throws Exception {
        play(
                "srq-pingpong -n 1",
                "srq-pingpong -n 1"); // is refused where a driver lacks that: else the server would wait
        ToolRun server = play("rc-pingpong -n 3", "srq-pingpong -n 3").server();
        assertThat(server.status()).as(server.toString()).isEqualTo(Tool.FAILED);
        assertThat(server.err())
                .startsWith("verbena rc-pingpong: the peer ")
                .contains("is it another tool?")
                .hasLineCount(1);
    }

    @Test
    void udPingPongRefusesMessagesBeyondTheMtu() {
        ToolRun.of("ud-pingpong", "-s", "4097", "127.0.0.1").fails("-s 4097 is too large");
    }

    // rping, whose servers can stay

    private static Peer rping(String line) {
        return Peer.java(Rping::run, line.split(" "));
    }

    @Test
    void persistentRpingServesClientsAtOnce() throws Exception {
        InetSocketAddress place = CmAddress.four(17_374);
        String at = " -a " + place.getAddress().getHostAddress() + " -p " + place.getPort();
        try (Peer server = rping("-s -P -v -S 65535" + at)) {
            server.awaitListener(place.getPort());
            try (Peer one = rping("-c -C 200 -S 1000 -V" + at);
                    Peer two = rping("-c -C 20 -V" + at)) {
                one.assertSucceeds();
                two.assertSucceeds();
            }
            assertThat(server.output()).contains("rdma-ping-19: ");
        }
    }

    @Test
    void persistentRpingSurvivesClientsWithInvalidPings() throws Exception {
        InetSocketAddress place = CmAddress.four(17_375);
        String at = " -a " + place.getAddress().getHostAddress() + " -p " + place.getPort();
        try (Peer server = rping("-s -P -v -S 64" + at)) {
            server.awaitListener(place.getPort());
            try (VerbsArena arena = VerbsArena.ofShared()) {
                ConnectionId id = EventChannel.create(arena).createId(PortSpace.TCP);
                id.resolveAddress(place, Loopback.DEADLINE);
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
            try (Peer client = rping("-c -C 3 -V" + at)) {
                client.assertSucceeds();
            }
            assertThat(server.output()).contains("server ping data: " + ".".repeat(64), "rdma-ping-2: ");
        }
    }
}

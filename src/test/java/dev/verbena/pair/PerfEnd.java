package dev.verbena.pair;

import dev.verbena.support.Await;
import dev.verbena.support.TestDevice;
import dev.verbena.tools.Listening;
import dev.verbena.tools.ToolRun;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/** A role that runs {@code verbena perf server --keep}. Asked for a number, it tells that line of the server. */
final class PerfEnd implements Role {
    /** Asks for the packets that have arrived with the mark ECT(1), which is the traffic class 1. */
    static final String MARKED = "marked";

    @Override
    public void play(Conversation test) throws Exception {
        String port = String.valueOf(Listening.freePort());
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Thread server = ToolRun.start(
                out,
                "perf",
                "server",
                "--keep",
                "-p",
                port,
                "-d",
                TestDevice.get().name());
        try {
            Listening.await(Integer.parseInt(port), server::isAlive);
            test.say(port);
            for (String asked = test.next(); !asked.equals(PeerDriver.END); asked = test.next()) {
                test.say(asked.equals(MARKED) ? String.valueOf(marked()) : line(out, Integer.parseInt(asked)));
            }
        } finally {
            server.interrupt();
            Await.end(server);
        }
    }

    /** Waits for a line of the server, from 1. */
    private static String line(ByteArrayOutputStream out, int number) {
        Supplier<List<String>> lines =
                () -> out.toString(StandardCharsets.UTF_8).lines().toList();
        Await.until("line " + number + " of the server", () -> lines.get().size() >= number);
        return "server: " + lines.get().get(number - 1);
    }

    /** Returns the marked packets of IPv4 and IPv6. The table of IPv4 has a line of names before that of the values. */
    private static long marked() throws IOException {
        List<String[]> four = Files.readAllLines(Path.of("/proc/net/netstat")).stream()
                .filter(line -> line.startsWith("IpExt:"))
                .map(line -> line.split(" "))
                .toList();
        String six = Files.readAllLines(Path.of("/proc/net/snmp6")).stream()
                .filter(line -> line.startsWith("Ip6InECT1Pkts"))
                .findFirst()
                .orElseThrow();
        return Long.parseLong(four.getLast()[List.of(four.getFirst()).indexOf("InECT1Pkts")])
                + Long.parseLong(six.split("\\s+")[1]);
    }
}

package dev.verbena.sockets;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toCollection;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.sockets.NettySuite.Outcome;
import dev.verbena.support.CmAddress;
import dev.verbena.support.LongTest;
import dev.verbena.support.TestDevice;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Netty's own tests of socket channels, over the JDK's provider and then over RDMA in the same machine. The resource {@code
 * netty-over-rdma.tsv} lists the tests that fail over RDMA only, with the reason.
 *
 * <p>Netty repeats its echo over TLS 94 times, with all combinations of its own options. Each takes some 20 seconds in a
 * busy guest, so each seventh runs here. The number is odd, for a combination is a binary number. {@code
 * -Ddev.verbena.netty.every=1} runs all, and {@code -Ddev.verbena.netty=PATTERN} chooses classes.
 */
@LongTest
class NettyTest {
    private static final String CLASSES = System.getProperty(
            "dev.verbena.netty", "(Socket|ServerSocket|WriteBeforeRegistered|CompositeBuffer|TrafficShaping).*Test");
    private static final String RDMA = RdmaSelectorProvider.class.getName();
    private static final int EVERY = Integer.getInteger("dev.verbena.netty.every", 7);
    private static final Duration DEADLINE = Duration.ofMinutes(40);

    @Test
    void testsOfNettyThatPassOverTcpPassOverRdmaExceptForTheListed() throws IOException {
        String host = CmAddress.four(0).getAddress().getHostAddress();
        Map<String, Outcome> tcp = NettySuite.run(CLASSES, EVERY, null, host, DEADLINE);
        long before = TestDevice.packetsSent();
        Map<String, Outcome> rdma = NettySuite.run(CLASSES, EVERY, RDMA, host, DEADLINE);
        System.out.printf(
                "Netty's tests: %d of %d passed over TCP, %d of %d over RDMA, in %d packets%n",
                passed(tcp).size(), tcp.size(), passed(rdma).size(), rdma.size(), TestDevice.packetsSent() - before);
        assertThat(rdma.keySet()).isEqualTo(tcp.keySet()).isNotEmpty();
        assertThat(TestDevice.packetsSent() - before)
                .as("packets of the device")
                .isGreaterThan(passed(rdma).size());
        Map<String, String> failures = new TreeMap<>();
        for (String name : passed(tcp)) {
            Outcome outcome = rdma.get(name);
            if (!outcome.passed()) {
                failures.put(name, outcome.reason());
            }
        }
        failures.keySet().removeAll(listed());
        if (!failures.isEmpty()) {
            System.out.println("Once more, because Netty's deadlines are short for a busy guest: " + failures);
            failures.keySet()
                    .removeAll(passed(NettySuite.run(classesOf(failures.keySet()), EVERY, RDMA, host, DEADLINE)));
        }
        assertThat(failures).isEmpty();
    }

    private static String classesOf(Set<String> tests) {
        return tests.stream()
                .map(name -> name.substring(0, name.indexOf('.')))
                .distinct()
                .collect(joining("|", "(", ")"));
    }

    private static SortedSet<String> passed(Map<String, Outcome> outcomes) {
        return outcomes.entrySet().stream()
                .filter(each -> each.getValue().passed())
                .map(Map.Entry::getKey)
                .collect(toCollection(TreeSet::new));
    }

    private static SortedSet<String> listed() throws IOException {
        try (InputStream in = NettyTest.class.getResourceAsStream("/netty-over-rdma.tsv")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .map(line -> line.substring(0, line.indexOf('\t')))
                    .collect(toCollection(TreeSet::new));
        }
    }
}

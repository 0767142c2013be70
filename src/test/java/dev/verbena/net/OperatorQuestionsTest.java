package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.tools.attach.VirtualMachine;
import dev.verbena.VerbsArena;
import dev.verbena.internal.IpAddresses;
import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import dev.verbena.tools.page.Json;
import dev.verbena.verbs.AccessFlag;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.TabularData;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The three questions of an operator about a running program: which peer is slow, who holds the pinned memory, how many calls
 * failed and why. Another JVM answers them from the beans, without classes of this library, as jconsole does; and so do
 * {@code jcmd JFR.dump} and {@code jfr print}.
 */
@FencedTest
@Timeout(300)
@TestInstance(TestInstance.Lifecycle.PER_CLASS) // both tests ask one program
class OperatorQuestionsTest {
    private static final int PINNED = 1 << 20;
    private static final String REASON = "account 4711 is unknown";

    /** A program with a node that calls two others, one of which is slow, and refuses two calls. It ends with its input. */
    static final class Asked {
        private static Node open(VerbsArena arena) {
            return Node.open(NodePair.OWN, NodePair.SMALL.transport(Transport.RDMA), arena);
        }

        private static Node pin(VerbsArena arena) {
            Node node = open(arena);
            node.register(arena.allocate(PINNED, 4096), AccessFlag.LOCAL_WRITE);
            return node;
        }

        public static void main(String[] arguments) throws Exception {
            CountDownLatch others = new CountDownLatch(1);
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Node slow = open(arena);
                slow.listen((_, request) -> {
                    others.await();
                    request.reply().length(0).send();
                });
                Node quick = open(arena);
                quick.listen((_, request) -> {
                    if (request.length() > 0) {
                        request.refuse(REASON);
                    } else {
                        request.reply().length(0).send();
                    }
                });
                Node client = pin(arena);
                Channel toSlow = client.connect(slow.address(), DEADLINE);
                Channel toQuick = client.connect(quick.address(), DEADLINE);
                CompletableFuture<Message> late =
                        toSlow.callAsync(toSlow.message(DEADLINE).length(0));
                toQuick.call(toQuick.message(DEADLINE).length(0), DEADLINE).close();
                for (int refused = 0; refused < 2; ) {
                    try {
                        toQuick.call(toQuick.message(DEADLINE).length(1), DEADLINE)
                                .close();
                    } catch (CallException expected) {
                        refused++;
                    }
                }
                others.countDown();
                late.get(DEADLINE.toSeconds(), TimeUnit.SECONDS).close();
                System.out.println("asked " + IpAddresses.text(client.address()) + " "
                        + IpAddresses.text(slow.address()) + " " + IpAddresses.text(quick.address()));
                while (System.in.read() >= 0) {
                    Thread.onSpinWait();
                }
            }
        }
    }

    @TempDir
    private Path folder;

    private Process program;
    private String client;
    private String slow;
    private String quick;

    @BeforeAll
    void start() throws IOException {
        program = ChildJvm.with("--enable-native-access=ALL-UNNAMED", "-Ddev.verbena.fenced=true")
                .option("-Ddev.verbena.libibverbs=" + System.getProperty("dev.verbena.libibverbs"))
                .option("-Ddev.verbena.librdmacm=" + System.getProperty("dev.verbena.libibverbs"))
                .option("-XX:StartFlightRecording:dev.verbena.NodeStatistics#period=20ms")
                .startOnClassPath(Asked.class);
        List<String> before = new ArrayList<>();
        BufferedReader out =
                new BufferedReader(new InputStreamReader(program.getInputStream(), StandardCharsets.UTF_8));
        for (String line = out.readLine(); ; line = out.readLine()) {
            if (line == null) {
                throw new AssertionError(String.join("\n", before));
            }
            if (line.startsWith("asked ")) {
                String[] words = line.split(" ");
                client = words[1];
                slow = words[2];
                quick = words[3];
                return;
            }
            before.add(line);
        }
    }

    @AfterAll
    void end() {
        program.destroyForcibly();
    }

    // Beans

    private static Map<String, Long> counters(MBeanServerConnection server, ObjectName node) throws Exception {
        Map<String, Long> numbers = new TreeMap<>();
        ((TabularData) server.getAttribute(node, "Statistics")).values().forEach(row -> {
            CompositeData entry = (CompositeData) row;
            numbers.put((String) entry.get("key"), (Long) entry.get("value"));
        });
        return numbers;
    }

    private static ObjectName bean(MBeanServerConnection server, String address) throws Exception {
        ObjectName name = new ObjectName("dev.verbena:type=Node,address=\"" + address + "\"");
        Await.until("the bean is there", () -> server.isRegistered(name));
        return name;
    }

    @Test
    void beansAnswer() throws Exception {
        VirtualMachine machine = VirtualMachine.attach(String.valueOf(program.pid()));
        try (JMXConnector agent = JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent()))) {
            MBeanServerConnection server = agent.getMBeanServerConnection();
            ObjectName asked = bean(server, client);

            CompositeData slowest = Arrays.stream((CompositeData[]) server.getAttribute(asked, "Channels"))
                    .max(Comparator.comparingLong(
                            channel -> (long) ((CompositeData) channel.get("latency")).get("maxNanos")))
                    .orElseThrow();
            assertThat(slowest.get("channel")).as("the slow peer").isEqualTo("to " + slow);

            long pinned = counters(server, asked).get("pinnedBytes");
            assertThat(pinned).as("bytes that the node pins").isGreaterThanOrEqualTo(PINNED);
            assertThat(counters(server, bean(server, slow)).get("pinnedBytes"))
                    .as("those of another node of the program")
                    .isLessThan(PINNED);
            assertThat((Long) server.getAttribute(asked, "PinnedBytesOfProcess"))
                    .isGreaterThan(pinned);

            assertThat(counters(server, asked)).as("failed calls").containsEntry("faults", 2L);
            assertThat(server.getAttribute(asked, "CallFailure")).isEqualTo("to " + quick + ": " + REASON);
        } finally {
            machine.detach();
        }
    }

    // The flight recording

    private static String run(String tool, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", tool).toString());
        command.addAll(List.of("-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().remove("LD_PRELOAD");
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    private static List<Map<?, ?>> values(Object recording, String event) {
        List<Map<?, ?>> values = new ArrayList<>();
        for (Object each : (List<?>) ((Map<?, ?>) ((Map<?, ?>) recording).get("recording")).get("events")) {
            if (each instanceof Map<?, ?> found && found.get("type").equals("dev.verbena." + event)) {
                values.add((Map<?, ?>) found.get("values"));
            }
        }
        return values;
    }

    /** Returns all events of the library so far. */
    private Object dump() {
        Path file = folder.resolve("program.jfr");
        try {
            run("jcmd", String.valueOf(program.pid()), "JFR.dump", "filename=" + file);
            return Json.read(run("jfr", "print", "--json", "--events", "dev.verbena.*", file.toString()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns true for an event of the node that asks, with both failures. */
    private boolean isWhole(Map<?, ?> node) {
        return client.equals(node.get("node")) && Long.valueOf(2).equals(node.get("faults"));
    }

    @Test
    void flightRecordingAnswers() {
        AtomicReference<Object> dumped = new AtomicReference<>();
        Await.until("an event with the counters of the node", () -> {
            dumped.set(dump());
            return values(dumped.get(), "NodeStatistics").stream().anyMatch(this::isWhole);
        });
        Object recording = dumped.get();

        assertThat(values(recording, "NodeStatistics"))
                .as("the slow peer, and the number of calls that failed")
                .filteredOn(this::isWhole)
                .last()
                .satisfies(node -> assertThat(node.get("slowestChannel")).isEqualTo("to " + slow));
        assertThat(values(recording, "Registration"))
                .as("the line that pins most")
                .filteredOn(registration -> (Long) registration.get("size") >= PINNED)
                .singleElement()
                .satisfies(registration -> assertThat((String) registration.get("place"))
                        .contains("OperatorQuestionsTest$Asked.pin(OperatorQuestionsTest.java:"));
        assertThat(values(recording, "CallFailure"))
                .as("the calls that failed, and why")
                .hasSize(2)
                .allSatisfy(failure -> {
                    assertThat(failure.get("channel")).isEqualTo("to " + quick);
                    assertThat(failure.get("reason")).isEqualTo(REASON);
                });
    }
}

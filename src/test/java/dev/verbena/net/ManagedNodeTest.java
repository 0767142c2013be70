package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.tools.attach.VirtualMachine;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.IpAddresses;
import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.management.JMX;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import strangers.LonelyNode;

/** A node as management agents and flight recordings show it. */
@Timeout(120)
class ManagedNodeTest {
    private static final NodeOptions TCP = NodeOptions.defaults().transport(Transport.TCP);
    private static final InetSocketAddress OWN = new InetSocketAddress("127.0.0.1", 0);

    /** A node whose handler throws, and another one that has called it. */
    private record Failed(Node server, Node client) {
        static Failed open(VerbsArena arena) throws InterruptedException {
            Node server = Node.open(OWN, TCP, arena);
            Node client = Node.open(OWN, TCP, arena);
            server.listen((_, _) -> {
                throw new IllegalArgumentException("of the test");
            });
            Channel channel = client.connect(server.address(), DEADLINE);
            try {
                channel.call(channel.message(DEADLINE), DEADLINE).close();
                throw new AssertionError("the call has not failed");
            } catch (CallException expected) {
                return new Failed(server, client);
            }
        }
    }

    private static ObjectName name(String address) throws Exception {
        return new ObjectName("dev.verbena:type=Node,address=\"" + address + "\"");
    }

    private static NodeMXBean bean(MBeanServerConnection server, String address) throws Exception {
        ObjectName name = name(address);
        Await.until("the bean is there", () -> server.isRegistered(name));
        return JMX.newMXBeanProxy(server, name, NodeMXBean.class);
    }

    @Test
    void beanHasWhatTheNodeHasUntilItIsClosed() throws Exception {
        MBeanServerConnection server = ManagementFactory.getPlatformMBeanServer();
        String address;
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Failed nodes = Failed.open(arena);
            address = IpAddresses.text(nodes.client().address());
            NodeMXBean bean = bean(server, address);
            assertThat(bean.getDescription()).isEqualTo(nodes.client().toString());
            assertThat(bean.getStatistics())
                    .isEqualTo(nodes.client().statistics().byName());
            assertThat(bean.getLatency()).isEqualTo(nodes.client().latency());
            assertThat(bean.getHandlerLatency()).isEqualTo(nodes.client().handlerLatency());
            assertThat(bean.getHandlerFailure()).isEmpty();
            assertThat(bean.getCallFailure())
                    .isEqualTo("to " + IpAddresses.text(nodes.server().address())
                            + ": java.lang.IllegalArgumentException");
            assertThat(bean.getPinnedBytesOfProcess()).isEqualTo(VerbsArena.pinnedBytes());
            assertThat(bean.getChannels()).singleElement().satisfies(open -> {
                Channel channel = nodes.client().channels().getFirst();
                assertThat(open.channel())
                        .isEqualTo("to " + IpAddresses.text(nodes.server().address()));
                assertThat(open.statistics()).isEqualTo(channel.statistics().byName());
                assertThat(open.latency()).isEqualTo(channel.latency());
                assertThat(open.handlerLatency()).isEqualTo(channel.handlerLatency());
            });
        }
        assertThat(server.isRegistered(name(address))).isFalse();
    }

    /** Opens nodes, prints the address of the one whose handler has thrown, and ends when its input does. */
    static final class Managed {
        public static void main(String[] arguments) throws Exception {
            try (VerbsArena arena = VerbsArena.ofShared()) {
                System.out.println(IpAddresses.text(Failed.open(arena).server().address()));
                while (System.in.read() >= 0) {
                    Thread.onSpinWait();
                }
            }
        }
    }

    /** An agent makes the MBean server, long after the node was opened. */
    @Test
    void otherProcessSeesWhichCallsHaveFailedAndWhy() throws Exception {
        Process process = ChildJvm.with("--enable-native-access=ALL-UNNAMED").startOnClassPath(Managed.class);
        try {
            String address = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
            VirtualMachine machine = VirtualMachine.attach(String.valueOf(process.pid()));
            try (JMXConnector agent =
                    JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent()))) {
                MBeanServerConnection server = agent.getMBeanServerConnection();
                NodeMXBean bean = bean(server, address);
                assertThat(bean.getStatistics())
                        .containsEntry("handlerFailures", 1L)
                        .containsEntry("served", 1L);
                assertThat(bean.getHandlerFailure()).isEqualTo("java.lang.IllegalArgumentException: of the test");
                assertThat(bean.getCallFailure())
                        .as("a node that has called nobody")
                        .isEmpty();
                CompositeData plain = (CompositeData) server.getAttribute(name(address), "HandlerLatency");
                assertThat(plain.get("count")).as("without our classes").isEqualTo(1L);
            } finally {
                machine.detach();
            }
            process.getOutputStream().close();
            assertThat(process.waitFor(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isZero();
        } finally {
            process.destroyForcibly();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void programWithoutTheModuleRuns(boolean onModulePath) {
        ChildJvm child = ChildJvm.with(
                "--limit-modules=jdk.jfr,jdk.net",
                "--enable-native-access=" + (onModulePath ? "dev.verbena" : "ALL-UNNAMED"));
        ChildJvm.Result ran =
                onModulePath ? child.runOnModulePath(LonelyNode.class) : child.runOnClassPath(LonelyNode.class);
        assertThat(ran.successfulOutput().strip()).isEqualTo("false 0");
    }

    @Test
    void recordingHasTheCountersOfEachNode() throws Exception {
        CompletableFuture<RecordedEvent> ofClient = new CompletableFuture<>();
        CompletableFuture<RecordedEvent> ofServer = new CompletableFuture<>();
        try (VerbsArena arena = VerbsArena.ofShared();
                RecordingStream recording = new RecordingStream()) {
            Failed nodes = Failed.open(arena); // before the recorder
            recording.enable("dev.verbena.NodeStatistics").withPeriod(Duration.ofMillis(20));
            recording.setReuse(false);
            String client = IpAddresses.text(nodes.client().address());
            String server = IpAddresses.text(nodes.server().address());
            recording.onEvent("dev.verbena.NodeStatistics", event -> {
                String node = event.getString("node");
                if (node.equals(client)) {
                    ofClient.complete(event);
                } else if (node.equals(server)) {
                    ofServer.complete(event);
                }
            });
            recording.startAsync();
            RecordedEvent calling = ofClient.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
            RecordedEvent serving = ofServer.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
            assertThat(calling.getLong("calls")).isOne();
            assertThat(calling.getLong("faults")).isOne();
            assertThat(calling.getString("slowestChannel")).isEqualTo("to " + server);
            assertThat(calling.getString("mostStalledChannel")).isEmpty();
            Latency calls = nodes.client().latency();
            assertThat(calling.getDuration("callP99").toNanos()).isEqualTo(calls.p99Nanos());
            assertThat(serving.getLong("handlerFailures")).isOne();
            nodes.server()
                    .statistics()
                    .byName()
                    .forEach((counter, value) -> assertThat(serving.getLong(counter.replace("stalledNanos", "stalled")))
                            .as(counter)
                            .isEqualTo(value));
        }
    }

    /** Makes a call that fails. */
    private static void fail(Channel channel, int kind, Duration timeout) throws InterruptedException {
        Message request = channel.message(DEADLINE).length(1);
        request.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) kind);
        try (Message reply = channel.call(request, timeout)) {
            throw new AssertionError("the call has not failed: " + reply);
        } catch (CallException | VerbsTimeoutException expected) {
            // The recording has the reason.
        }
    }

    @Test
    void recordingSaysOfEachFailedCallWhereAndWhy() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        BlockingQueue<String> reasons = new LinkedBlockingQueue<>();
        String longText = "x".repeat(1000);
        try (VerbsArena arena = VerbsArena.ofShared();
                RecordingStream recording = new RecordingStream()) {
            Node server = Node.open(OWN, TCP, arena);
            server.listen((_, request) -> {
                switch (request.segment().get(ValueLayout.JAVA_BYTE, 0)) {
                    case 0 -> request.refuse("no such account");
                    case 1 -> throw new IllegalStateException("of the test");
                    case 2 -> request.close();
                    case 3 -> request.refuse(longText);
                    default -> end.await();
                }
            });
            Node client = Node.open(OWN, TCP, arena);
            Channel channel = client.connect(server.address(), DEADLINE);
            String peer = "to " + IpAddresses.text(server.address());
            recording.onEvent("dev.verbena.CallFailure", event -> {
                assertThat(event.getString("channel")).isEqualTo(peer);
                reasons.add(event.getString("reason"));
            });
            recording.startAsync();
            for (int kind = 0; kind < 4; kind++) {
                fail(channel, kind, DEADLINE);
            }
            fail(channel, 4, Duration.ofMillis(1));
            assertThat(client.statistics()).returns(4L, NodeStatistics::faults).returns(1L, NodeStatistics::abandoned);
            end.countDown();
            for (String reason : List.of(
                    "no such account",
                    "java.lang.IllegalStateException",
                    "The peer's program has closed the request without a reply",
                    "x".repeat(200) + " ...",
                    "Given up before the peer has answered")) {
                assertThat(reasons.poll(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEqualTo(reason);
            }
        }
    }
}

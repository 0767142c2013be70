package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.SecondDevice;
import dev.verbena.support.TestDevice;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * A machine with two devices has a node for each, until one device goes. A process of its own has the nodes, because librdmacm
 * keeps devices open till its end. {@link RemovedDeviceTest} has the provider for tests.
 */
@DeviceTest
class DeviceRemovalTest {
    private static final List<String> BEFORE = new ArrayList<>();
    private static final List<String> AFTER = new ArrayList<>();

    private static String one;
    private static String two;

    @BeforeAll
    static void runProgramAndRemoveDevice() throws Exception {
        try (SecondDevice second = SecondDevice.make()) {
            one = TestDevice.get().name();
            two = second.device().name();
            Process user = ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                    .startOnClassPath(
                            OnTwoDevices.class, CmAddress.four(0).getAddress().getHostAddress(), SecondDevice.ADDRESS);
            try (BufferedReader output = user.inputReader()) {
                take(output, BEFORE);
                Process removal = second.remove();
                take(output, AFTER);
                assertThat(user.waitFor(DEADLINE.toSeconds(), SECONDS)).isTrue();
                assertThat(user.exitValue()).isZero();
                assertThat(removal.waitFor(DEADLINE.toSeconds(), SECONDS)).isTrue();
            } finally {
                user.destroyForcibly();
            }
        }
    }

    /** Takes lines until one is empty. */
    private static void take(BufferedReader output, List<String> lines) throws IOException {
        for (String line = output.readLine(); line != null && !line.isEmpty(); line = output.readLine()) {
            lines.add(line);
        }
    }

    @Test
    void nodesOfEachDeviceTalkOverIt() {
        assertThat(BEFORE)
                .containsExactly(one + " to " + one, one + " to " + one, two + " to " + two, two + " to " + two);
    }

    @Test
    void removedDeviceEndsAllWaitsWithOneCauseAndAllowsClose() {
        assertThat(AFTER)
                .filteredOn(line -> line.startsWith("ended: "))
                .hasSize(5)
                .containsOnly("ended: DEVICE_REMOVED");
        assertThat(AFTER).endsWith("closed");
    }

    @Test
    void nodeOfTheOtherDeviceGoesOn() {
        assertThat(AFTER).contains(one + " to " + one);
    }

    /**
     * A program with a node at each of two addresses. Each node calls itself, and is called by a node that is opened towards
     * it. The program prints the device of the caller and the name that is answered. The two devices of the test guest have no
     * wire between them. Then the program waits for the end of the second device, and prints how its waits end.
     */
    static final class OnTwoDevices {
        public static void main(String[] addresses) throws Exception {
            try (VerbsArena arena = VerbsArena.ofShared();
                    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                List<Node> nodes = List.of(answering(addresses[0], arena), answering(addresses[1], arena));
                for (Node each : nodes) {
                    ask(each, each);
                    ask(Node.openTowards(each.address(), arena), each);
                }
                List<Future<?>> waits = waits(new InetSocketAddress(addresses[1], 0), arena, threads);
                System.out.println();
                for (Future<?> wait : waits) {
                    System.out.println("ended: " + endOf(wait));
                }
                ask(nodes.getFirst(), nodes.getFirst());
            }
            System.out.println("closed");
        }

        private static String device(Node node) {
            return node.context().device().name();
        }

        private static Node answering(String own, VerbsArena arena) {
            Node node = Node.open(new InetSocketAddress(own, 0), arena);
            String name = device(node);
            node.listen((channel, request) -> {
                Message reply = request.reply().length(64);
                reply.segment().setString(0, name);
                reply.send();
            });
            return node;
        }

        private static void ask(Node from, Node to) throws InterruptedException {
            try (Channel channel = from.connect(to.address(), Loopback.DEADLINE)) {
                Message request = channel.message(Loopback.DEADLINE).length(1);
                request.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) '?');
                try (Message reply = channel.call(request, Loopback.DEADLINE)) {
                    System.out.println(device(from) + " to " + reply.segment().getString(0));
                }
            }
        }

        private static List<Future<?>> waits(InetSocketAddress own, VerbsArena arena, ExecutorService threads)
                throws Exception {
            Node server = Node.open(own, NodeOptions.defaults().handshakeTimeout(Loopback.DEADLINE), arena);
            Node client = Node.open(own, arena);
            Future<Channel> accepted = threads.submit(() -> server.accept(Loopback.DEADLINE));
            Channel left = client.connect(server.address(), Loopback.DEADLINE);
            Channel right = accepted.get();
            Channel handled = client.connect(server.address(), Loopback.DEADLINE);
            CompletableFuture<String> told = new CompletableFuture<>();
            handled.listen(new Handler() {
                @Override
                public void received(Channel channel, Message message) {}

                @Override
                public void closed(Channel channel) {
                    told.complete(reason(channel.cause().orElseThrow()));
                }
            });
            server.accept(Loopback.DEADLINE);
            return List.of(
                    threads.submit(() -> left.receive(Loopback.DEADLINE)),
                    threads.submit(() -> right.receive(Loopback.DEADLINE)),
                    threads.submit(() -> server.accept(Loopback.DEADLINE)),
                    handled.callAsync(handled.message(Loopback.DEADLINE)), // whose other end nobody reads
                    told);
        }

        private static String reason(Throwable end) {
            return end instanceof ChannelException known ? known.reason().name() : end.toString();
        }

        private static String endOf(Future<?> wait) throws Exception {
            try {
                return String.valueOf(wait.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS));
            } catch (ExecutionException end) {
                return reason(end.getCause());
            }
        }
    }
}

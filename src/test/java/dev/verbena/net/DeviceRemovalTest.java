package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.SecondDevice;
import java.io.BufferedReader;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A device that goes while a process of its own has nodes on it: {@link RemovedDeviceTest} has the provider for tests. */
@DeviceTest
class DeviceRemovalTest {
    private static final int WAITS = 5;

    @Test
    void removedDeviceEndsAllWaitsWithOneCauseAndAllowsClose() throws Exception {
        try (SecondDevice second = SecondDevice.make()) {
            Process user = ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                    .startOnClassPath(OnRemovedDevice.class, SecondDevice.ADDRESS);
            try (BufferedReader output = user.inputReader()) {
                assertThat(output.readLine()).isEqualTo("connected");
                Process removal = second.remove();
                for (int i = 0; i < WAITS; i++) {
                    assertThat(output.readLine()).isEqualTo("ended: DEVICE_REMOVED");
                }
                assertThat(output.readLine()).isEqualTo("closed");
                assertThat(user.waitFor(DEADLINE.toSeconds(), SECONDS)).isTrue();
                assertThat(user.exitValue()).isZero();
                assertThat(removal.waitFor(DEADLINE.toSeconds(), SECONDS)).isTrue();
            } finally {
                user.destroyForcibly();
            }
        }
    }

    /** A program whose device is removed under two nodes: all waits end with that cause, and the nodes can be closed. */
    static final class OnRemovedDevice {
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

        public static void main(String[] arguments) throws Exception {
            InetSocketAddress own = new InetSocketAddress(arguments[0], 0);
            try (VerbsArena arena = VerbsArena.ofShared();
                    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
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
                List<Future<?>> waits = List.of(
                        threads.submit(() -> left.receive(Loopback.DEADLINE)),
                        threads.submit(() -> right.receive(Loopback.DEADLINE)),
                        threads.submit(() -> server.accept(Loopback.DEADLINE)),
                        handled.callAsync(handled.message(Loopback.DEADLINE)), // whose other end nobody reads
                        told);
                System.out.println("connected");
                for (Future<?> wait : waits) {
                    System.out.println("ended: " + endOf(wait));
                }
            }
            System.out.println("closed");
        }
    }
}

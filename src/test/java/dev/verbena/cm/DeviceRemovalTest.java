package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.SecondDevice;
import java.io.BufferedReader;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** A device that goes while a process of its own has connections on it: librdmacm keeps devices open till its end. */
@DeviceTest
class DeviceRemovalTest {
    @Test
    @Fault("cm-device-removed")
    void removedDeviceEndsWaitsAndAllowsClose() throws Exception {
        try (SecondDevice second = SecondDevice.make()) {
            Process user = ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                    .startOnClassPath(OnRemovedDevice.class, SecondDevice.ADDRESS);
            try (BufferedReader output = user.inputReader()) {
                assertThat(output.readLine()).isEqualTo("connected");
                Process removal = second.remove();
                assertThat(output.readLine()).isEqualTo("told");
                assertThat(output.readLine()).isEqualTo("ended: DEVICE_REMOVAL");
                assertThat(output.readLine()).isEqualTo("closed");
                assertThat(user.waitFor(DEADLINE.toSeconds(), SECONDS)).isTrue();
                assertThat(user.exitValue()).isZero();
                assertThat(removal.waitFor(DEADLINE.toSeconds(), SECONDS)).isTrue();
            } finally {
                user.destroyForcibly();
            }
        }
    }

    /** A program that removes the device of a connection: all waits end, and all objects can be closed. */
    static final class OnRemovedDevice {
        public static void main(String[] arguments) throws Exception {
            try (VerbsArena arena = VerbsArena.ofShared();
                    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                Listener listener = Listener.open(new InetSocketAddress(arguments[0], 0), arena);
                Future<Connection> accepted = threads.submit(() -> listener.accept(Loopback.DEADLINE));
                Connection client = Connection.open(listener.address(), Loopback.DEADLINE, arena);
                Connection server = accepted.get();
                Connection waiting = Connection.to(listener.address(), Loopback.DEADLINE, arena);
                Future<?> connecting = threads.submit(() -> {
                    waiting.connect(Loopback.DEADLINE);
                    return null;
                });
                listener.awaitConnection(Loopback.DEADLINE); // does not accept
                System.out.println("connected");
                for (Connection end : List.of(client, server)) {
                    CmEvent event = end.id().awaitEvent(Loopback.DEADLINE);
                    while (event.type() != CmEvent.Type.DEVICE_REMOVAL) {
                        event = end.id().awaitEvent(Loopback.DEADLINE);
                    }
                }
                System.out.println("told");
                try {
                    connecting.get();
                } catch (java.util.concurrent.ExecutionException e) {
                    System.out.println(
                            "ended: " + (e.getCause() instanceof ConnectionException ended ? ended.event() : e));
                }
            }
            System.out.println("closed");
        }
    }
}

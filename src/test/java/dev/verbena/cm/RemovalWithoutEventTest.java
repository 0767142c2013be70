package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.internal.ShortTicks;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.WorkCompletion;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waits of the connection manager when the device goes, whether or not the kernel reports an event of that. */
@FencedTest
@ExtendWith(ShortTicks.class)
class RemovalWithoutEventTest {
    private static final Duration FOR_EVER = ChronoUnit.FOREVER.getDuration();

    @TempDir
    private Path folder;

    private Path device;
    private AcceptingListener ends;

    @BeforeEach
    void open() throws Exception {
        device = Files.createDirectory(folder.resolve("uverbs0"));
        Fenced.devicePath(device.toString());
        ends = new AcceptingListener(FencedIds.OWN);
    }

    @AfterEach
    void close() {
        ends.close();
        Fenced.devicePath("");
    }

    private static void assertEndsWithRemoval(Future<?> wait) {
        assertThatThrownBy(() -> AcceptingListener.end(wait))
                .cause()
                .isInstanceOfSatisfying(
                        ConnectionException.class,
                        end -> assertThat(end.event()).isEqualTo(CmEvent.Type.DEVICE_REMOVAL));
    }

    @Test
    void removalEndsAwaitCompletion() throws Exception {
        AcceptingListener.Ends both = ends.connected();
        Future<WorkCompletion> client = ends.asleep(() -> both.client().awaitCompletion(FOR_EVER));
        Future<WorkCompletion> server = ends.asleep(() -> both.server().awaitCompletion(FOR_EVER));
        Files.delete(device);
        assertEndsWithRemoval(client);
        assertEndsWithRemoval(server);
        assertThat(both.client().isOpen()).isFalse();
    }

    @Test
    void removalEndsConnectionsThatNobodyWaitsFor() throws Exception {
        AcceptingListener.Ends both = ends.connected();
        Files.delete(device);
        Await.until(
                "the end of both",
                () -> !both.client().isOpen() && !both.server().isOpen());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void removalEndsConnectAndAwaitConnection(boolean reported) throws Exception {
        try (FencedIds ids = new FencedIds()) {
            ConnectionId listener = ids.listener(4);
            ConnectionId client = ids.client(ids.channel, listener);
            Future<?> connecting = ends.asleep(() -> client.connect(ConnectionParameters.defaults(), FOR_EVER));
            ConnectionId asked = listener.awaitRequest(DEADLINE).claim();
            Future<?> listening = ends.asleep(() -> listener.awaitRequest(FOR_EVER));
            if (reported) {
                Fenced.removeDevice(0);
            } else {
                Files.delete(device);
            }
            assertEndsWithRemoval(connecting);
            assertEndsWithRemoval(listening);
            assertThat(asked.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.DEVICE_REMOVAL);
        }
    }

    @Test
    void removalEndsAllWaitsForRequests() throws Exception {
        try (FencedIds ids = new FencedIds()) {
            ConnectionId listener = ids.listener(4);
            List<Future<?>> waits = List.of(
                    ends.asleep(() -> listener.awaitRequest(FOR_EVER)),
                    ends.asleep(() -> listener.awaitRequest(FOR_EVER)));
            Files.delete(device);
            waits.forEach(RemovalWithoutEventTest::assertEndsWithRemoval);
            assertThatThrownBy(() -> listener.awaitRequest(FOR_EVER)).isInstanceOf(ConnectionException.class);
        }
    }

    /** A driver that was loaded again gives its device the same name. */
    @Test
    void anotherDeviceOfTheSameNameDoesNotHideRemoval() throws Exception {
        AcceptingListener.Ends both = ends.connected();
        Future<WorkCompletion> client = ends.asleep(() -> both.client().awaitCompletion(FOR_EVER));
        Path other = Files.createDirectory(folder.resolve("other"));
        Files.delete(device);
        Files.move(other, device);
        assertEndsWithRemoval(client);
    }

    /** The kernel may report the removal as well, a moment later. */
    @Test
    void removalIsReportedOnce() throws Exception {
        AcceptingListener.Ends both = ends.connected();
        ConnectionId id = both.client().id();
        Files.delete(device);
        assertThat(afterBeginning(id)).isEqualTo(CmEvent.Type.DEVICE_REMOVAL);
        Fenced.removeDevice(0);
        id.beginDisconnect(); // its event comes after that
        assertThat(id.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.DISCONNECTED);
    }

    @Test
    void removalThatTheKernelReportedIsNotReportedAgain() throws Exception {
        AcceptingListener.Ends both = ends.connected();
        Fenced.removeDevice(0);
        assertThat(afterBeginning(both.client().id())).isEqualTo(CmEvent.Type.DEVICE_REMOVAL);
        try (AcceptingListener others = new AcceptingListener(FencedIds.OWN)) {
            AcceptingListener.Ends later = others.connected();
            Files.delete(device);
            assertThat(afterBeginning(later.client().id())).isEqualTo(CmEvent.Type.DEVICE_REMOVAL);
        }
        assertThat(both.client().id().pollEvent()).isNull(); // the same look at the device
    }

    /** Returns the type of the first event that is not of the handshake. */
    private static CmEvent.Type afterBeginning(ConnectionId id) throws InterruptedException {
        CmEvent.Type type = id.awaitEvent(DEADLINE).type();
        return type == CmEvent.Type.ESTABLISHED ? afterBeginning(id) : type;
    }

    /** Without sysfs, as in some containers, nothing is known of the device. */
    @Test
    void deviceWithoutFolderIsNotGone() throws Exception {
        AcceptingListener.Ends removed = ends.connected();
        Fenced.devicePath(folder.resolve("absent").toString());
        AcceptingListener.Ends others = ends.connected();
        Files.delete(device);
        Await.until("the end of the first", () -> !removed.client().isOpen());
        assertThat(others.client().isOpen()).isTrue();
    }
}

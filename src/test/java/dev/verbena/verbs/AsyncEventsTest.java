package dev.verbena.verbs;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Await;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.device.Port;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Events that a device raises. {@link EventsFromCTest} has the rules of waits and listeners. */
@DeviceTest
class AsyncEventsTest {
    private static final int WRITES = 40;

    private VerbsArena arena;
    private Context context;
    private ProtectionDomain domain;
    private MemoryRegion buffer;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofShared();
        context = TestDevice.get().open(arena);
        domain = context.allocateProtectionDomain();
        buffer = domain.register(arena.allocate(64, 64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private static void connect(QueuePair one, QueuePair other) {
        one.connect(other.endpoint());
        other.connect(one.endpoint());
    }

    /** A completion queue that lost completions, and how many. */
    private record Overrun(CompletionQueue queue, QueuePair pair, int lost) {}

    /** Makes more completions than a queue holds. */
    private Overrun overrun() throws Exception {
        CompletionQueue small = context.createCompletionQueue(4);
        QueuePair sender = domain.createQueuePair(QueuePair.rc(small).sendDepth(WRITES + 1));
        connect(sender, domain.createQueuePair(QueuePair.rc(context.createCompletionQueue(4))));
        buffer.segment().set(JAVA_LONG, 0, 0);
        buffer.segment().set(JAVA_LONG, 8, 1);
        // In one batch, because a post is refused once an event has told of the loss.
        SendBatch requests = sender.sendBatch(WRITES + 1);
        for (int i = 1; i <= WRITES; i++) {
            requests.write(i, buffer.slice(8, 8), buffer.slice(0, 8).remote());
        }
        // The last write was acknowledged, so all were, when one more round trip on the same queue pair has ended.
        MemoryRegion target = domain.register(arena.allocate(8, 8), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
        buffer.segment().set(JAVA_LONG, 16, 0);
        target.segment().set(JAVA_LONG, 0, 7);
        requests.read(WRITES + 1, buffer.slice(16, 8), target.slice(0, 8).remote());
        requests.post();
        Await.until("the last write's acknowledgement", () -> buffer.segment().get(JAVA_LONG, 16) == 7);
        int found = 0;
        Completions done = small.completions(64);
        try {
            for (int count; (count = done.poll()) > 0; ) {
                found += count;
            }
        } catch (VerbsException lost) {
            assertThat(lost).hasMessageContaining("some were lost"); // an event came before the last poll
        }
        return new Overrun(small, sender, WRITES + 1 - found);
    }

    private List<AsyncEvent> take(int times) throws Exception {
        List<AsyncEvent> events = new ArrayList<>();
        for (int told = 0; told < times; ) {
            AsyncEvent event = context.events().await(DEADLINE);
            events.add(event);
            told += event instanceof AsyncEvent.OfCompletionQueue of ? of.count() : 1;
        }
        return events;
    }

    @Test
    @Fault("overrun")
    void overrunEventNamesItsQueueAndCountsReports() throws Exception {
        Overrun overrun = overrun();
        assertThat(overrun.lost()).isPositive();
        List<AsyncEvent> events = take(overrun.lost());
        assertThat(events)
                .as("not one for each of the " + overrun.lost())
                .hasSizeLessThan(overrun.lost())
                .allSatisfy(event -> {
                    assertThat(event.type()).isEqualTo(AsyncEvent.Type.CQ_ERR);
                    assertThat(event.context()).isSameAs(context);
                    assertThat(((AsyncEvent.OfCompletionQueue) event).queue()).isSameAs(overrun.queue());
                });
        assertThat(context.events().poll()).isNull();
    }

    @Test
    void queueCloseSucceedsWithUnreadEvents() throws Exception {
        Overrun overrun = overrun();
        overrun.pair().close();
        overrun.queue().close();
        assertThat(context.events().poll())
                .as("an event of a queue that is gone")
                .isNull();
    }

    @Test
    @Fault("shared-limit")
    void limitEventNamesItsSharedReceiveQueue() throws Exception {
        SharedReceiveQueue shared =
                domain.createSharedReceiveQueue(SharedReceiveQueue.basic().depth(16));
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair sender = domain.createQueuePair(QueuePair.rc(queue));
        QueuePair receiver = domain.createQueuePair(QueuePair.rc(queue).sharedReceiveQueue(shared));
        connect(sender, receiver);
        for (int i = 0; i < 4; i++) {
            shared.postReceive(i, buffer.slice(0, 8));
        }
        shared.limit(3);
        sender.postSend(9, buffer.slice(8, 8));
        sender.postSend(10, buffer.slice(8, 8));
        assertThat(context.events().await(DEADLINE))
                .isEqualTo(new AsyncEvent.OfSharedReceiveQueue(
                        context, AsyncEvent.Type.SRQ_LIMIT_REACHED, AsyncEvent.Type.SRQ_LIMIT_REACHED.code(), shared));
    }

    /** Kernels 6.1 and 6.12 tell nothing, 7.2 tells the responder. */
    @Test
    @Fault("access-event")
    void wrongRemoteKeyRaisesTheRespondersAccessError() throws Exception {
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair sender = domain.createQueuePair(QueuePair.rc(queue));
        QueuePair receiver = domain.createQueuePair(QueuePair.rc(queue));
        connect(sender, receiver);
        RemoteMemory right = buffer.remote();
        sender.postWrite(1, buffer.slice(0, 8), new RemoteMemory(right.address(), right.key() ^ 0x5500, 8));
        assertThat(queue.await(DEADLINE).status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
        for (AsyncEvent told; (told = context.events().poll()) != null; ) {
            assertThat(told)
                    .isEqualTo(new AsyncEvent.OfQueuePair(
                            context, AsyncEvent.Type.QP_ACCESS_ERR, AsyncEvent.Type.QP_ACCESS_ERR.code(), receiver));
        }
    }

    @Test
    @Fault("link-down")
    void portEventsReportLinkDownAndUp() throws Exception {
        whileTheLinkIsDown(() -> {
            assertThat(portEvent(AsyncEvent.Type.PORT_ERR).port()).isEqualTo(1);
            assertThat(context.port(1).state()).isNotEqualTo(Port.State.ACTIVE);
        });
        assertThat(portEvent(AsyncEvent.Type.PORT_ACTIVE).port()).isEqualTo(1);
    }

    @Test
    @Fault("link-down-send")
    void sendFailsAtOnceWhileTheLinkIsDown() throws Exception {
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
        pair.connect(pair.endpoint());
        whileTheLinkIsDown(() -> {
            portEvent(AsyncEvent.Type.PORT_ERR);
            pair.postWrite(1, buffer.slice(0, 8), buffer.slice(8, 8).remote());
            WorkCompletion failed = queue.await(DEADLINE);
            assertThat(failed.id()).isEqualTo(1);
            assertThat(failed.status())
                    .isIn(
                            WorkStatus.LOCAL_QP_OPERATION_ERROR,
                            WorkStatus.WORK_REQUEST_FLUSHED,
                            WorkStatus.RETRY_EXCEEDED);
            assertThat(pair.state()).isEqualTo(QueuePairState.ERR);
        });
    }

    private interface Work {
        void run() throws Exception;
    }

    /** Does something while the link is down, and returns when the port is as it was. */
    private void whileTheLinkIsDown(Work work) throws Exception {
        GidEntry before = context.bestGid(1);
        String network = before.networkDevice();
        Assumptions.assumeTrue(
                network.equals("e0") && Files.isDirectory(Path.of("/sys/devices/virtual/net/e0")),
                "only the test guest's own network device is taken down, not " + network);
        try {
            run("ip", "link", "set", network, "down");
            work.run();
        } finally {
            run("ip", "link", "set", network, "up");
        }
        Await.until(
                "the port as it was",
                () -> context.port(1).state() == Port.State.ACTIVE
                        && context.gids().contains(before));
    }

    /** The next event of a type: the GID table may tell of changes as well. */
    private AsyncEvent.OfPort portEvent(AsyncEvent.Type type) throws Exception {
        for (; ; ) {
            AsyncEvent event = context.events().await(DEADLINE);
            assertThat(event).isInstanceOf(AsyncEvent.OfPort.class);
            if (event.type() == type) {
                return (AsyncEvent.OfPort) event;
            }
            assertThat(event.type()).isIn(AsyncEvent.Type.GID_CHANGE, AsyncEvent.Type.LID_CHANGE);
        }
    }

    private static void run(String... command) throws Exception {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
    }

    @Test
    void awaitGivesEachThreadAnEvent() throws Exception {
        OtherThread<AsyncEvent> first =
                OtherThread.start(() -> context.events().await(DEADLINE)).asleep();
        OtherThread<AsyncEvent> second =
                OtherThread.start(true, () -> context.events().await(DEADLINE)).asleep();
        overrun();
        overrun();
        assertThat(List.of(first.join(), second.join())).hasOnlyElementsOfType(AsyncEvent.OfCompletionQueue.class);
    }
}

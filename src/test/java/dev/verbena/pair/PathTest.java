package dev.verbena.pair;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Await;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.device.Mtu;
import java.net.InetAddress;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Ends that do not agree about the path between them. */
@PairTest
class PathTest {
    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    private static final int FEW = 20;

    private static Endpoint at(Endpoint real, Gid gid) {
        return new Endpoint(real.queuePairNumber(), real.packetSequenceNumber(), real.lid(), gid);
    }

    @Test
    void gidOfNoMachineIsRefused() throws Exception {
        Conversation peer = laboratory.start(PlainEnd.class);
        Endpoint real = PlainEnd.endpoint(peer.next());
        try (PlainEnd own = new PlainEnd()) {
            VerbsException refused = catchThrowableOfType(
                    VerbsException.class,
                    () -> own.pair.connect(at(real, Gid.of(InetAddress.getByName("192.0.2.77")))));
            assertThat(refused).hasMessageContaining("192.0.2.77");
            assertThat(refused.errnoName()).isIn("ETIMEDOUT", "EHOSTUNREACH", "EINVAL");
        }
        peer.end();
    }

    @Test
    void gidOfTheWrongMachineEndsWithExceededRetries() throws Exception {
        Conversation peer = laboratory.start(PlainEnd.class);
        Endpoint real = PlainEnd.endpoint(peer.next());
        try (PlainEnd own = new PlainEnd()) {
            Endpoint wrong = at(real, own.pair.endpoint().gid());
            own.pair.connect(new Endpoint(0xabcde, 0, 0, wrong.gid()));
            WorkCompletion failed = own.send(64);
            assertThat(failed.status()).isEqualTo(WorkStatus.RETRY_EXCEEDED);
            assertThat(failed.status().hint()).contains("GID");
        }
        peer.end();
    }

    @Test
    void ownGidOfAnotherNetworkIsRefusedOrEndsWithExceededRetries() throws Exception {
        Conversation peer = laboratory.start(PlainEnd.class);
        Endpoint real = PlainEnd.endpoint(peer.next());
        try (PlainEnd own = new PlainEnd(options -> options.gidIndex(0))) {
            assertThat(own.context.gid(1, 0).isIpv4Mapped()).isFalse();
            VerbsException refused = null;
            try {
                own.pair.connect(real);
            } catch (VerbsException e) {
                refused = e;
            }
            if (refused == null) {
                WorkCompletion failed = own.send(64);
                assertThat(failed.status()).isEqualTo(WorkStatus.RETRY_EXCEEDED);
                assertThat(failed.status().hint()).contains("GID");
            } else {
                assertThat(refused).hasMessageContaining("GID");
            }
        }
        peer.end();
    }

    /** Adapters may refuse packets of another size. soft-RoCE takes them. */
    private void arriveWholeOrFail(Mtu here, Mtu there, boolean weSend) throws Exception {
        Conversation peer = laboratory.start(PlainEnd.class);
        Endpoint real = PlainEnd.endpoint(peer.next());
        try (PlainEnd own = new PlainEnd()) {
            own.pair.connect(real, QueuePairAttributes.none().pathMtu(here));
            own.pair.postReceive(1, own.buffer);
            peer.ask("connect " + PlainEnd.text(own.pair.endpoint()) + " " + there);
            String status = weSend ? own.send(4000).status().name() : peer.ask("send 4000");
            if (status.equals("SUCCESS")) {
                long right = weSend ? Long.parseLong(peer.ask("receive")) : own.receive();
                assertThat(right).isEqualTo(4000);
            } else {
                assertThat(status).isIn("REMOTE_INVALID_REQUEST_ERROR", "REMOTE_OPERATION_ERROR", "RETRY_EXCEEDED");
            }
        }
        peer.end();
    }

    /** The peer may drop packets that are larger than the MTU of its interface. */
    @Test
    void packetsLargerThanThePeersInterfaceMtuArriveWholeOrFail() throws Exception {
        Laboratory.run("ip", "link", "set", "e0", "mtu", "9000");
        try {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = TestDevice.get().open(arena);
                Await.until("the larger MTU", () -> context.port(1).activeMtu() == Mtu.BYTES_4096);
            }
            arriveWholeOrFail(Mtu.BYTES_4096, Mtu.BYTES_1024, true);
            arriveWholeOrFail(Mtu.BYTES_4096, Mtu.BYTES_1024, false);
            connectionDeliversOrFails();
        } finally {
            Laboratory.run("ip", "link", "set", "e0", "mtu", "1500");
        }
    }

    private void connectionDeliversOrFails() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        try (Sender sender = new Sender(receiver, Laboratory.SOON)) {
            Optional<WorkCompletion> failed = sender.send(FEW);
            failed.ifPresent(completion -> assertThat(completion.status())
                    .isIn(WorkStatus.RETRY_EXCEEDED, WorkStatus.REMOTE_INVALID_REQUEST_ERROR));
            System.out.println("a connection with a larger MTU: " + failed);
            Await.until(
                    "what was acknowledged", () -> Receiver.Report.of(receiver).received() >= sender.acknowledged());
        }
        assertThat(Receiver.Report.of(receiver).wrong()).isZero();
        receiver.end();
    }

    @Test
    void packetsLargerThanThePeersPathMtuArriveWholeOrFail() throws Exception {
        arriveWholeOrFail(Mtu.BYTES_1024, Mtu.BYTES_256, true);
    }

    @Test
    void packetsSmallerThanThePeersPathMtuArriveWholeOrFail() throws Exception {
        arriveWholeOrFail(Mtu.BYTES_1024, Mtu.BYTES_256, false);
    }
}

package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Listener;
import dev.verbena.support.Await;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Faults of the other machine. The last test leaves it without power, so that it needs to boot only once. */
@PairTest
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class PeerTest {
    private static final int FEW = 20;
    private static final Duration SHORT = Duration.ofSeconds(2);

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    private static Receiver.Report report(Conversation receiver) {
        try {
            return Receiver.Report.of(receiver);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private void exchange() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        try (Sender sender = new Sender(receiver, Laboratory.PATIENT)) {
            assertThat(sender.send(FEW)).isEmpty();
        }
        receiver.end();
    }

    @Test
    @Order(1)
    void briefFreezeLosesNoMessage() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        try (Sender sender = new Sender(receiver, null)) {
            assertThat(sender.send(FEW)).isEmpty();
            laboratory.request("freeze b 3");
            assertThat(sender.send(FEW)).isEmpty();
            Await.until("the last message", () -> report(receiver).equals(new Receiver.Report(2 * FEW, 0)));
        }
        receiver.end();
    }

    @Test
    @Order(2)
    void longFreezeEndsWithExceededRetries() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        try (Sender sender = new Sender(receiver, Laboratory.SOON)) {
            assertThat(sender.send(FEW)).isEmpty();
            laboratory.request("freeze b");
            WorkCompletion failed = sender.send(FEW).orElseThrow();
            assertThat(failed.status()).isEqualTo(WorkStatus.RETRY_EXCEEDED);
            assertThat(sender.connection.queuePair().state()).isEqualTo(QueuePairState.ERR);
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                assertThatThrownBy(() -> Connection.open(Laboratory.peer(7471), SHORT, arena))
                        .isInstanceOf(VerbsTimeoutException.class);
            }
            laboratory.request("thaw b");
            Await.until("what was acknowledged", () -> report(receiver).received() >= sender.acknowledged());
            assertThat(report(receiver).wrong()).isZero();
        }
        receiver.end();
        exchange();
    }

    @Test
    @Order(3)
    void killedProcessEndsTheConnection() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Listener listener = Listener.open(Laboratory.own(0), arena);
            Conversation peer = laboratory.start(KilledProcess.class);
            peer.say("rping -c -a " + Laboratory.own(0).getAddress().getHostAddress() + " -p "
                    + listener.address().getPort());
            Connection connection = listener.awaitConnection(DEADLINE);
            MemoryRegion buffer = connection.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            connection.queuePair().postReceive(1, buffer.slice(0, 16));
            connection.queuePair().postReceive(2, buffer.slice(16, 16));
            connection.accept(DEADLINE);
            connection.awaitCompletion(DEADLINE).orThrow();
            peer.ask("now");
            ConnectionException ended =
                    catchThrowableOfType(ConnectionException.class, () -> connection.awaitCompletion(DEADLINE));
            assertThat(ended.event()).isEqualTo(CmEvent.Type.DISCONNECTED);
            assertThat(ended).hasMessageContaining("process has ended");
            assertThat(connection.isOpen()).isFalse();
            peer.end();
        }
    }

    /** The new guest's first queue pair has the number of the old guest's first one, to which ours is connected. */
    @Test
    @Order(4)
    void rebootedPeerEndsOldConnectionsAndTakesNewOnes() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Listener listener = Listener.open(Laboratory.own(0), arena);
            Conversation receiver = laboratory.start(Receiver.class);
            try (Sender sender = new Sender(receiver, Laboratory.SOON)) {
                Conversation client = laboratory.start(Client.class);
                client.say("" + listener.address().getPort());
                Connection accepted = connect(listener, client);
                assertThat(sender.send(FEW)).isEmpty();
                Await.until("the last message", () -> report(receiver).equals(new Receiver.Report(FEW, 0)));
                laboratory.reboot();
                Conversation again = laboratory.start(Client.class); // waits for the guest

                // Nothing has told us of the end.
                assertThat(sender.connection.isOpen()).isTrue();
                WorkCompletion failed = sender.send(FEW).orElseThrow();
                assertThat(failed.status()).isEqualTo(WorkStatus.RETRY_EXCEEDED);

                again.say("" + listener.address().getPort());
                Connection renewed = connect(listener, again);
                assertThat(renewed.isOpen()).isTrue();
                accepted.close();
                assertThat(renewed.isOpen()).isTrue();
                renewed.close();
                again.end();
            }
        }
        exchange();
    }

    /** Lets a client connect, again if the machines remember another connection of the same number. */
    private static Connection connect(Listener listener, Conversation client) throws Exception {
        for (int tries = 0; tries < 5; tries++) {
            CompletableFuture<Connection> accepted = CompletableFuture.supplyAsync(() -> {
                try {
                    return listener.accept(DEADLINE);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            String result = client.ask("connect");
            System.out.println("a client of the other guest: " + result);
            if (result.startsWith("connected")) {
                return accepted.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
            }
            assertThat(result).startsWith("failed REJECTED 10 ").contains("still connected");
        }
        throw new AssertionError("the client does not get in");
    }

    @Test
    @Order(5)
    void killedMachineEndsWithExceededRetries() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        try (Sender sender = new Sender(receiver, Laboratory.SOON)) {
            assertThat(sender.send(FEW)).isEmpty();
            laboratory.cutPower();
            WorkCompletion failed = sender.send(FEW).orElseThrow();
            assertThat(failed.status()).isEqualTo(WorkStatus.RETRY_EXCEEDED);
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                assertThatThrownBy(() -> Connection.open(Laboratory.peer(7471), SHORT, arena))
                        .isInstanceOf(VerbsTimeoutException.class)
                        .hasMessageContaining("rdma_connect");
            }
        }
    }
}

package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.net.Inet6Address;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Faults of the wire. */
@PairTest
class LinkTest {
    private static final int MANY = 300;
    private static final int FEW = 20;

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    /** Sends messages over a new connection, all of which must arrive. */
    private void exchange(int count) throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        try (Sender sender = new Sender(receiver, Laboratory.PATIENT)) {
            assertThat(sender.send(count)).isEmpty();
            Await.until("the last message", () -> received(receiver) == count);
        }
        receiver.end();
    }

    private static int received(Conversation receiver) {
        try {
            Receiver.Report report = Receiver.Report.of(receiver);
            assertThat(report.wrong()).as("messages that arrived wrong").isZero();
            return report.received();
        } catch (java.io.IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void awaitAcknowledged(Conversation receiver, Sender sender) {
        Await.until("what was acknowledged", () -> received(receiver) >= sender.acknowledged());
    }

    /** Returns the packets that the wire has lost of this guest. */
    static long lostHere() throws Exception {
        String text = Laboratory.run("tc", "-s", "qdisc", "show", "dev", "e0");
        return Long.parseLong(text.replaceAll("(?s).*\\(dropped (\\d+),.*", "$1"));
    }

    private void losesNothing(int percent) throws Exception {
        laboratory.request("wire netem limit 100000 loss " + percent + "%");
        exchange(MANY);
        assertThat(lostHere()).as("packets that were lost").isPositive();
    }

    @Test
    void lossOfOnePercentLosesNoMessage() throws Exception {
        losesNothing(1);
    }

    @Test
    void lossOfOnePercentLosesNoMessageOverIpv6() throws Exception {
        laboratory.request("wire netem limit 100000 loss 1%");
        Conversation receiver = laboratory.start(Receiver.Six.class);
        try (Sender sender = new Sender(Laboratory.peerSix(Integer.parseInt(receiver.next())), Laboratory.PATIENT)) {
            assertThat(sender.connection.peer().orElseThrow().getAddress()).isInstanceOf(Inet6Address.class);
            assertThat(sender.send(MANY)).isEmpty();
            Await.until("the last message", () -> received(receiver) == MANY);
        }
        receiver.end();
        assertThat(lostHere()).as("packets that were lost").isPositive();
    }

    @Test
    void lossOfFivePercentLosesNoMessage() throws Exception {
        losesNothing(5);
    }

    @Test
    void duplicatedPacketsDuplicateNoMessage() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        laboratory.request("wire netem limit 100000 duplicate 5%");
        try (Sender sender = new Sender(receiver, Laboratory.PATIENT)) {
            assertThat(sender.send(MANY)).isEmpty();
            Await.until("the last message", () -> received(receiver) == MANY);
        }
        assertThat(Long.parseLong(receiver.ask("counter duplicate_request"))).isPositive();
        receiver.end();
    }

    @Test
    void reorderedPacketsReorderNoMessage() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        laboratory.request("wire netem limit 100000 delay 5ms reorder 5%");
        try (Sender sender = new Sender(receiver, Laboratory.PATIENT)) {
            assertThat(sender.send(MANY)).isEmpty();
            Await.until("the last message", () -> received(receiver) == MANY);
        }
        assertThat(Long.parseLong(receiver.ask("counter out_of_seq_request"))).isPositive();
        receiver.end();
    }

    @Test
    void shortCutLosesNoMessage() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        try (Sender sender = new Sender(receiver, null)) {
            assertThat(sender.send(FEW)).isEmpty();
            laboratory.request("wire netem limit 100000 loss 100%");
            CompletableFuture<Optional<WorkCompletion>> sending = CompletableFuture.supplyAsync(() -> {
                try {
                    return sender.send(FEW);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            long before = lostHere();
            Await.until("a lost packet", () -> lostHere() > before);
            assertThat(sending).isNotDone();
            laboratory.request("wire clear");
            assertThat(sending.get(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEmpty();
            Await.until("the last message", () -> received(receiver) == 2 * FEW);
        }
        receiver.end();
    }

    @Test
    void longCutEndsWithExceededRetries() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        try (Sender sender = new Sender(receiver, Laboratory.SOON)) {
            assertThat(sender.send(FEW)).isEmpty();
            laboratory.request("wire netem limit 100000 loss 100%");
            WorkCompletion failed = sender.send(FEW).orElseThrow();
            assertThat(failed.status()).isEqualTo(WorkStatus.RETRY_EXCEEDED);
            assertThat(failed.status().hint()).contains("network");
            laboratory.request("wire clear");
            awaitAcknowledged(receiver, sender);
        }
        receiver.end();
        exchange(FEW);
    }

    @Test
    void linkWithoutCarrierIsReportedAndFailsSends() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        try (Sender sender = new Sender(receiver, Laboratory.SOON)) {
            assertThat(sender.send(FEW)).isEmpty();
            AsyncEvents events = sender.connection.completionQueue().context().events();
            laboratory.request("wire down");
            assertThat(events.await(DEADLINE).type()).isEqualTo(AsyncEvent.Type.PORT_ERR);
            WorkCompletion failed = sender.send(FEW).orElseThrow();
            assertThat(failed.status())
                    .isIn(
                            WorkStatus.LOCAL_QP_OPERATION_ERROR,
                            WorkStatus.WORK_REQUEST_FLUSHED,
                            WorkStatus.RETRY_EXCEEDED);
            assertThat(failed.status().hint()).isNotEmpty();
            laboratory.request("wire up");
            assertThat(events.await(DEADLINE).type()).isEqualTo(AsyncEvent.Type.PORT_ACTIVE);
            awaitAcknowledged(receiver, sender);
        }
        receiver.end();
        exchange(FEW);
    }
}

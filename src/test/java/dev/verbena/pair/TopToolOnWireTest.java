package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.verbs.WorkCompletion;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Operators watch this: {@code verbena top} names the side and the cause of trouble while it happens. */
@PairTest
class TopToolOnWireTest {
    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    /** Sends until it is over, or a send has failed. */
    private static CompletableFuture<Optional<WorkCompletion>> send(Sender sender, BooleanSupplier isOver, int count) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                Optional<WorkCompletion> failed = Optional.empty();
                while (!isOver.getAsBoolean() && failed.isEmpty()) {
                    failed = sender.send(count);
                }
                return failed;
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void packetsToThePeerAreLost() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        AtomicBoolean seen = new AtomicBoolean();
        try (Sender sender = new Sender(receiver, Laboratory.PATIENT);
                TopScreen screen = new TopScreen()) {
            CompletableFuture<Optional<WorkCompletion>> sending = send(sender, seen::get, 1);
            laboratory.request("wire netem limit 100000 loss 20%");
            screen.awaitTrouble(
                    "completer_retry_err", "HURTS  packets to the peer, or its answers, were lost or late: ");
            seen.set(true);
            assertThat(sending.get(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEmpty();
            assertThat(screen.text()).doesNotContain("had no receive for a message");
        }
        receiver.end();
    }

    /** The receiver posts nothing. The end that waits for it and the receiver itself are told apart. */
    @Test
    void receiverPostsNoReceive() throws Exception {
        Conversation receiver = laboratory.start(ReluctantReceiver.class);
        try (Sender sender = new Sender(receiver, Laboratory.PATIENT);
                TopScreen screen = new TopScreen()) {
            AtomicBoolean once = new AtomicBoolean();
            CompletableFuture<Optional<WorkCompletion>> sending =
                    send(sender, () -> once.getAndSet(true), Messages.COUNT);
            screen.awaitTrouble("rcvd_rnr_err", "HURTS  the peer had no receive for a message: ");
            assertThat(receiver.ask("HURTS  this side had no receive for a message: "))
                    .isEqualTo("shown");
            assertThat(sending).isNotDone();
            receiver.say(ReluctantReceiver.RECEIVE);
            assertThat(sending.get(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEmpty();
        }
        receiver.end();
    }
}

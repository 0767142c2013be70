package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.tools.ToolRun;
import dev.verbena.verbs.WorkCompletion;
import java.io.IOException;
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

    private static String look() {
        return ToolRun.of("top", "--once", "rxe0").out();
    }

    /** Waits for a look with a text, and prints how long it took, which nothing depends on. */
    private static void awaitLook(String what, BooleanSupplier hasText) {
        long begin = System.nanoTime();
        Await.until(what, hasText);
        System.out.printf("%s: seen after %.1f s%n", what, (System.nanoTime() - begin) / 1e9);
    }

    @Test
    void packetsToThePeerAreLost() throws Exception {
        Conversation receiver = laboratory.start(Receiver.class);
        AtomicBoolean seen = new AtomicBoolean();
        try (Sender sender = new Sender(receiver, Laboratory.PATIENT)) {
            CompletableFuture<Optional<WorkCompletion>> sending = send(sender, seen::get, 1);
            look(); // loads the classes
            laboratory.request("wire netem limit 100000 loss 20%");
            awaitLook("loss, at the sender", () -> {
                String shown = look();
                assertThat(shown).doesNotContain("had no receive for a message");
                return shown.contains("HURTS  packets to the peer, or its answers, were lost or late: ");
            });
            seen.set(true);
            assertThat(sending.get(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEmpty();
        }
        receiver.end();
    }

    /** The receiver posts nothing. The end that waits for it and the receiver itself are told apart. */
    @Test
    void receiverPostsNoReceive() throws Exception {
        Conversation receiver = laboratory.start(ReluctantReceiver.class);
        look();
        try (Sender sender = new Sender(receiver, Laboratory.PATIENT)) {
            AtomicBoolean once = new AtomicBoolean();
            CompletableFuture<Optional<WorkCompletion>> sending =
                    send(sender, () -> once.getAndSet(true), Messages.COUNT);
            awaitLook(
                    "slow receiver, at the sender",
                    () -> look().contains("HURTS  the peer had no receive for a message: "));
            awaitLook("slow receiver, at the receiver", () -> {
                try {
                    return receiver.ask(ReluctantReceiver.LOOK)
                            .contains("HURTS  this side had no receive for a message: ");
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            assertThat(sending).isNotDone();
            receiver.say(ReluctantReceiver.RECEIVE);
            assertThat(sending.get(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEmpty();
        }
        receiver.end();
    }
}

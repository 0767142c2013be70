package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The proof of credits, on a model: two sides send, receive and close messages at random, and no message ever arrives where
 * no receive is posted.
 */
class CreditsTest {
    private static final int STEPS = 20_000;

    /** A message under way: the credits that it grants, and whether it is of the program. */
    private record Sent(int credits, boolean data) {}

    /** One side of the model. */
    private static final class Side {
        final Credits credits;
        final Deque<Sent> toMe = new ArrayDeque<>();
        int posted;
        int held;

        Side(int window) {
            credits = new Credits(window);
            posted = window + Credits.RESERVED_GRANTS;
        }

        void send(Side peer) {
            if (credits.available() > 0) {
                int granted = credits.grant();
                credits.take();
                peer.arrive(new Sent(granted, true));
            }
        }

        void arrive(Sent message) {
            assertThat(posted).as("receives that are posted").isPositive();
            posted--; // the adapter takes it at once; the program may see the message much later
            toMe.add(message);
        }

        void see() {
            Sent message = toMe.poll();
            if (message == null) {
                return;
            }
            if (message.data()) {
                assertThat(credits.received()).isTrue();
                held++;
            } else {
                posted++; // before the credits are used
            }
            assertThat(credits.add(message.credits())).isTrue();
        }

        void close(Side peer) {
            if (held > 0) {
                held--;
                posted++;
                credits.posted();
                if (credits.owesHalf()) {
                    peer.arrive(new Sent(credits.grant(), false));
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 8, 31})
    void messagesNeverOutnumberReceives(int window) {
        for (int other = 1; other <= 5; other++) {
            Random random = new Random(window * 100L + other);
            Side left = new Side(window);
            Side right = new Side(other);
            left.credits.begin(other);
            right.credits.begin(window);
            int sent = 0;
            for (int i = 0; i < STEPS; i++) {
                boolean swap = random.nextBoolean();
                Side one = swap ? right : left;
                Side two = swap ? left : right;
                switch (random.nextInt(random.nextInt(8) == 0 ? 1 : 3)) {
                    case 0 -> one.send(two);
                    case 1 -> one.see();
                    default -> one.close(two);
                }
                sent++;
            }
            assertThat(sent).isEqualTo(STEPS);
        }
    }

    /** After all messages were closed, each side can send again: no credit gets lost. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7})
    void creditsAreNeverLost(int window) {
        Side left = new Side(window);
        Side right = new Side(window);
        left.credits.begin(window);
        right.credits.begin(window);
        for (int i = 0; i < 10 * window; i++) {
            while (left.credits.available() == 0) {
                while (!right.toMe.isEmpty()) {
                    right.see();
                }
                while (right.held > 0) {
                    right.close(left);
                }
                left.see();
            }
            left.send(right);
        }
        assertThat(left.credits.available()).isNotNegative();
    }

    @Test
    void creditsCountBothDirections() {
        Credits credits = new Credits(4);
        assertThat(credits.available()).isZero();
        credits.begin(3);
        assertThat(credits.available()).isEqualTo(3);
        credits.take();
        assertThat(credits.available()).isEqualTo(2);
        credits.takeBack();
        assertThat(credits.available()).isEqualTo(3);
        credits.take();
        assertThat(credits.add(1)).isTrue();
        assertThat(credits.available()).isEqualTo(3);
        assertThat(credits.add(1)).isFalse();
        for (int i = 0; i < 4; i++) {
            assertThat(credits.received()).isTrue();
        }
        assertThat(credits.received()).isFalse();
    }

    @Test
    void grantsThatWereNotSentAreOwedAgain() {
        Credits credits = new Credits(3);
        credits.posted();
        assertThat(credits.owesHalf()).isFalse();
        credits.posted();
        assertThat(credits.owesHalf()).isTrue();
        assertThat(credits.grant()).isEqualTo(2);
        assertThat(credits.owesHalf()).isFalse();
        assertThat(credits.grant()).isZero();
        credits.takeBackGrant(2);
        assertThat(credits.owesHalf()).isTrue();
        for (int i = 0; i < 3; i++) {
            assertThat(credits.received()).isTrue();
        }
        assertThat(credits.received()).as("the grant was taken back").isFalse();
        assertThat(credits.grant()).isEqualTo(2);
        assertThat(credits.received()).isTrue();
        assertThat(credits.received()).isFalse();
    }
}

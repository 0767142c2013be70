package dev.verbena.internal.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The proof of credits, on a model: two sides send, receive and close messages at random, and no message ever arrives where
 * no receive is posted.
 */
class TotalsTest {
    private static final int STEPS = 20_000;

    /** One side of the model. */
    private static final class Side {
        final Totals totals;
        final Deque<MemorySegment> toMe = new ArrayDeque<>();
        int posted;
        int held;

        Side(int window) {
            totals = new Totals(window);
            posted = window + Totals.RESERVED_GRANTS;
        }

        void send(Side peer) {
            if (totals.available() > 0) {
                totals.take();
                peer.arrive(message(totals, Wire.DATA));
            }
        }

        void arrive(MemorySegment message) {
            assertThat(posted).as("receives that are posted").isPositive();
            posted--; // the adapter takes it at once; the program may see the message much later
            toMe.add(message);
        }

        void see() {
            MemorySegment message = toMe.poll();
            if (message == null) {
                return;
            }
            if (Wire.kind(message) == Wire.DATA) {
                assertThat(totals.takenByPeer()).isTrue();
                held++;
            } else {
                posted++; // before the credits are used
            }
            assertThat(totals.read(message, Wire.kind(message))).isNull();
        }

        void close(Side peer) {
            if (held > 0) {
                held--;
                posted++;
                totals.posted();
                if (totals.owesHalf()) {
                    peer.arrive(message(totals, Wire.GRANT));
                }
            }
        }
    }

    private static MemorySegment message(Totals of, int kind) {
        MemorySegment message = MemorySegment.ofArray(new byte[Wire.HEADER_BYTES]);
        of.write(message, kind, 0);
        return message;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 8, 31})
    void messagesNeverOutnumberReceives(int window) {
        for (int other = 1; other <= 5; other++) {
            Random random = new Random(window * 100L + other);
            Side left = new Side(window);
            Side right = new Side(other);
            left.totals.begin(other);
            right.totals.begin(window);
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
        left.totals.begin(window);
        right.totals.begin(window);
        for (int i = 0; i < 10 * window; i++) {
            while (left.totals.available() == 0) {
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
        assertThat(left.totals.available()).isNotNegative();
    }

    /** Returns a header of a peer. */
    private static MemorySegment header(int granted, int sequence, int received) {
        MemorySegment message = MemorySegment.ofArray(new byte[Wire.HEADER_BYTES]);
        Wire.writeHeader(message, Wire.DATA, 0, granted, sequence, received);
        return message;
    }

    @Test
    void creditsCountBothDirections() {
        Totals totals = new Totals(4);
        assertThat(totals.available()).isZero();
        totals.begin(3);
        assertThat(totals.available()).isEqualTo(3);
        totals.take();
        assertThat(totals.available()).isEqualTo(2);
        totals.takeBack();
        assertThat(totals.available()).isEqualTo(3);
        totals.take();
        assertThat(totals.read(header(1, 1, 0), Wire.DATA)).isNull();
        assertThat(totals.available()).isEqualTo(3);
        assertThat(totals.read(header(2, 2, 0), Wire.DATA)).contains("more credits than its window has");
        for (int i = 0; i < 4; i++) {
            assertThat(totals.takenByPeer()).isTrue();
        }
        assertThat(totals.takenByPeer()).isFalse();
    }

    private static Totals afterTwoMessagesOfEachSide() {
        Totals totals = new Totals(4);
        totals.begin(4);
        for (int i = 1; i <= 2; i++) {
            totals.take();
            message(totals, Wire.DATA);
        }
        for (int i = 1; i <= 2; i++) {
            assertThat(totals.read(header(1, i, 1), Wire.DATA)).isNull();
        }
        return totals;
    }

    @ParameterizedTest
    @CsvSource({
        "0, 3, 1, It granted more credits than its window has",
        "3, 3, 1, It granted more credits than its window has",
        "1, 2, 1, Message 2 came in place of 3",
        "1, 4, 1, Message 4 came in place of 3",
        "1, 3, 0, It has received 0 messages of 2",
        "1, 3, 3, It has received 3 messages of 2",
        "1, 3, -1, It has received 4294967295 messages of 2"
    })
    void liesAreNamedAndChangeNothing(int granted, int sequence, int received, String complaint) {
        Totals totals = afterTwoMessagesOfEachSide();
        String before = totals.toString();
        assertThat(before).isEqualTo("granted 1 of 2, sent 2, 1 received, received 2");
        assertThat(totals.read(header(granted, sequence, received), Wire.DATA)).isEqualTo(complaint);
        assertThat(totals).hasToString(before);
        assertThat(totals.read(header(2, 3, 2), Wire.DATA)).isNull();
    }

    @ParameterizedTest
    @CsvSource({"0, 2, 1", "3, 2, 1", "1, 1, 1", "1, 2, 0", "1, 2, 3"})
    void liesOfAPeerThatGoesOnAreNamedAndChangeNothing(int granted, int sent, int received) {
        Totals totals = afterTwoMessagesOfEachSide();
        String before = totals.toString();
        Totals.Said lie = new Totals.Said(granted, sent, received);
        assertThat(totals.resume(lie)).isEqualTo("It goes on after " + lie + ", and this side has " + before);
        assertThat(totals).hasToString(before);
        assertThat(totals.resume(new Totals.Said(2, 3, 2))).isNull();
        assertThat(totals).hasToString("granted 2 of 2, sent 2, 2 received, received 2");
    }

    @Test
    void grantsThatWereNotSentAreOwedAgain() {
        Totals totals = new Totals(3);
        totals.posted();
        assertThat(totals.owesHalf()).isFalse();
        totals.posted();
        assertThat(totals.owesHalf()).isTrue();
        int before = totals.granted();
        assertThat(Wire.granted(message(totals, Wire.DATA))).isEqualTo(2);
        assertThat(totals.owesHalf()).isFalse();
        totals.unwrite(before);
        assertThat(totals.owesHalf()).isTrue();
        for (int i = 0; i < 3; i++) {
            assertThat(totals.takenByPeer()).isTrue();
        }
        assertThat(totals.takenByPeer()).as("the grant was taken back").isFalse();
        MemorySegment again = message(totals, Wire.DATA);
        assertThat(Wire.granted(again)).isEqualTo(2);
        assertThat(Wire.sequence(again)).isEqualTo(1);
        assertThat(totals.takenByPeer()).isTrue();
        assertThat(totals.takenByPeer()).isFalse();

        totals.posted();
        int known = totals.granted();
        message(totals, Wire.DATA);
        totals.unwrite(known);
        assertThat(totals.owesHalf()).as("one grant of three is owed").isFalse();
    }

    /** Only differences count, so that a connection has no last message. */
    @Test
    void totalsBeginAgainAfterFourBillion() {
        Totals mine = new Totals(2);
        Totals peers = new Totals(2);
        mine.begin(2);
        peers.begin(2);
        start(mine);
        start(peers);
        for (int i = 0; i < 10; i++) {
            mine.take();
            MemorySegment message = message(mine, Wire.DATA);
            assertThat(peers.read(message, Wire.DATA)).isNull();
            assertThat(peers.takenByPeer()).isTrue();
            peers.posted();
            assertThat(mine.read(message(peers, Wire.GRANT), Wire.GRANT)).isNull();
            assertThat(mine.available()).isEqualTo(2);
        }
        assertThat(Wire.sequence(message(mine, Wire.DATA))).isBetween(0, 10);
    }

    /** Lets all numbers be near their end, as after billions of messages. */
    private static void start(Totals totals) {
        for (Field field : Totals.class.getDeclaredFields()) {
            if (field.getType() == int.class
                    && !Modifier.isFinal(field.getModifiers())
                    && !field.getName().equals("peerWindow")) {
                try {
                    field.setAccessible(true);
                    field.setInt(totals, -5);
                } catch (IllegalAccessException impossible) {
                    throw new AssertionError(impossible);
                }
            }
        }
    }
}

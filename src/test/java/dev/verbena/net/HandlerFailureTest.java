package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Recorded;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import jdk.jfr.consumer.RecordedEvent;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An exception of a handler leaves a trace on its own side, and tells the peer no more than is safe. */
@FencedTest
@Timeout(120)
class HandlerFailureTest {
    private static final byte[] SECRET = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    /** Throws, and notes what it is told of that. */
    private static class Failing implements Handler {
        final ConcurrentLinkedQueue<Throwable> told = new ConcurrentLinkedQueue<>();
        final ConcurrentLinkedQueue<Channel> channels = new ConcurrentLinkedQueue<>();
        final Exception thrown;

        Failing(Exception thrown) {
            this.thrown = thrown;
        }

        @Override
        public void received(Channel channel, Message message) throws Exception {
            throw thrown;
        }

        @Override
        public void failed(Channel channel, @Nullable Message message, Throwable failure) {
            channels.add(channel);
            told.add(failure);
        }
    }

    private static NodeOptions protectedBy(Protection protection) {
        return protection == Protection.NONE
                ? NodePair.SMALL
                : NodePair.SMALL.messageSize(1024).secret(SECRET).protection(protection);
    }

    private static CallException failureOfACall(Channel client) {
        CallException[] told = new CallException[1];
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> client.call(client.message(DEADLINE), DEADLINE))
                .satisfies(thrown -> told[0] = thrown);
        return told[0];
    }

    @Test
    void exceptionAtACallIsToldToTheHandlerCountedAndKept() throws Exception {
        try (NodePair nodes = new NodePair()) {
            Failing failing = new Failing(new IllegalArgumentException("no such account"));
            nodes.server.listen(failing);
            assertThat(nodes.server.handlerFailures()).isZero();
            assertThat(nodes.server.handlerFailure()).isEmpty();
            Channel client = nodes.client.connect(nodes.server.address(), DEADLINE);
            for (int calls = 1; calls <= 2; calls++) {
                assertThat(failureOfACall(client).reason()).isEqualTo("java.lang.IllegalArgumentException");
                assertThat(failing.told).hasSize(calls).containsOnly(failing.thrown);
                assertThat(nodes.server.handlerFailures()).isEqualTo(calls);
            }
            assertThat(nodes.server.handlerFailure()).containsSame(failing.thrown);
            assertThat(failing.channels).allMatch(Channel::isOpen);
            assertThat(nodes.client.handlerFailures()).isZero();
        }
    }

    @Test
    void exceptionsOfTheOtherMethodsAreToldToo() throws Exception {
        List<Throwable> thrown =
                List.of(new IllegalStateException("of opened"), new IllegalStateException("of closed"));
        List<Throwable> told = new ArrayList<>();
        try (NodePair nodes = new NodePair()) {
            nodes.server.listen(new Handler() {
                @Override
                public void received(Channel channel, Message message) {
                    // No message comes.
                }

                @Override
                public void opened(Channel channel) {
                    throw (IllegalStateException) thrown.get(0);
                }

                @Override
                public void closed(Channel channel) {
                    throw (IllegalStateException) thrown.get(1);
                }

                @Override
                public void failed(Channel channel, @Nullable Message message, Throwable failure) {
                    assertThat(message).isNull();
                    told.add(failure);
                }
            });
            nodes.start(() -> nodes.client.connect(nodes.server.address(), DEADLINE)); // may see the end at once
            Await.until("both failures", () -> nodes.server.handlerFailures() == 2);
            nodes.server.close(); // ends the thread that has filled the list
        }
        assertThat(told).isEqualTo(thrown);
    }

    /** A peer that has proved nothing learns the class, which is no secret of this side's. */
    @ParameterizedTest
    @EnumSource(Protection.class)
    void onlyAPeerWithTheSecretGetsTheMessage(Protection protection) throws Exception {
        try (NodePair nodes = new NodePair(protectedBy(protection))) {
            nodes.server.listen(new Failing(new java.io.IOException("/var/lib/accounts is full")));
            Channel client = nodes.client.connect(nodes.server.address(), DEADLINE);
            assertThat(failureOfACall(client).reason())
                    .isEqualTo("java.io.IOException"
                            + (protection == Protection.NONE ? "" : ": /var/lib/accounts is full"));
        }
    }

    @Test
    void messageForThePeerIsShortAndOneLine() throws Exception {
        try (NodePair nodes = new NodePair(protectedBy(Protection.SEALED))) {
            String unfit = "a\nb\u001b[2J\u202ec\u2028d";
            nodes.server.listen(new Failing(new java.io.IOException(unfit + "x".repeat(5000))));
            Channel client = nodes.client.connect(nodes.server.address(), DEADLINE);
            assertThat(failureOfACall(client).reason())
                    .startsWith("java.io.IOException: a b [2J c d" + "x")
                    .hasSizeLessThanOrEqualTo("java.io.IOException: ".length() + Faults.MAX_MESSAGE);
        }
    }

    @Test
    void handlerAnswersTheRequestAfterItsFailure() throws Exception {
        try (NodePair nodes = new NodePair()) {
            nodes.server.listen(new Handler() {
                @Override
                public void received(Channel channel, Message message) {
                    throw new IllegalArgumentException("not for the peer");
                }

                @Override
                public void failed(Channel channel, @Nullable Message message, Throwable failure) {
                    if (message != null) {
                        message.refuse("code 7");
                    }
                }
            });
            Channel client = nodes.client.connect(nodes.server.address(), DEADLINE);
            assertThat(failureOfACall(client).reason()).isEqualTo("code 7");
            assertThat(failureOfACall(client).reason()).isEqualTo("code 7"); // the channel goes on
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void failureOfTheHandlersLastMethodChangesNothing(boolean same) throws Exception {
        IllegalArgumentException thrown = new IllegalArgumentException("first");
        RuntimeException second = same ? thrown : new IllegalStateException("second");
        try (NodePair nodes = new NodePair()) {
            nodes.server.listen(new Handler() {
                @Override
                public void received(Channel channel, Message message) {
                    throw thrown;
                }

                @Override
                public void failed(Channel channel, @Nullable Message message, Throwable failure) {
                    throw second;
                }
            });
            Channel client = nodes.client.connect(nodes.server.address(), DEADLINE);
            assertThat(failureOfACall(client).reason()).isEqualTo("java.lang.IllegalArgumentException");
            assertThat(thrown.getSuppressed()).hasSize(same ? 0 : 1);
            assertThat(failureOfACall(client).reason()).isEqualTo("java.lang.IllegalArgumentException");
        }
    }

    @Test
    void failureIsRecorded() throws Exception {
        IllegalArgumentException thrown = new IllegalArgumentException("no such account");
        List<RecordedEvent> events;
        try (NodePair nodes = new NodePair()) {
            nodes.server.listen(new Failing(thrown));
            Channel client = nodes.client.connect(nodes.server.address(), DEADLINE);
            events = Recorded.during(() -> failureOfACall(client), "HandlerFailure");
        }
        assertThat(events).singleElement().satisfies(event -> {
            assertThat(event.getString("channel")).startsWith("from 10.9.9.1:");
            assertThat(event.getString("thrown")).isEqualTo(thrown.toString());
            assertThat(event.getString("place")).contains("HandlerFailureTest");
        });
    }
}

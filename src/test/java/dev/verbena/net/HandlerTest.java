package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Channels in the style of handlers. */
@FencedTest
class HandlerTest extends ConnectedTest {
    private static boolean sleepless(CountDownLatch latch) throws InterruptedException {
        return latch.await(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    /** Tells what happens to a channel, in order. */
    private static final class Diary implements Handler {
        final Queue<String> entries = new ConcurrentLinkedQueue<>();
        final Set<Object> threads = Collections.synchronizedSet(identities());
        final CountDownLatch end = new CountDownLatch(1);

        @Override
        public void opened(Channel channel) {
            add("opened");
        }

        @Override
        public void received(Channel channel, Message message) {
            add("received " + number(message));
        }

        @Override
        public void closed(Channel channel) {
            add("closed " + channel.cause().isPresent());
            end.countDown();
        }

        private void add(String entry) {
            entries.add(entry);
            threads.add(Thread.currentThread());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void handlerGetsOpenMessagesAndEndInOrder(boolean early) throws Exception {
        pair(SMALL);
        Diary diary = new Diary();
        if (early) {
            nodes.server.listen(diary);
        }
        Channel client = nodes.client.connect(nodes.server.address(), DEADLINE);
        for (int i = 0; i < 3; i++) {
            NodePair.send(client, i);
        }
        if (!early) {
            nodes.server.listen(diary);
        }
        client.close();
        assertThat(sleepless(diary.end)).isTrue();
        assertThat(diary.entries).containsExactly("opened", "received 0", "received 1", "received 2", "closed true");
        Await.until(
                "the node has closed the channel", () -> nodes.server.toString().contains("(0 of"));
        assertThat(nodes.server.toString()).contains("0 waiting");
    }

    /** The node closes channels that it has accepted for the handler, and no others. */
    @Test
    void channelThatTheProgramMadeCanHaveAHandlerAndTheProgramClosesIt() throws Exception {
        NodePair.Ends others = nodes.connect();
        NodePair.send(ends.server(), 1);
        Diary diary = new Diary();
        ends.client().listen(diary);
        NodePair.send(ends.server(), 2);
        assertThatIllegalStateException().isThrownBy(() -> ends.client().listen(diary));
        assertThatIllegalStateException()
                .isThrownBy(() -> ends.client().pollReceive())
                .withMessageContaining("handler");
        ends.server().close();
        assertThat(sleepless(diary.end)).isTrue();
        CountDownLatch called = new CountDownLatch(1);
        others.client().listen((channel, message) -> called.countDown());
        for (int i = 0; i < 3; i++) {
            ends.client().messages().finishFutures(); // has the node look again
            NodePair.send(others.server(), i);
        }
        assertThat(sleepless(called)).isTrue();
        Await.until("all were handled", () -> others.server().toString().contains(" 0 under way"));
        assertThat(diary.entries).containsExactly("received 1", "received 2", "closed true");
        assertThat(nodes.client.toString()).contains("(2 of");
        ends.client().close();
        assertThat(nodes.client.toString()).contains("(1 of");
    }

    /** A full window of messages and the end wait when the program, which calls the handlers itself, polls again. */
    @Test
    void pollingProgramCallsTheHandlersItselfAndIsToldTheEndAfterAFullWindow() throws Exception {
        pair(SMALL.closeTimeout(SHORT), CALLER);
        Diary diary = new Diary();
        nodes.server.listen(diary);
        Future<Channel> connecting = nodes.start(() -> nodes.client.connect(nodes.server.address(), DEADLINE));
        while (!connecting.isDone()) {
            nodes.server.progress();
        }
        fillWindow(end(connecting));
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> end(connecting).close());
        Await.until("the end", () -> {
            nodes.server.progress();
            return diary.end.getCount() == 0;
        });
        assertThat(diary.entries)
                .containsExactly("opened", "received 0", "received 1", "received 2", "received 3", "closed true");
        assertThat(diary.threads).containsExactly(Thread.currentThread());
    }

    /** A handler of many channels keeps what it knows of each there, from the beginning to the end. */
    @Test
    void eachChannelKeepsWhatItsHandlerAttaches() throws Exception {
        pair(SMALL);
        Queue<Object> sums = new ConcurrentLinkedQueue<>();
        nodes.server.listen(new Handler() {
            @Override
            public void opened(Channel channel) {
                assertThat(channel.attachment()).isNull();
                assertThat(channel.attach(0L)).isNull();
            }

            @Override
            public void received(Channel channel, Message message) {
                Long before = (Long) channel.attachment();
                assertThat(channel.attach(before + number(message))).isSameAs(before);
            }

            @Override
            public void closed(Channel channel) {
                sums.add(channel.attachment());
            }
        });
        for (int peer = 1; peer <= 3; peer++) {
            try (Channel client = nodes.client.connect(nodes.server.address(), DEADLINE)) {
                for (int i = 1; i <= 3; i++) {
                    NodePair.send(client, 100L * peer * i);
                }
            }
        }
        Await.until("all have left", () -> sums.size() == 3);
        assertThat(sums).containsExactlyInAnyOrder(600L, 1200L, 1800L);
        Channel mine = nodes.client.connect(nodes.server.address(), DEADLINE);
        mine.attach("mine");
        mine.close();
        assertThat(mine.attach(null)).isEqualTo("mine");
        assertThat(mine.attachment()).isNull();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void handlerMayCloseItsChannelOrItsNode(boolean node) throws Exception {
        pair(SMALL);
        nodes.server.listen((channel, message) -> {
            if (node) {
                nodes.server.close();
            } else {
                channel.close();
            }
        });
        Channel client = nodes.client.connect(nodes.server.address(), DEADLINE);
        NodePair.send(client, 1);
        NodePair.endOf(client, EndReason.CLOSED_BY_PEER);
        if (!node) {
            NodePair.send(nodes.client.connect(nodes.server.address(), DEADLINE), 1);
        }
    }

    /** The driver refuses the failure that the node sends for a handler. */
    @Test
    @NotOver("TCP|SEALED.*") // sealed, without a goodbye
    void handlerThatThrowsWhileTheDriverRefusesEndsItsChannelOnly() throws Exception {
        pair(SMALL);
        nodes.server.listen((channel, request) -> {
            if (number(request) == 13) {
                Fenced.fail("ibv_post_send", 1, 12);
                throw new java.io.IOException("of the program");
            }
            answer(request);
        });
        Channel bad = nodes.client.connect(nodes.server.address(), DEADLINE);
        Channel good = nodes.client.connect(nodes.server.address(), DEADLINE);
        NodePair.failure(EndReason.PEER_FAILED, () -> call(bad, 13));
        assertThat(call(good, 14)).isEqualTo(15);
    }

    /** It throws when a channel opens, and for a message. An interrupt of the node's thread does not reach the next callback. */
    @Test
    void handlerThatThrowsEndsItsChannelOnlyAndLeavesNoInterrupt() throws Exception {
        pair(SMALL);
        AtomicInteger interrupted = new AtomicInteger();
        AtomicInteger channels = new AtomicInteger();
        nodes.server.listen(new Handler() {
            @Override
            public void opened(Channel channel) throws Exception {
                interrupted.addAndGet(Thread.currentThread().isInterrupted() ? 1 : 0);
                if (channels.incrementAndGet() == 1) {
                    throw new InterruptedException("of the program");
                }
                Thread.currentThread().interrupt();
            }

            @Override
            public void received(Channel channel, Message message) throws Exception {
                interrupted.addAndGet(Thread.currentThread().isInterrupted() ? 1 : 0);
                if (!message.isRequest()) {
                    throw new InterruptedException("of the program");
                }
                answer(message);
                Thread.currentThread().interrupt();
            }
        });
        NodePair.failure(
                EndReason.PEER_FAILED,
                () -> nodes.client.connect(nodes.server.address(), DEADLINE).receive(DEADLINE));
        Channel bad = nodes.client.connect(nodes.server.address(), DEADLINE);
        Channel good = nodes.client.connect(nodes.server.address(), DEADLINE);
        NodePair.send(bad, 1);
        NodePair.endOf(bad, EndReason.PEER_FAILED);
        for (int i = 0; i < 3; i++) {
            assertThat(call(good, i)).isEqualTo(i + 1);
        }
        assertThat(interrupted).hasValue(0);
    }

    @Test
    void interruptOfAHandlerReachesTheProgramThatPolls() throws Exception {
        use(SMALL.closeTimeout(SHORT), CALLER);
        CountDownLatch called = new CountDownLatch(1);
        ends.server().listen((channel, message) -> {
            called.countDown();
            throw new InterruptedException("of the program");
        });
        NodePair.send(ends.client(), 1);
        Await.until("called", () -> {
            nodes.server.progress();
            return called.getCount() == 0 || Thread.currentThread().isInterrupted();
        });
        assertThat(Thread.interrupted()).isTrue();
        assertThat(ends.server().cause().orElseThrow())
                .hasMessageContaining("The handler has thrown")
                .hasMessageContaining("of the program");
    }

    /** The next message is always there before the handler is done with the last one. */
    @Test
    void channelThatAlwaysHasMessagesLeavesOthersTheirTurn() throws Exception {
        use(SMALL, CALLER);
        NodePair.Ends others = nodes.connect();
        Channel busy = ends.server();
        List<Channel> turns = new ArrayList<>();
        Handler handler = (channel, message) -> {
            turns.add(channel);
            if (channel == busy && turns.size() < 20) {
                NodePair.send(ends.client(), 1);
                awaitArrived(busy);
            }
        };
        NodePair.send(ends.client(), 1);
        NodePair.send(others.client(), 1);
        awaitArrived(busy);
        awaitArrived(others.server());
        busy.listen(handler);
        others.server().listen(handler);
        nodes.server.progress();
        assertThat(turns.indexOf(others.server())).isBetween(1, 18);
    }

    private void awaitArrived(Channel on) {
        Await.until("a message is there", () -> {
            nodes.server.progress();
            return on.session().messages.arrivedCount() > 0;
        });
    }

    @Test
    @NotOver("SEALED_RDMA") // there are more receives
    void handlersGetTheSameObjectsAgain() throws Exception {
        Set<Object> messages = identities();
        CountDownLatch all = new CountDownLatch(40);
        ends.server().listen((channel, message) -> {
            messages.add(message);
            all.countDown();
        });
        for (int i = 0; i < 40; i++) {
            NodePair.send(ends.client(), i);
        }
        assertThat(sleepless(all)).isTrue();
        assertThat(messages).hasSizeLessThanOrEqualTo(12); // the channel has as many receives
    }

    /** Another channel works in both directions while this node makes a channel, or accepts one. */
    @ParameterizedTest
    @ValueSource(strings = {"ibv_reg_mr_iova2", "rdma_accept"})
    @NotOver("TCP")
    void messagesFlowInBothDirectionsWhileAChannelIsMade(String function) throws Exception {
        Fenced.stop(function);
        Future<Channel> connecting = nodes.start(() -> nodes.client.connect(nodes.server.address(), DEADLINE));
        Fenced.awaitStopped(function, 1);
        for (int i = 0; i < 2 * SMALL.window(); i++) { // needs grants, and so progress of both nodes
            NodePair.send(ends.client(), i);
            assertThat(NodePair.receive(ends.server())).isEqualTo(i);
            NodePair.send(ends.server(), -i);
            assertThat(NodePair.receive(ends.client())).isEqualTo(-i);
        }
        assertThat(connecting.isDone()).isFalse();
        Fenced.calm();
        end(connecting);
    }
}

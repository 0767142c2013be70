package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Writes with a notice: the peer's program is woken, and sees the data. */
@FencedTest
class NoticeTest extends ConnectedTest {
    private static final int MOST = 300_000;

    private MemorySegment table;
    private LocalMemory local;
    private RemoteMemory remote;

    private void export() throws Exception {
        table = nodes.arena.allocate(MOST, 8);
        nodes.server.export("table", table, AccessFlag.REMOTE_WRITE).inTheClear();
        remote = ends.client().remote("table", DEADLINE);
        local = nodes.client.register(nodes.arena.allocate(MOST, 8), AccessFlag.LOCAL_WRITE);
    }

    private void fill(long value) {
        local.segment().set(ValueLayout.JAVA_LONG, 0, value);
    }

    /** Returns the first number of the memory that was written. */
    private long first() {
        return table.get(ValueLayout.JAVA_LONG, 0);
    }

    private long tryNotify(long number) {
        return ends.client().tryWriteAndNotify(local.slice(0, 8), remote.slice(0, 8), number);
    }

    private void notify(long number) throws InterruptedException {
        ends.client().writeAndNotify(local.slice(0, 8), remote.slice(0, 8), number, DEADLINE);
    }

    @Test
    void noticeWakesItsReaderInTheOrderOfMessages() throws Exception {
        export();
        Future<Long> sum = nodes.start(() -> {
            assertThat(NodePair.receive(ends.server())).isEqualTo(1);
            long found;
            try (Message notice = ends.server().receive(DEADLINE)) {
                assertThat(notice.isNotice()).isTrue();
                assertThat(notice.isRequest()).isFalse();
                assertThat(notice.isOffer()).isFalse();
                assertThat(notice.notice()).isEqualTo(Long.MIN_VALUE + 7);
                found = first();
            }
            try (Message plain = ends.server().receive(DEADLINE)) {
                assertThat(plain.isNotice()).isFalse();
                assertThatIllegalStateException()
                        .isThrownBy(plain::notice)
                        .withMessageContaining("Channel.writeAndNotify()");
                return found + number(plain);
            }
        });
        fill(40);
        NodePair.send(ends.client(), 1);
        notify(Long.MIN_VALUE + 7);
        NodePair.send(ends.client(), 2);
        assertThat(end(sum)).isEqualTo(42);
        Message mine = ends.client().message(DEADLINE);
        assertThat(mine.isNotice()).isFalse();
        mine.close();
    }

    /** The first and the last bytes of data of each length are there, however many frames or packets it took. */
    @ParameterizedTest
    @ValueSource(ints = {8, 100, 9_000, MOST})
    void readerSeesAllOfTheData(int size) throws Exception {
        export();
        BlockingQueue<String> seen = new LinkedBlockingQueue<>();
        ends.server().listen(new Handler() {
            @Override
            public void received(Channel channel, Message message) {
                seen.add("message");
            }

            @Override
            public void written(Channel channel, long number) {
                long last = table.get(ValueLayout.JAVA_LONG_UNALIGNED, size - 8L);
                seen.add(number + ": " + first() + ", " + last);
            }
        });
        for (int i = 1; i <= 50; i++) {
            fill(i);
            local.segment().set(ValueLayout.JAVA_LONG_UNALIGNED, size - 8L, i);
            ends.client().writeAndNotify(local.slice(0, size), remote.slice(0, size), i, DEADLINE);
            assertThat(seen.poll(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEqualTo(i + ": " + i + ", " + i);
        }
        assertThat(seen).isEmpty();
    }

    /** A reader that closes no notice has no room for more, and then nothing is written. */
    @Test
    void noticeWithoutACreditWritesNothingAndKeepsNothing() throws Exception {
        use(SMALL.operations(2).sends(8));
        export();
        fill(1);
        int room = 0;
        for (long ticket = tryNotify(room); ticket != 0; ticket = tryNotify(room)) {
            ends.client().await(ticket, DEADLINE);
            room++;
        }
        assertThat(room).isBetween(SMALL.window() - 1, SMALL.window()); // the credit of the lookup may not be back
        fill(2);
        for (int i = 0; i < 20; i++) { // more than there are operations and messages
            assertThat(tryNotify(9)).isZero();
        }
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() ->
                        ends.client().writeAndNotify(local.slice(0, 8), remote.slice(0, 8), 9, Duration.ofMillis(20)))
                .withMessageContaining("has not closed earlier messages");
        ends.client().write(local.slice(8, 8), remote.slice(8, 8), DEADLINE); // an operation is free
        List<Message> notices = new ArrayList<>();
        for (int i = 0; i < room; i++) {
            notices.add(ends.server().receive(DEADLINE));
            assertThat(notices.getLast().notice()).isEqualTo(i);
        }
        assertThat(first()).isEqualTo(1);
        Future<Void> waiting = nodes.run(() -> notify(9));
        notices.forEach(Message::close);
        end(waiting);
        try (Message last = ends.server().receive(DEADLINE)) {
            assertThat(last.notice()).isEqualTo(9);
        }
        assertThat(first()).isEqualTo(2);
        List<Message> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            all.add(ends.client().message(DEADLINE));
        }
        all.forEach(Message::close);
    }

    /** A handler that does not care for notices lets them come all the same. */
    @Test
    void handlerWithoutAMethodForNoticesTakesThem() throws Exception {
        use(SMALL.operations(1));
        export();
        ends.server().listen((channel, message) -> answer(message));
        for (int i = 0; i < 5 * SMALL.window(); i++) {
            notify(i);
        }
        assertThat(call(ends.client(), 4)).isEqualTo(5);
    }

    @Test
    void handlerThatThrowsForANoticeIsToldAndEndsItsChannel() throws Exception {
        export();
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        ends.server().listen(new Handler() {
            @Override
            public void received(Channel channel, Message message) {}

            @Override
            public void written(Channel channel, long number) throws Exception {
                throw new java.io.IOException("for " + number);
            }

            @Override
            public void failed(Channel channel, Message message, Throwable thrown) {
                told.add(message.notice() + " " + thrown.getMessage());
            }
        });
        assertThat(tryNotify(6)).isNotZero();
        NodePair.endOf(ends.client(), EndReason.PEER_FAILED);
        assertThat(told.poll(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEqualTo("6 for 6");
    }

    /** The driver takes the write, and refuses the message behind it. */
    @Test
    @NotOver("TCP|SEALED.*") // sealed, the channel ends
    void noticeThatDriverRefusesLeavesNothingBehind() throws Exception {
        use(SMALL.operations(1).sends(1));
        export();
        for (int i = 0; i < 3; i++) {
            Fenced.fail("ibv_post_send", 2, 12);
            assertThatExceptionOfType(VerbsException.class).isThrownBy(() -> tryNotify(1));
            Await.until("the operation is free", () -> {
                long ticket = tryNotify(2);
                if (ticket == 0) {
                    return false;
                }
                try {
                    ends.client().await(ticket, DEADLINE);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                return true;
            });
            try (Message notice = ends.server().receive(DEADLINE)) {
                assertThat(notice.notice()).isEqualTo(2);
            }
        }
    }

    @Test
    void channelThatHasEndedTakesNoNotice() throws Exception {
        use(SMALL.closeTimeout(Duration.ofMillis(20)));
        export();
        ends.server().close();
        Await.until("the client knows", () -> !ends.client().isOpen());
        assertThatExceptionOfType(ChannelException.class).isThrownBy(() -> tryNotify(1));
        assertThatExceptionOfType(ChannelException.class).isThrownBy(() -> notify(1));
        ends.client().close();
        assertThatIllegalStateException().isThrownBy(() -> tryNotify(1));
    }
}

package dev.verbena.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.internal.EnumCodec;
import dev.verbena.ledger.Covers;
import dev.verbena.support.DatagramPair;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Twin;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What moves between queue pairs for datagrams, and how it is reported. */
@DeviceTest
class DatagramTest {
    private DatagramPair peers;
    private Loopback.Side left;
    private Loopback.Side right;
    private AddressHandle toRight;

    @BeforeEach
    void open() {
        peers = DatagramPair.ready(VerbsArena.ofConfined());
        left = peers.left;
        right = peers.right;
        toRight = DatagramPair.path(right);
    }

    @AfterEach
    void close() {
        peers.close();
    }

    private static MemorySegment text(String text) {
        return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String message(MemoryRegion region, WorkCompletion received) {
        byte[] bytes = region.segment()
                .asSlice(Grh.BYTES, received.byteLength() - Grh.BYTES)
                .toArray(JAVA_BYTE);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private LocalMemory write(String text) {
        left.buffer.segment().copyFrom(text(text));
        return left.buffer.slice(0, text.length());
    }

    @Test
    void datagramArrivesBehindItsHeader() throws Exception {
        right.pair.postReceive(1, right.buffer);
        left.pair.postSend(2, write("datagram"), toRight, right.pair.number(), DatagramPair.RIGHT_KEY);

        WorkCompletion sent = left.done();
        assertThat(sent.id()).isEqualTo(2);
        assertThat(sent.opcode()).isEqualTo(WorkCompletion.Opcode.SEND);
        assertThat(sent.hasRoutingHeader()).isFalse();
        WorkCompletion received = right.done();
        assertThat(received.id()).isEqualTo(1);
        assertThat(received.opcode()).isEqualTo(WorkCompletion.Opcode.RECEIVE);
        assertThat(received.byteLength()).as("the header counts").isEqualTo(Grh.BYTES + 8);
        assertThat(received.hasRoutingHeader()).isTrue();
        assertThat(received.hasImmediate()).isFalse();
        assertThat(received.sourceQueuePair()).isEqualTo(left.pair.number());
        assertThat(received.queuePairNumber()).isEqualTo(right.pair.number());
        assertThat(received.pkeyIndex()).isZero();
        assertThat(message(right.buffer, received)).isEqualTo("datagram");
    }

    @Test
    void cursorEqualsTheCompletionRecord() throws Exception {
        right.pair.postReceive(1, right.buffer);
        left.pair.postSendImmediate(2, write("cursor"), 77, toRight, right.pair.number(), DatagramPair.RIGHT_KEY);
        left.done();

        Completions done = right.queue.completions(4);
        long deadline = System.nanoTime() + Loopback.DEADLINE.toNanos();
        while (done.poll() == 0) {
            assertThat(System.nanoTime()).isLessThan(deadline);
        }
        done.next();
        WorkCompletion value = done.completion();
        assertThat(done.hasRoutingHeader()).isTrue().isEqualTo(value.hasRoutingHeader());
        assertThat(done.hasInvalidated()).isFalse().isEqualTo(value.hasInvalidated());
        assertThat(done.immediate()).isEqualTo(77).isEqualTo(value.immediate());
        assertThat(done.sourceQueuePair()).isEqualTo(left.pair.number()).isEqualTo(value.sourceQueuePair());
        assertThat(done.pkeyIndex()).isEqualTo(value.pkeyIndex());
        assertThat(done.sourceLid()).isEqualTo(value.sourceLid());
        assertThat(done.serviceLevel()).isEqualTo(value.serviceLevel());
        assertThat(done.pathBits()).isEqualTo(value.pathBits());
        assertThat(EnumCodec.flags(WorkCompletion.Flag.class, WorkCompletion.Flag::bit, done.flagBits()))
                .isEqualTo(value.flags())
                .contains(WorkCompletion.Flag.GRH, WorkCompletion.Flag.WITH_IMMEDIATE);
    }

    @Test
    @Twin("test_cq_events.CqEventsTestCase.test_cq_events_ud")
    void datagramAwaitSleepsOnBothSides() throws Exception {
        CompletionChannel channel = peers.context.createCompletionChannel();
        CompletionQueue sent = peers.context.createCompletionQueue(
                CompletionQueueOptions.of(16).channel(channel));
        CompletionQueue received = peers.context.createCompletionQueue(
                CompletionQueueOptions.of(16).channel(channel));
        QueuePair sender = peers.domain.createQueuePair(QueuePair.ud(sent).inlineSize(16));
        QueuePair receiver = peers.domain.createQueuePair(QueuePair.ud(received));
        sender.toReady(1);
        receiver.toReady(2);
        for (int i = 0; i < 10; i++) {
            receiver.postReceive(i, right.buffer.slice(0, 64));
            sender.postSendInline(100 + i, text("event"), toRight, receiver.number(), 2);
            assertThat(sent.await(Loopback.DEADLINE).orThrow().id()).isEqualTo(100 + i);
            assertThat(received.await(Loopback.DEADLINE).orThrow().id()).isEqualTo(i);
        }
    }

    @Test
    void datagramImmediateDataKeepsItsValue() throws Exception {
        right.pair.postReceive(1, right.buffer);
        left.pair.postSendImmediate(
                2, write("number"), 0x81020304, toRight, right.pair.number(), DatagramPair.RIGHT_KEY);
        left.done();

        WorkCompletion received = right.done();
        assertThat(received.hasImmediate()).isTrue();
        assertThat(received.immediate()).isEqualTo(0x81020304);
    }

    @Test
    void emptyDatagramHasOnlyItsHeader() throws Exception {
        right.pair.postReceive(1, right.buffer);
        SendBatch batch = left.pair.sendBatch(1);
        batch.send(2)
                .immediate(5)
                .to(toRight, right.pair.number(), DatagramPair.RIGHT_KEY)
                .post();
        left.done();

        WorkCompletion received = right.done();
        assertThat(received.byteLength()).isEqualTo(Grh.BYTES);
        assertThat(received.immediate()).isEqualTo(5);
    }

    @Test
    void datagramInlineDataNeedsNoRegistration() throws Exception {
        right.pair.postReceive(1, right.buffer);
        left.pair.postSendInline(2, text("inline"), toRight, right.pair.number(), DatagramPair.RIGHT_KEY);
        left.done();

        assertThat(message(right.buffer, right.done())).isEqualTo("inline");
    }

    @Test
    void datagramHeaderNamesItsSender() throws Exception {
        right.pair.postReceive(1, right.buffer);
        left.pair.postSend(2, write("who"), toRight, right.pair.number(), DatagramPair.RIGHT_KEY);
        left.done();
        right.done();

        Grh header = Grh.from(right.buffer.segment());
        assertThat(header.source()).isEqualTo(left.pair.endpoint().gid());
        assertThat(header.destination()).isEqualTo(right.pair.endpoint().gid());
        assertThat(header.version()).isEqualTo(header.source().isIpv4Mapped() ? 4 : 6);
        assertThat(header.nextHeader()).as("UDP").isEqualTo(17);
        assertThat(header.hopLimit()).isEqualTo(64);
    }

    @Test
    @Covers("ibv_create_ah_from_wc")
    void addressHandleOfACompletionReachesTheSender() throws Exception {
        right.pair.postReceive(1, right.buffer);
        left.pair.postReceive(3, left.buffer.slice(4096, 4096));
        left.pair.postSendImmediate(
                2, write("ask"), DatagramPair.LEFT_KEY, toRight, right.pair.number(), DatagramPair.RIGHT_KEY);
        assertThat(left.done().id()).isEqualTo(2);
        WorkCompletion question = right.done();

        AddressHandle back = peers.domain.createAddressHandle(question, right.buffer.segment());
        assertThat(back.path().globalRoute().destination())
                .isEqualTo(left.pair.endpoint().gid());
        right.pair.postSendInline(4, text("answer"), back, question.sourceQueuePair(), question.immediate());
        right.done();

        WorkCompletion answer = left.done();
        assertThat(answer.id()).isEqualTo(3);
        assertThat(answer.sourceQueuePair()).isEqualTo(right.pair.number());
    }

    @Test
    void addressHandleOfAFailedReceiveIsRefused() {
        right.pair.postReceive(1, right.buffer);
        right.pair.fail();

        assertThatThrownBy(() -> peers.domain.createAddressHandle(right.next(), right.buffer.segment()))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void batchSendsToManyAddresses() throws Exception {
        AddressHandle toLeft = DatagramPair.path(left);
        left.pair.postReceive(10, left.buffer.slice(1024, 1024));
        right.pair.postReceive(11, right.buffer.slice(0, 1024));
        right.pair.postReceive(12, right.buffer.slice(1024, 1024));

        SendBatch batch = left.pair.sendBatch(3);
        batch.sendInline(1, text("one")).unsignaled().to(toRight, right.pair.number(), DatagramPair.RIGHT_KEY);
        batch.sendInline(2, text("two")).to(toLeft, left.pair.number(), DatagramPair.LEFT_KEY);
        batch.sendInline(3, text("three")).to(toRight, right.pair.number(), DatagramPair.RIGHT_KEY);
        assertThat(batch.post()).isEqualTo(3);

        assertThat(right.done().id()).isEqualTo(11);
        assertThat(right.done().byteLength()).isEqualTo(Grh.BYTES + 5);
        assertThat(new long[] {left.done().id(), left.done().id(), left.done().id()})
                .containsExactlyInAnyOrder(2, 3, 10);
    }

    @Test
    void wrongQueueKeyDropsADatagram() throws Exception {
        right.pair.postReceive(1, right.buffer);
        left.pair.postSendInline(2, text("wrong"), toRight, right.pair.number(), DatagramPair.RIGHT_KEY + 1);
        left.pair.postSendInline(3, text("right"), toRight, right.pair.number(), DatagramPair.RIGHT_KEY);
        left.done();
        left.done();

        assertThat(message(right.buffer, right.done())).isEqualTo("right");
    }

    /** {@link RefusedRequestsTest} has what is refused. */
    @Test
    void datagramOfTheMtuIsSent() throws Exception {
        int most = peers.context.port(1).activeMtu().bytes();
        left.pair.postSend(1, left.buffer.slice(0, most), toRight, right.pair.number(), DatagramPair.RIGHT_KEY);
        assertThat(left.done().id()).isEqualTo(1);
    }
}

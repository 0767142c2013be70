package dev.verbena.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.ledger.Covers;
import dev.verbena.support.DatagramPair;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Headers, addresses and keys of datagrams; {@link TrafficTest} has each way to send them. */
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

    private LocalMemory write(String text) {
        left.buffer.segment().copyFrom(text(text));
        return left.buffer.slice(0, text.length());
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

        assertThat(right.done().byteLength()).isEqualTo(Grh.BYTES + 5);
        assertThat(right.buffer.segment().asSlice(Grh.BYTES, 5).toArray(JAVA_BYTE))
                .asString()
                .isEqualTo("right");
    }

    /** {@link RefusedRequestsTest} has what is refused. */
    @Test
    void datagramOfTheMtuIsSent() throws Exception {
        int most = peers.context.port(1).activeMtu().bytes();
        left.pair.postSend(1, left.buffer.slice(0, most), toRight, right.pair.number(), DatagramPair.RIGHT_KEY);
        assertThat(left.done().id()).isEqualTo(1);
    }
}

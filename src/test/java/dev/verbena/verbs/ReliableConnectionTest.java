package dev.verbena.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Messages in batches, of many packets and inline over a reliable connection; {@link TrafficTest} has each operation. */
@DeviceTest
@Mlx5Too
class ReliableConnectionTest {
    private Loopback loopback;
    private Loopback.Side left;
    private Loopback.Side right;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected();
        left = loopback.left;
        right = loopback.right;
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private static MemorySegment text(String text) {
        return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String read(MemoryRegion region, int length) {
        return new String(region.segment().asSlice(0, length).toArray(JAVA_BYTE), StandardCharsets.UTF_8);
    }

    @Test
    void batchIsPostedWithOneCallAndCompletesInOrder() throws Exception {
        ReceiveBatch receives = right.pair.receiveBatch(3);
        receives.receive(10, right.buffer.slice(0, 8))
                .receive(11, right.buffer.slice(8, 8))
                .receive(12);
        assertThat(receives.post()).isEqualTo(3);

        left.buffer.segment().copyFrom(text("onetwo"));
        SendBatch sends = left.pair.sendBatch(4);
        sends.send(1, left.buffer.slice(0, 3)).unsignaled();
        sends.send(2, left.buffer.slice(3, 1)).and(left.buffer.slice(4, 2)).solicited();
        sends.send(3).immediate(33).fence();
        sends.read(4, left.buffer.slice(64, 8), right.buffer.slice(0, 8).remote());
        assertThat(sends.post()).isEqualTo(4);

        assertThat(left.done().id())
                .as("the unsignaled one makes no completion")
                .isEqualTo(2);
        assertThat(left.done().id()).isEqualTo(3);
        assertThat(left.done().id()).isEqualTo(4);
        assertThat(right.done().id()).isEqualTo(10);
        assertThat(right.done().id()).isEqualTo(11);
        WorkCompletion last = right.done();
        assertThat(last.id()).isEqualTo(12);
        assertThat(last.immediate()).isEqualTo(33);
        assertThat(read(right.buffer, 3)).isEqualTo("one");
        assertThat(right.buffer.segment().asSlice(8, 3).toArray(JAVA_BYTE))
                .asString()
                .isEqualTo("two");
    }

    @Test
    void resetPairConnectsAgain() throws Exception {
        left.pair.fail();
        right.pair.fail();
        left.pair.reset();
        right.pair.reset();
        left.pair.connect(right.pair.endpoint());
        right.pair.connect(left.pair.endpoint());

        right.buffer.segment().copyFrom(text("again"));
        left.pair.postRead(1, left.buffer.slice(0, 5), right.buffer.remote());
        left.done();
        assertThat(read(left.buffer, 5)).isEqualTo("again");
    }
}

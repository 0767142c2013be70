package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.OfferedOperation.RDMA_READ;
import static dev.verbena.verbs.QueuePairOptions.OfferedOperation.RDMA_WRITE;
import static dev.verbena.verbs.QueuePairOptions.OfferedOperation.RDMA_WRITE_WITH_IMMEDIATE;
import static dev.verbena.verbs.QueuePairOptions.OfferedOperation.SEND;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Posting by the functions of an extended queue pair: usual requests are built in one frame, all others elsewhere. */
@FencedTest
class ExtendedPostingTest {
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void batchOfUsualAndRareRequestsMovesTheBytesOfEach(boolean confined) throws InterruptedException {
        VerbsArena arena = confined ? VerbsArena.ofConfined() : VerbsArena.ofShared();
        try (Loopback loopback = Loopback.connected(
                arena,
                QueuePairAttributes.none(),
                options -> options.operations(SEND, RDMA_WRITE, RDMA_READ, RDMA_WRITE_WITH_IMMEDIATE)
                        .inlineSize(64)
                        .sendSge(3)
                        .receiveSge(3))) {
            MemoryRegion here = loopback.left.buffer;
            MemoryRegion there = loopback.right.buffer;
            here.segment().setString(0, "written");
            here.segment().setString(16, "sent");
            here.segment().setString(32, "pieces");
            there.segment().setString(512, "read");
            MemorySegment inline = arena.allocateFrom("inline");
            SendBatch batch = loopback.left.pair.sendBatch(8);
            for (int round = 0; round < 3; round++) { // the requests of a round stand where others stood before
                there.segment().asSlice(0, 512).fill((byte) 0);
                here.segment().asSlice(64, 16).fill((byte) 0);
                loopback.right.pair.postReceive(20, there.slice(256, 16));
                loopback.right.pair.postReceive(21, there.slice(272, 16));
                batch.clear();
                int shift = round;
                for (int i = 0; i < 6; i++) {
                    switch ((i + shift) % 6) {
                        case 0 ->
                            batch.write(0, here.slice(0, 8), there.remote().slice(0, 8));
                        case 1 ->
                            batch.read(1, here.slice(64, 8), there.remote().slice(512, 8));
                        case 2 -> batch.send(2, here.slice(16, 8));
                        case 3 ->
                            batch.write(3, here.slice(32, 3), there.remote().slice(32, 8))
                                    .and(here.slice(35, 5));
                        case 4 -> batch.writeInline(4, inline, there.remote().slice(48, 8));
                        default ->
                            batch.write(5, here.slice(0, 8), there.remote().slice(80, 8))
                                    .immediate(77);
                    }
                }
                batch.post();
                for (int i = 0; i < 6; i++) {
                    assertThat(loopback.left.done().id()).isEqualTo((i + shift) % 6);
                }
                assertThat(there.segment().getString(0)).isEqualTo("written");
                assertThat(here.segment().getString(64)).isEqualTo("read");
                assertThat(there.segment().getString(32)).isEqualTo("pieces");
                assertThat(there.segment().getString(48)).isEqualTo("inline");
                assertThat(there.segment().getString(80)).isEqualTo("written");
                loopback.right.done();
                loopback.right.done();
                String sent = there.segment().getString(256) + there.segment().getString(272);
                assertThat(sent).isEqualTo("sent");
            }
        }
    }
}

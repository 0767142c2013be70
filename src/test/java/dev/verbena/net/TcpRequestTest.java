package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.internal.Mutex;
import dev.verbena.internal.link.TcpMemory;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests over TCP, those of a node and those of its peers: order, limits, and the memory that they use. */
class TcpRequestTest extends TcpTest {
    @Test
    void acknowledgementsAreSentTogetherAndBehindAnswers() throws Exception {
        TcpPeer peer = finds(AccessFlag.REMOTE_READ);
        peer.atOnce(all -> {
            all.frame(TcpFrame.READ, frame -> name(frame, memory, 8));
            all.message(Wire.DATA, 0, 0, (byte) 1);
            all.message(Wire.DATA, 0, 0, (byte) 2);
        });
        assertThat(peer.await(TcpFrame.DATA).number).isZero();
        assertThat(peer.await(TcpFrame.ACKNOWLEDGEMENT).number).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource({
        "false, 7, 4, 0, It sent data that",
        "false, 8, 0, 0, It sent a value that",
        "false, 6, 0, 1, It acknowledged a request that",
        "true, 7, 8, 0, It sent data that",
        "true, 6, 0, 1, It acknowledged a request that"
    })
    void answerOfAnotherKindEndsTheChannel(boolean toAtomic, int type, int length, int number, String told)
            throws Exception {
        LocalMemory local = nodes.server.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
        RemoteMemory remote = new RemoteMemory(8, 1, 8);
        TcpPeer peer = opened();
        if (toAtomic) {
            channel.tryFetchAndAdd(remote, 1);
        } else {
            channel.tryRead(local, remote);
        }
        peer.await(toAtomic ? TcpFrame.FETCH_AND_ADD : TcpFrame.READ);
        peer.frame(type, frame -> {
            frame.length = length;
            frame.number = number;
        });
        peer.write(new byte[length]);
        assertThat(awaitEnd(channel)).hasMessageContaining(told);
        assertGoesOn();
    }

    /** The bytes of each number come one by one. A program that polls sees all of them or none. */
    @Test
    void numberThatAPeerWritesAppearsWhole() throws Exception {
        int rounds = 300;
        VarHandle number = ValueLayout.JAVA_LONG.varHandle();
        AtomicBoolean over = new AtomicBoolean();
        Future<Set<Long>> polling = nodes.start(() -> {
            Set<Long> seen = new HashSet<>();
            while (!over.get()) {
                seen.add((long) number.getAcquire(table, 0L));
            }
            return seen;
        });
        TcpPeer peer = finds(AccessFlag.REMOTE_WRITE);
        for (int i = 1; i <= rounds; i++) {
            peer.frame(TcpFrame.WRITE, frame -> name(frame, memory, Long.BYTES));
            byte[] bytes = new byte[Long.BYTES];
            Arrays.fill(bytes, (byte) (i % 2 == 0 ? 0 : -1));
            for (byte each : bytes) {
                peer.write(each);
            }
            peer.await(TcpFrame.ACKNOWLEDGEMENT);
            assertThat(table.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(i % 2 == 0 ? 0 : -1);
        }
        over.set(true);
        assertThat(NodePair.end(polling)).containsExactlyInAnyOrder(0L, -1L);
    }

    enum Theft {
        WRONG_KEY(TcpFrame.READ, frame -> frame.key++),
        ONE_BYTE_MORE(TcpFrame.READ, frame -> frame.length++),
        WRITE_WITHOUT_RIGHT(TcpFrame.WRITE, frame -> frame.length = 8),
        ATOMIC_WITHOUT_RIGHT(TcpFrame.FETCH_AND_ADD, frame -> frame.length = 0),
        ATOMIC_AT_ODD_ADDRESS(TcpFrame.COMPARE_AND_SWAP, frame -> {
            frame.address++;
            frame.length = 0;
        });

        private final int type;
        private final Consumer<TcpFrame> change;

        Theft(int type, Consumer<TcpFrame> change) {
            this.type = type;
            this.change = change;
        }
    }

    /** {@link TcpMemoryTest} has the ranges that there are. */
    @ParameterizedTest
    @EnumSource(Theft.class)
    void peerThatUsesMemoryWithoutTheRightLosesItsChannelOnly(Theft theft) throws Exception {
        boolean odd = theft == Theft.ATOMIC_AT_ODD_ADDRESS;
        TcpPeer peer = finds(odd ? AccessFlag.REMOTE_ATOMIC : AccessFlag.REMOTE_READ);
        peer.frame(theft.type, frame -> {
            name(frame, memory, (int) memory.length());
            theft.change.accept(frame);
        });
        peer.await(TcpFrame.DENIAL);
        peer.awaitEnd();
        ChannelException end = awaitEnd(channel);
        assertThat(end.reason()).isEqualTo(EndReason.LOST);
        assertThat(end).hasMessageContaining("without the right");
        assertThat(table.toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
        assertGoesOn();
    }

    /** A write that has begun does not go on after the memory is gone. */
    @Test
    void writeIntoAnExportThatIsClosedMeanwhileIsDenied() throws Exception {
        TcpPeer peer = finds(AccessFlag.REMOTE_WRITE);
        peer.frame(TcpFrame.WRITE, frame -> name(frame, memory, (int) memory.length()));
        peer.write((byte) 1);
        Await.until("the first byte has come", () -> table.get(ValueLayout.JAVA_BYTE, 0) == 1);
        export.close();
        peer.write((byte) 2);
        peer.await(TcpFrame.DENIAL);
        assertThat(table.get(ValueLayout.JAVA_BYTE, 1)).isZero();
        assertThat(awaitEnd(channel).reason()).isEqualTo(EndReason.LOST);
    }

    /** The peer has begun to take the answer, and the rest is not sent. */
    @Test
    void answerFromAnExportThatIsClosedMeanwhileIsCutOff() throws Exception {
        int large = 16 << 20;
        table = nodes.arena.allocate(large);
        TcpPeer peer = finds(AccessFlag.REMOTE_READ);
        peer.frame(TcpFrame.READ, frame -> name(frame, memory, large));
        peer.read(1);
        export.close();
        assertThat(peer.awaitEndOfBytes()).isLessThan(large);
        assertThat(awaitEnd(channel)).hasMessageContaining("deregistered while it was sent");
        assertGoesOn();
    }

    /** The data of an answer that has begun does not go on after the memory is gone. */
    @Test
    void readIntoMemoryThatIsClosedMeanwhileEndsTheChannel() throws Exception {
        MemorySegment into = nodes.arena.allocate(SIZE);
        MemoryRegion region = nodes.server.register(into, AccessFlag.LOCAL_WRITE);
        TcpPeer peer = opened();
        channel.tryRead(region, new RemoteMemory(8, 1, SIZE));
        peer.await(TcpFrame.READ);
        peer.frame(TcpFrame.DATA, frame -> frame.length = (int) SIZE);
        peer.write((byte) 1);
        Await.until("the first byte has come", () -> into.get(ValueLayout.JAVA_BYTE, 0) == 1);
        region.close();
        peer.write((byte) 2);
        assertThat(awaitEnd(channel)).hasMessageContaining("LOCAL_PROTECTION_ERROR");
        assertThat(into.get(ValueLayout.JAVA_BYTE, 1)).isZero();
        assertGoesOn();
    }

    @ParameterizedTest
    @ValueSource(ints = {TcpFrame.MAX_READS, TcpFrame.MAX_READS + 1})
    void atomicsBeyondTheLimitLoseTheirChannel(int count) throws Exception {
        TcpPeer peer = finds(AccessFlag.REMOTE_ATOMIC);
        peer.atOnce(all -> {
            for (int i = 0; i < count; i++) {
                all.frame(TcpFrame.FETCH_AND_ADD, frame -> {
                    name(frame, memory, 0);
                    frame.first = 1;
                });
            }
        });
        if (count == TcpFrame.MAX_READS) {
            for (int i = 0; i < count; i++) {
                assertThat(peer.await(TcpFrame.VALUE).first).isEqualTo(i);
            }
        } else {
            assertThat(awaitEnd(channel)).hasMessageContaining("more than 16 reads and atomics");
        }
        peer.socket.close();
        awaitEnd(channel);
        assertGoesOn();
    }

    @Test
    void requestsThatDoNotFitTheirMemoryAreRefused() throws Exception {
        nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        NodePair.Ends ends = nodes.connect();
        RemoteMemory memory = ends.client().remote("table", DEADLINE);
        LocalMemory readOnly = nodes.client.register(nodes.arena.allocate(SIZE));
        assertThatIllegalArgumentException().isThrownBy(() -> ends.client().tryRead(readOnly, memory));
        LocalMemory small = nodes.client.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> ends.client().tryRead(small, memory.slice(0, 4)));
        long most = 1L << 31;
        LocalMemory huge = nodes.client.register(table.reinterpret(most), AccessFlag.LOCAL_WRITE); // it is not used
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> ends.client().tryWrite(huge, new RemoteMemory(8, 1, most)))
                .withMessageContaining("at most 2147483647, ");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ends.client().tryFetchAndAdd(memory.slice(1, 8), 1))
                .withMessageContaining("multiple of 8");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ends.client().tryFetchAndAdd(memory.slice(0, 4), 1))
                .withMessageContaining("8 bytes");
        ends.client().read(small, memory.slice(0, 8), DEADLINE);
        assertThat(ends.client().isOpen()).isTrue();
    }

    /** The node's thread uses memory meanwhile, for example to receive into it. */
    @Test
    void memoryIsNotFreedWhileItIsUsed() throws Exception {
        TcpMemory memory = TcpMemory.create(nodes.arena);
        MemoryRegion region = memory.register(table, List.of(), nodes.arena);
        int key = region.localKey();
        MemoryRegion other = memory.register(table, List.of(), nodes.arena);
        Thread closing = Thread.ofPlatform().daemon().unstarted(region::close);
        try (var _ = memory.use()) {
            closing.start();
            Await.until(
                    "the other thread waits",
                    () -> !closing.isAlive() || Await.isIn(closing, Mutex.class.getName(), "held"));
            assertThat(memory.find(null, key, table.address(), SIZE, null)).isNotNull();
        }
        Await.end(closing);
        assertThat(memory.find(null, key, table.address(), SIZE, null)).isNull();
        assertThat(memory.find(null, other.localKey(), table.address(), SIZE, null))
                .as("the other region")
                .isNotNull();
    }

    @Test
    void memoryHasNoDevice() {
        MemoryRegion region = nodes.client.register(nodes.arena.allocate(SIZE));
        assertThat(region.toString()).contains("4 KiB");
        for (Consumer<MemoryRegion> use : List.<Consumer<MemoryRegion>>of(MemoryRegion::domain, MemoryRegion::handle)) {
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> use.accept(region));
        }
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> nodes.client.context());
    }

    /** Data is read into small and large memory in different ways, and sent in pieces. */
    @Test
    void dataOfAllSizesArrivesWholeAndItsMemoryCanBeFreed() throws Exception {
        int most = 3 << 20;
        MemorySegment far = nodes.arena.allocate(most, 8);
        nodes.server.export("table", far, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
        Channel client = nodes.connect().client();
        RemoteMemory memory = client.remote("table", DEADLINE);
        MemoryRegion region = nodes.client.register(nodes.arena.allocate(most, 8), AccessFlag.LOCAL_WRITE);
        MemorySegment near = region.segment();
        for (int size : new int[] {1, 8191, 8192, 8193, 1 << 16, (1 << 18) - 1, (1 << 18) + 1, (1 << 20) + 1, most}) {
            for (int i = 0; i < size; i++) {
                near.set(ValueLayout.JAVA_BYTE, i, (byte) (31 * i + size));
            }
            client.write(region.slice(0, size), memory.slice(most - size, size), DEADLINE);
            assertThat(near.asSlice(0, size).mismatch(far.asSlice(most - size)))
                    .as("written: %d", size)
                    .isEqualTo(-1);
            near.fill((byte) 0);
            client.read(region.slice(0, size), memory.slice(most - size, size), DEADLINE);
            assertThat(near.asSlice(0, size).mismatch(far.asSlice(most - size)))
                    .as("read: %d", size)
                    .isEqualTo(-1);
        }
        region.close();
    }

    /** Atomics count as reads, and other requests don't count. */
    @Test
    void readBeyondTheLimitIsSentAfterAnAnswer() throws Exception {
        use(NodePair.SMALL.operations(3 * TcpFrame.MAX_READS));
        LocalMemory local = nodes.server.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
        RemoteMemory remote = new RemoteMemory(8, 1, 8);
        TcpPeer peer = opened();
        for (int i = 0; i < TcpFrame.MAX_READS; i++) {
            channel.tryWrite(local, remote);
        }
        for (int i = 0; i < TcpFrame.MAX_READS + 1; i++) {
            if (i % 2 == 0) {
                channel.tryRead(local, remote);
            } else {
                channel.tryFetchAndAdd(remote, 1);
            }
        }
        for (int i = 0; i < TcpFrame.MAX_READS; i++) {
            peer.await(i % 2 == 0 ? TcpFrame.READ : TcpFrame.FETCH_AND_ADD);
        }
        for (int i = 0; i < 2; i++) { // what waited to be sent at the first is sent before the second
            peer.message(Wire.DATA, 0, 0, (byte) 1);
            assertThat(peer.next().type).isEqualTo(TcpFrame.ACKNOWLEDGEMENT);
        }
        peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = TcpFrame.MAX_READS);
        peer.frame(TcpFrame.DATA, frame -> frame.length = 8);
        peer.write(new byte[8]);
        assertThat(peer.next().type).isEqualTo(TcpFrame.READ);
    }

    /** A node's thread may be busy. */
    @Test
    void greetingIsAcknowledgedBeforeTheProgramMakesProgress() throws Exception {
        use(NodePair.SMALL.progress(NodeOptions.Progress.CALLER));
        TcpPeer peer = greets();
        assertThat(peer.next().type).isEqualTo(TcpFrame.ACKNOWLEDGEMENT);
    }

    @Test
    void requestBehindALieIsNotCarriedOut() throws Exception {
        TcpPeer peer = finds(AccessFlag.REMOTE_WRITE);
        peer.atOnce(all -> {
            all.frame(TcpFrame.DENIAL + 1, frame -> {});
            all.frame(TcpFrame.WRITE, frame -> name(frame, memory, 1));
            all.write((byte) 1);
        });
        assertThat(awaitEnd(channel).reason()).isEqualTo(EndReason.PROTOCOL_ERROR);
        peer.awaitGoodbye();
        assertThat(table.get(ValueLayout.JAVA_BYTE, 0)).isZero();
    }

    /** The peer has a small buffer, which takes parts of frames. */
    @Test
    void peerThatReadsLateGetsAllAcknowledgements() throws Exception {
        int count = 20_000;
        TcpPeer small = leavesLater(new TcpPeer(nodes.server.address(), null, 2048));
        small.greet(WINDOW);
        nodes.server.accept(DEADLINE);
        small.await(TcpFrame.SEND);
        for (int i = 0; i < count; i++) {
            small.frame(TcpFrame.WRITE, frame -> {});
        }
        int acknowledged = 0;
        while (acknowledged < count) {
            acknowledged += small.await(TcpFrame.ACKNOWLEDGEMENT).number;
        }
        assertThat(acknowledged).isEqualTo(count);
    }
}

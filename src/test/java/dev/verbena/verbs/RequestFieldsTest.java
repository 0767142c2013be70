package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.internal.raw.ibv_mw_bind_info;
import dev.verbena.internal.raw.ibv_recv_wr;
import dev.verbena.internal.raw.ibv_send_wr;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.address.AddressVector;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a batch writes for C, read by the generated accessors: each argument has a value of its own. */
@FencedTest
class RequestFieldsTest {
    private static final long ADDRESS = 0x1122334455667788L;
    private static final int KEY = 0x99aabbcc;
    private static final RemoteMemory REMOTE = new RemoteMemory(ADDRESS, KEY, 4096);
    private static final int CAPACITY = 3;

    private Loopback loopback;
    private LocalMemory local;
    private long start;
    private int key;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected();
        local = loopback.left.buffer.slice(64, 40);
        start = loopback.left.buffer.address() + 64;
        key = loopback.left.buffer.localKey();
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private SendBatch batch() {
        return loopback.left.pair.sendBatch(CAPACITY);
    }

    private static MemorySegment request(WorkBatch<?> batch, int index) {
        MemorySegment at = batch.memory.asSlice(0, ibv_send_wr.sizeof());
        for (int i = 0; i < index; i++) {
            at = ibv_send_wr.next(at).reinterpret(ibv_send_wr.sizeof());
        }
        return at;
    }

    /** Returns id, operation, flags and the pieces of memory. */
    private static List<Object> common(MemorySegment request) {
        List<Object> fields = new ArrayList<>();
        fields.add(ibv_send_wr.wr_id(request));
        fields.add(Operation.of(ibv_send_wr.opcode(request)));
        fields.add(ibv_send_wr.send_flags(request));
        fields.addAll(pieces(ibv_send_wr.sg_list(request), ibv_send_wr.num_sge(request)));
        return fields;
    }

    private static List<Object> pieces(MemorySegment list, int count) {
        List<Object> fields = new ArrayList<>();
        MemorySegment all = list.reinterpret(count * ibv_sge.sizeof());
        for (int i = 0; i < count; i++) {
            MemorySegment piece = ibv_sge.asSlice(all, i);
            fields.add(List.of(ibv_sge.addr(piece), ibv_sge.length(piece), ibv_sge.lkey(piece)));
        }
        return fields;
    }

    private List<Object> piece() {
        return List.of(start, 40, key);
    }

    private static List<Object> rdma(MemorySegment request) {
        MemorySegment rdma = ibv_send_wr.wr.rdma(ibv_send_wr.wr(request));
        return List.of(ibv_send_wr.wr.rdma.remote_addr(rdma), ibv_send_wr.wr.rdma.rkey(rdma));
    }

    private static List<Object> atomic(MemorySegment request) {
        MemorySegment atomic = ibv_send_wr.wr.atomic(ibv_send_wr.wr(request));
        return List.of(
                ibv_send_wr.wr.atomic.remote_addr(atomic),
                ibv_send_wr.wr.atomic.compare_add(atomic),
                ibv_send_wr.wr.atomic.swap(atomic),
                ibv_send_wr.wr.atomic.rkey(atomic));
    }

    @Test
    void sendsAndWritesHaveAllFields() {
        SendBatch batch =
                batch().send(0x1_0000_0001L, local).write(2, local, REMOTE).read(3, local, REMOTE);
        assertThat(common(request(batch, 0))).containsExactly(0x1_0000_0001L, Operation.SEND, 2, piece());
        assertThat(common(request(batch, 1))).containsExactly(2L, Operation.RDMA_WRITE, 2, piece());
        assertThat(common(request(batch, 2))).containsExactly(3L, Operation.RDMA_READ, 2, piece());
        assertThat(rdma(request(batch, 1))).containsExactly(ADDRESS, KEY);
        assertThat(rdma(request(batch, 2))).containsExactly(ADDRESS, KEY);
        assertThat(ibv_send_wr.next(request(batch, 2))).isNotNull();
    }

    @Test
    void requestsAreLinkedToTheLastOne() {
        SendBatch batch = batch().send(1, local).send(2, local).send(3, local);
        for (int size = 3; size >= 1; size--) {
            batch.clear();
            for (int i = 0; i < size; i++) {
                batch.send(i, local);
            }
            batch.post();
            for (int i = 0; i < size - 1; i++) {
                assertThat(ibv_send_wr.next(request(batch, i))).isEqualTo(request(batch, i + 1));
            }
            assertThat(ibv_send_wr.next(request(batch, size - 1))).isEqualTo(MemorySegment.NULL);
        }
        batch.clear().send(1, local).send(2, local).send(3, local).post();
        assertThat(ibv_send_wr.wr_id(request(batch, 2))).isEqualTo(3);
        assertThat(ibv_send_wr.next(request(batch, 2))).isEqualTo(MemorySegment.NULL);
    }

    @Test
    void atomicsHaveAllFields() {
        SendBatch batch = batch().fetchAndAdd(1, local, REMOTE, 5).compareAndSwap(2, local, REMOTE, 6, 7);
        assertThat(common(request(batch, 0))).containsExactly(1L, Operation.FETCH_AND_ADD, 2, List.of(start, 8, key));
        assertThat(common(request(batch, 1)))
                .containsExactly(2L, Operation.COMPARE_AND_SWAP, 2, List.of(start, 8, key));
        assertThat(atomic(request(batch, 0))).containsExactly(ADDRESS, 5L, 0L, KEY);
        assertThat(atomic(request(batch, 1))).containsExactly(ADDRESS, 6L, 7L, KEY);
    }

    @Test
    void inlineDataIsCopiedToPlacesOfTheBatch() {
        SendBatch batch = batch();
        for (int i = 0; i < CAPACITY; i++) {
            MemorySegment data = MemorySegment.ofArray(new byte[] {(byte) (i + 1), 2, 3});
            if (i == 1) {
                batch.writeInline(i, data, REMOTE);
            } else {
                batch.sendInline(i, data);
            }
            batch.andInline(MemorySegment.ofArray(new byte[] {4, 5}));
        }
        List<Long> places = new ArrayList<>();
        for (int i = 0; i < CAPACITY; i++) {
            MemorySegment request = request(batch, i);
            assertThat(ibv_send_wr.send_flags(request)).isEqualTo(2 | 8);
            assertThat(ibv_send_wr.num_sge(request)).isEqualTo(1);
            MemorySegment piece = ibv_send_wr.sg_list(request).reinterpret(ibv_sge.sizeof());
            assertThat(ibv_sge.length(piece)).isEqualTo(5);
            long at = ibv_sge.addr(piece) - batch.memory.address();
            assertThat(batch.memory.asSlice(at, 5).toArray(ValueLayout.JAVA_BYTE))
                    .containsExactly(i + 1, 2, 3, 4, 5);
            places.add(at);
        }
        int most = loopback.left.pair.capabilities().inlineSize();
        assertThat(places.get(1) - places.get(0)).isGreaterThanOrEqualTo(most);
        assertThat(places.get(2) + most).isLessThanOrEqualTo(batch.memory.byteSize());
        assertThat(rdma(request(batch, 1))).containsExactly(ADDRESS, KEY);
    }

    @Test
    void furtherPiecesAreWrittenInOrder() {
        LocalMemory other = loopback.left.buffer.slice(200, 16);
        SendBatch batch = batch().send(1, local).send(2, local).and(other).and(local);
        assertThat(common(request(batch, 0))).containsExactly(1L, Operation.SEND, 2, piece());
        assertThat(common(request(batch, 1)))
                .containsExactly(
                        2L,
                        Operation.SEND,
                        2,
                        piece(),
                        List.of(loopback.left.buffer.address() + 200, 16, key),
                        piece());
        assertThatThrownBy(() -> batch.and(other))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("3 pieces");
        batch.clear().send(3, local);
        assertThat(common(request(batch, 0))).containsExactly(3L, Operation.SEND, 2, piece());
    }

    @Test
    void immediateDataGoesInNetworkOrder() {
        SendBatch batch = batch().send(1, local)
                .immediate(0x01020304)
                .write(2, local, REMOTE)
                .immediate(-2);
        assertThat(common(request(batch, 0))).containsExactly(1L, Operation.SEND_WITH_IMMEDIATE, 2, piece());
        assertThat(common(request(batch, 1))).containsExactly(2L, Operation.RDMA_WRITE_WITH_IMMEDIATE, 2, piece());
        assertThat(ibv_send_wr.imm_data(request(batch, 0))).isEqualTo(0x04030201);
        assertThat(ibv_send_wr.imm_data(request(batch, 1))).isEqualTo(Integer.reverseBytes(-2));
        assertThat(rdma(request(batch, 1))).containsExactly(ADDRESS, KEY);
    }

    @Test
    void invalidationsNameTheKey() {
        SendBatch batch = batch().localInvalidate(1, KEY).send(2, local).invalidate(KEY + 1);
        assertThat(common(request(batch, 0))).containsExactly(1L, Operation.LOCAL_INVALIDATE, 2);
        assertThat(common(request(batch, 1))).containsExactly(2L, Operation.SEND_WITH_INVALIDATE, 2, piece());
        assertThat(ibv_send_wr.invalidate_rkey(request(batch, 0))).isEqualTo(KEY);
        assertThat(ibv_send_wr.invalidate_rkey(request(batch, 1))).isEqualTo(KEY + 1);
    }

    @Test
    void bindingsHaveAllFields() {
        MemoryRegion region =
                loopback.domain.register(loopback.arena.allocate(4096, 64), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
        MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
        int before = window.key();
        SendBatch batch = batch().bind(9, window, region.slice(128, 256), Set.of(AccessFlag.REMOTE_READ));
        MemorySegment request = request(batch, 0);
        assertThat(common(request)).containsExactly(9L, Operation.BIND_MW, 2);
        MemorySegment bind = ibv_send_wr.bind_mw(request);
        MemorySegment info = ibv_send_wr.bind_mw.bind_info(bind);
        assertThat(ibv_send_wr.bind_mw.mw(bind).address()).isEqualTo(window.address());
        assertThat(ibv_mw_bind_info.mr(info).address()).isEqualTo(region.structure());
        assertThat(ibv_mw_bind_info.addr(info)).isEqualTo(region.address() + 128);
        assertThat(ibv_mw_bind_info.length(info)).isEqualTo(256);
        assertThat(ibv_mw_bind_info.mw_access_flags(info)).isEqualTo(AccessFlag.REMOTE_READ.bit);
        batch.post();
        assertThat(ibv_send_wr.bind_mw.rkey(bind)).isEqualTo(window.key()).isNotEqualTo(before);
        assertThat(window.key() >>> 8).isEqualTo(before >>> 8);
    }

    @Test
    void datagramsNameTheirDestination() {
        try (QueuePair pair = loopback.domain.createQueuePair(
                QueuePair.ud(loopback.left.queue).sendSge(2))) {
            pair.toReady(7);
            AddressHandle path = loopback.domain.createAddressHandle(pair.pathTo(pair.endpoint()), loopback.arena);
            SendBatch batch = pair.sendBatch(2).send(1, local).to(path, 0x123456, KEY);
            MemorySegment ud = ibv_send_wr.wr.ud(ibv_send_wr.wr(request(batch, 0)));
            assertThat(ibv_send_wr.wr.ud.ah(ud).address()).isEqualTo(path.address());
            assertThat(ibv_send_wr.wr.ud.remote_qpn(ud)).isEqualTo(0x123456);
            assertThat(ibv_send_wr.wr.ud.remote_qkey(ud)).isEqualTo(KEY);
            assertThatThrownBy(() -> batch.to(path, 0x1000000, KEY)).isInstanceOf(IllegalArgumentException.class);
            path.close();
        }
    }

    @Test
    void idsOfRequestsAreChangedInPlace() {
        SendBatch batch = batch().send(1, local).send(2, local).send(3, local);
        batch.at(1).id(22);
        batch.id(0, 11).id(2, 33);
        assertThat(Stream.of(0, 1, 2).map(i -> ibv_send_wr.wr_id(request(batch, i))))
                .containsExactly(11L, 22L, 33L);
        assertThatThrownBy(() -> batch.at(3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> batch.id(3, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> batch.at(-1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(batch.at(1).size()).isEqualTo(3);
        assertThat(batch.capacity()).isEqualTo(CAPACITY);
        batch.at(1).fence();
        assertThat(ibv_send_wr.send_flags(request(batch, 1))).isEqualTo(2 | 1);
        assertThat(ibv_send_wr.send_flags(request(batch, 2))).isEqualTo(2);
        assertThatThrownBy(() -> batch.send(4, local))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("3 requests");
    }

    @Test
    void receivesHaveAllFields() {
        ReceiveBatch batch = loopback.right.pair.receiveBatch(2);
        LocalMemory other = loopback.left.buffer.slice(200, 16);
        batch.receive(5, local).and(other).receive(6, other);
        MemorySegment first = batch.memory.asSlice(0, ibv_recv_wr.sizeof());
        MemorySegment second = ibv_recv_wr.next(first).reinterpret(ibv_recv_wr.sizeof());
        List<Object> piece = List.of(loopback.left.buffer.address() + 200, 16, key);
        assertThat(ibv_recv_wr.wr_id(first)).isEqualTo(5);
        assertThat(ibv_recv_wr.wr_id(second)).isEqualTo(6);
        assertThat(pieces(ibv_recv_wr.sg_list(first), ibv_recv_wr.num_sge(first)))
                .containsExactly(piece(), piece);
        assertThat(pieces(ibv_recv_wr.sg_list(second), ibv_recv_wr.num_sge(second)))
                .containsExactly(piece);
        batch.and(local).and(local);
        assertThatThrownBy(() -> batch.and(local)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> batch.receive(7, local)).isInstanceOf(IllegalStateException.class);
        assertThat(batch.post()).isEqualTo(2);
        assertThat(ibv_recv_wr.next(second)).isEqualTo(MemorySegment.NULL);
    }

    @Test
    void atomicsAndLengthsAreChecked() {
        SendBatch batch = batch();
        RemoteMemory odd = new RemoteMemory(ADDRESS + 4, KEY, 64);
        RemoteMemory small = new RemoteMemory(ADDRESS, KEY, 7);
        LocalMemory seven = loopback.left.buffer.slice(0, 7);
        assertThatThrownBy(() -> batch.fetchAndAdd(1, local, odd, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> batch.fetchAndAdd(1, local, small, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> batch.fetchAndAdd(1, seven, REMOTE, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> batch.write(1, local, new RemoteMemory(ADDRESS, KEY, 39)))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> batch.read(1, local, new RemoteMemory(ADDRESS, KEY, 39)))
                .isInstanceOf(IndexOutOfBoundsException.class);
        int most = loopback.left.pair.capabilities().inlineSize();
        assertThatThrownBy(() -> batch.sendInline(1, MemorySegment.ofArray(new byte[most + 1])))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(batch.size()).isZero();
        RemoteMemory exact = new RemoteMemory(ADDRESS, KEY, 40);
        batch.write(1, local, exact);
        assertThatThrownBy(() -> batch.and(seven)).isInstanceOf(IndexOutOfBoundsException.class);
        batch.clear().write(1, local, new RemoteMemory(ADDRESS, KEY, 47)).and(seven);
        assertThatThrownBy(() -> batch.and(loopback.left.buffer.slice(0, 1)))
                .isInstanceOf(IndexOutOfBoundsException.class);
        batch.clear()
                .sendInline(1, MemorySegment.ofArray(new byte[most]))
                .writeInline(2, MemorySegment.ofArray(new byte[4]), new RemoteMemory(ADDRESS, KEY, 5))
                .andInline(MemorySegment.ofArray(new byte[1]));
        assertThatThrownBy(() -> batch.andInline(MemorySegment.ofArray(new byte[1])))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> batch.and(local)).isInstanceOf(IllegalStateException.class);
        batch.send(3, local);
        assertThatThrownBy(() -> batch.andInline(MemorySegment.ofArray(new byte[1])))
                .isInstanceOf(IllegalStateException.class);
        batch.at(1);
        assertThatThrownBy(() -> batch.andInline(MemorySegment.ofArray(new byte[1])))
                .isInstanceOf(IllegalStateException.class);
        assertThat(batch.size()).isEqualTo(3);
    }

    @Test
    void emptyBatchesHaveNoRequestToChange() {
        SendBatch batch = batch();
        for (Runnable change : List.<Runnable>of(
                batch::fence,
                batch::solicited,
                batch::unsignaled,
                () -> batch.id(1),
                () -> batch.immediate(1),
                () -> batch.invalidate(1),
                () -> batch.and(local),
                () -> batch.andInline(MemorySegment.ofArray(new byte[1])))) {
            assertThatThrownBy(change::run)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("empty");
        }
        batch.send(1, local).clear();
        assertThatThrownBy(batch::fence).isInstanceOf(IllegalStateException.class);
        assertThat(batch.post()).isZero();
        assertThatThrownBy(() -> loopback.left.pair.sendBatch(0)).isInstanceOf(IllegalArgumentException.class);
        assertThat(loopback.left.pair.sendBatch(1).capacity()).isOne();
    }

    @Test
    void operationsWithoutDataTakeNoPieces() {
        SendBatch batch = batch().localInvalidate(1, KEY);
        assertThatThrownBy(() -> batch.and(local)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> batch.immediate(1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> batch.to(pathOf(), 1, 1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> batch.toShared(1)).isInstanceOf(IllegalStateException.class);
    }

    private AddressHandle pathOf() {
        QueuePair pair = loopback.left.pair;
        AddressVector vector = pair.pathTo(pair.endpoint());
        return loopback.domain.createAddressHandle(vector);
    }
}

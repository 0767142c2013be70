package dev.verbena.verbs;

import static dev.verbena.verbs.GivenToC.given;
import static dev.verbena.verbs.GivenToC.text;
import static dev.verbena.verbs.GivenToC.words;
import static dev.verbena.verbs.Refusals.assertBusy;
import static dev.verbena.verbs.Refusals.assertFails;
import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertOutOfBounds;
import static dev.verbena.verbs.Refusals.assertRefused;
import static dev.verbena.verbs.Refusals.assertRefusedByC;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Errno;
import dev.verbena.internal.raw.ibv_flow_attr;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.address.Rate;
import dev.verbena.verbs.device.QueuePairType;
import dev.verbena.verbs.device.ReceiveSideScaling;
import dev.verbena.verbs.flow.FlowMatch;
import dev.verbena.verbs.flow.FlowRule;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What C is given: each field has the value that the program said, and the values all differ. */
@FencedTest
class StructsForCTest {
    private static final Gid GROUP = Gid.parse("ff0e::ffff:e001:203");
    private static final String GROUP_BYTES = "ff0e0000000000000000ffffe0010203";

    private Loopback loopback;
    private Context context;
    private ProtectionDomain domain;
    private CompletionQueue queue;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none());
        context = loopback.context;
        domain = loopback.domain;
        queue = loopback.left.queue;
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    // Queue pairs

    @Test
    void queuePairIsDescribed() {
        CompletionQueue receives = context.createCompletionQueue(8);
        QueuePair made = domain.createQueuePair(QueuePair.rc(queue, receives)
                .sendDepth(5)
                .receiveDepth(6)
                .sendSge(7)
                .receiveSge(8)
                .inlineSize(0x70));
        assertThat(given("ibv_create_qp", "ibv_qp_init_attr"))
                .isEqualTo(
                        "send_cq %x recv_cq %x cap.max_send_wr 5 cap.max_recv_wr 6 cap.max_send_sge 7 cap.max_recv_sge 8 "
                                + "cap.max_inline_data 70 qp_type 2",
                        queue.address(), receives.address());
        assertThat(made.capabilities()).hasToString("send 5x7, receive 6x8, inline 112");
        assertThat(made.sendQueue()).isSameAs(queue);
        assertThat(made.receiveQueue()).isSameAs(receives);
    }

    @Test
    void extendedQueuePairIsDescribed() {
        SharedReceiveQueue shared = domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        QueuePair pair = domain.createQueuePair(QueuePair.ud(queue)
                .sharedReceiveQueue(shared)
                .sendDepth(5)
                .sendSge(2)
                .operations(
                        QueuePairOptions.OfferedOperation.SEND, QueuePairOptions.OfferedOperation.SEND_WITH_IMMEDIATE)
                .flags(QueuePairOptions.Flag.SCATTER_FCS)
                .flags(QueuePairOptions.Flag.CVLAN_STRIPPING)
                .sourceNumber(0x4321)
                .tsoHeader(0x99));
        assertThat(given("ibv_create_qp_ex", "ibv_qp_init_attr_ex"))
                .isEqualTo(
                        "send_cq %x recv_cq %1$x srq %x cap.max_send_wr 5 cap.max_send_sge 2 qp_type 4 comp_mask 4d pd %x "
                                + "create_flags 700 max_tso_header 99 source_qpn 4321 send_ops_flags c",
                        queue.address(), shared.address(), domain.address());
        assertThat(pair.isExtended()).isTrue();
    }

    @Test
    void hashedQueuePairIsDescribed() {
        WorkQueue first = domain.createWorkQueue(WorkQueueOptions.of(queue, 4));
        WorkQueue second = domain.createWorkQueue(WorkQueueOptions.of(queue, 4));
        IndirectionTable table = context.createIndirectionTable(List.of(first, second, second, first));
        assertThat(given("ibv_create_rwq_ind_table", "ibv_rwq_ind_table_init_attr"))
                .isEqualTo("log_ind_tbl_size 2 ind_tbl &");
        assertThat(table.queues()).containsExactly(first, second, second, first);
        byte[] key = {3, 1, 4, 1, 5, 9, 2, 6};
        QueuePair pair = domain.createQueuePair(QueuePair.hashed(ReceiveHash.of(
                table,
                key,
                Set.of(ReceiveSideScaling.HashField.SOURCE_IPV4, ReceiveSideScaling.HashField.SOURCE_UDP_PORT))));
        assertThat(given("ibv_create_qp_ex", "ibv_qp_init_attr_ex"))
                .isEqualTo(
                        "qp_type 8 comp_mask 31 pd %x rwq_ind_tbl %x rx_hash_conf.rx_hash_function 1 "
                                + "rx_hash_conf.rx_hash_key_len 8 rx_hash_conf.rx_hash_key & "
                                + "rx_hash_conf.rx_hash_fields_mask 41",
                        domain.address(), table.address());
        assertThat(Fenced.given("ibv_create_qp_ex.rx_hash_key").toArray(ValueLayout.JAVA_BYTE))
                .isEqualTo(key);
        assertBusy(table::close, pair);
        pair.close();
        table.close();
    }

    @Test
    void tableNeedsAPowerOfTwoAndItsHashAKey() {
        WorkQueue only = domain.createWorkQueue(WorkQueueOptions.of(queue, 4));
        for (int entries : new int[] {0, 3, 6}) {
            assertIllegalArgument(
                    "power of two, got " + entries,
                    () -> context.createIndirectionTable(Collections.nCopies(entries, only)));
        }
        IndirectionTable table = context.createIndirectionTable(List.of(only));
        assertThat(given("ibv_create_rwq_ind_table", "ibv_rwq_ind_table_init_attr"))
                .isEqualTo("ind_tbl &");
        for (int length : new int[] {1, 255}) {
            assertThat(ReceiveHash.of(table, new byte[length], Set.of()).key.byteSize())
                    .isEqualTo(length);
        }
        for (int length : new int[] {0, 256}) {
            assertIllegalArgument(
                    "1 to 255 bytes, got " + length, () -> ReceiveHash.of(table, new byte[length], Set.of()));
        }
    }

    @Test
    void receivingPairOfAnotherProcessIsOpenedByItsNumber() {
        XrcDomain shared = context.openXrcDomain();
        QueuePair opened = shared.openQueuePair(0x123456);
        assertThat(given("ibv_open_qp", "ibv_qp_open_attr"))
                .isEqualTo("comp_mask b qp_num 123456 xrcd %x qp_type a", shared.address());
        assertThat(opened.number()).isEqualTo(0x123456);
        assertThat(opened.type()).isEqualTo(QueuePairType.XRC_RECV);
        assertThat(opened.arena()).isSameAs(loopback.arena);
        assertThat(opened.state()).as("asked of the device").isEqualTo(QueuePairState.RTR);
        assertIllegalState("made by another process", opened::domain);
        assertIllegalState("no sends", opened::sendQueue);
        assertIllegalState("no receives", opened::receiveQueue);
        assertBusy(shared::close, opened);
        opened.close();
        shared.close();
    }

    @Test
    void openingAPairOfAnotherProcessIsRefusedWithItsReason() {
        XrcDomain shared = context.openXrcDomain();
        for (int number : new int[] {-1, 0x1000000}) {
            assertIllegalArgument(String.valueOf(number), () -> shared.openQueuePair(number));
        }
        assertRefusedByC("ibv_open_qp(fenced0, queue pair 16777215): EINVAL", () -> shared.openQueuePair(0xffffff))
                .hasMessageNotContaining("to share");
        assertRefusedByC(
                        "ibv_open_qp(fenced0, queue pair 7): EOPNOTSUPP",
                        "has no queue pairs to share",
                        () -> shared.openQueuePair(7))
                .isInstanceOf(UnsupportedVerbException.class);
    }

    @Test
    void sendingPairOfAnXrcConnectionHasNoReceives() {
        QueuePair pair =
                domain.createQueuePair(QueuePair.xrcSend(queue).sendDepth(5).sendSge(2));
        assertThat(given("ibv_create_qp", "ibv_qp_init_attr"))
                .isEqualTo("send_cq %x cap.max_send_wr 5 cap.max_send_sge 2 qp_type 9", queue.address());
        assertThat(pair.sendQueue()).isSameAs(queue);
        assertIllegalState("has no receives", pair::receiveQueue);
    }

    @Test
    void receivingPairOfAnXrcConnectionBelongsToItsDomain() {
        XrcDomain shared = context.openXrcDomain();
        domain.createQueuePair(QueuePair.xrcReceive(shared));
        assertThat(given("ibv_create_qp_ex", "ibv_qp_init_attr_ex"))
                .isEqualTo("qp_type a comp_mask 2 xrcd %x", shared.address());
    }

    @Test
    void rateLimitIsDescribed() {
        QueuePair pair = loopback.left.pair;
        pair.limitRate(RateLimit.of(0x1000).maxBurst(0x2000).typicalPacket(0x300));
        assertThat(given("ibv_modify_qp_rate_limit", "ibv_qp_rate_limit_attr"))
                .isEqualTo("rate_limit 1000 max_burst_sz 2000 typical_pkt_sz 300");
        assertRefused("ibv_modify_qp_rate_limit", Errno.EOPNOTSUPP, () -> pair.limitRate(RateLimit.of(1000)))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining(pair.toString());
        pair.close();
    }

    @Test
    void enhancedConnectionOptionsGoBothWays() {
        QueuePair pair = loopback.left.pair;
        assertThat(pair.queryEce()).isEqualTo(new Ece(0x15b3, 0x77));
        pair.setEce(new Ece(0x1234, 5));
        assertThat(given("ibv_set_ece", "ibv_ece")).isEqualTo("vendor_id 1234 options 5");
        assertRefusedByC("ibv_query_ece(" + pair + "): EINVAL", pair::queryEce);
        assertRefusedByC(
                "ibv_set_ece(" + pair + ", vendor 0x1, options 0x2): EINVAL", () -> pair.setEce(new Ece(1, 2)));
        pair.close();
    }

    private static void answerOrder(int bits) {
        try (Arena scratch = Arena.ofConfined()) {
            Fenced.answer("ibv_query_qp_data_in_order", scratch.allocateFrom(ValueLayout.JAVA_INT, bits));
        }
    }

    private static int[] askedForOrder() {
        return Fenced.given("ibv_query_qp_data_in_order").toArray(ValueLayout.JAVA_INT);
    }

    @Test
    void orderOfDataIsAskedForAnOperation() {
        QueuePair pair = loopback.left.pair;
        for (Operation.DataOrder order : Operation.DataOrder.values()) {
            answerOrder(order.bit);
            assertThat(pair.dataInOrder(Operation.RDMA_WRITE)).containsExactly(order);
            assertThat(askedForOrder())
                    .containsExactly(Operation.RDMA_WRITE.code(), rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS());
            assertThat(pair.dataInOrderOfDevice(Operation.RDMA_READ)).containsExactly(order);
            assertThat(askedForOrder())
                    .containsExactly(
                            Operation.RDMA_READ.code(),
                            rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS()
                                    | rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY());
        }
        assertIllegalArgument(() -> pair.dataInOrder(Operation.RECEIVE));
    }

    /** A library that does not know the flag answers 0, and has to be asked without it. */
    @Test
    void orderOfDataIsAskedOfOlderLibrariesWithoutFlags() {
        QueuePair pair = loopback.left.pair;
        answerOrder(0);
        Fenced.calm();
        assertThat(pair.dataInOrder(Operation.RDMA_WRITE)).containsExactly(Operation.DataOrder.WHOLE_MESSAGE);
        assertThat(Fenced.calls("ibv_query_qp_data_in_order")).isEqualTo(2);
        Fenced.fail("ibv_query_qp_data_in_order", 2, Errno.EINVAL);
        assertThat(pair.dataInOrder(Operation.RDMA_WRITE)).isEmpty();
        assertThat(pair.dataInOrderOfDevice(Operation.RDMA_WRITE)).isEmpty();
        pair.close();
    }

    @Test
    void parentDomainIsDescribed() {
        ThreadDomain threads = context.allocateThreadDomain();
        ProtectionDomain parent =
                domain.allocateParentDomain(ParentDomainOptions.defaults().threadDomain(threads));
        assertThat(given("ibv_alloc_parent_domain", "ibv_parent_domain_init_attr"))
                .isEqualTo("pd %x td %x", domain.address(), threads.address());
        assertThat(parent.base()).containsSame(domain);
        assertThat(parent.threadDomain()).containsSame(threads);
        assertThat(domain.base()).isEmpty();
        assertThat(parent.toString()).contains("parent").isNotEqualTo(domain.toString());
    }

    // Paths

    @Test
    void addressHandleIsDescribed() {
        GlobalRoute route = new GlobalRoute(GROUP, 3, 0xabcde, 0xf4, 0xf5);
        AddressVector path = AddressVector.of(1)
                .destinationLid(0xf123)
                .serviceLevel(6)
                .sourcePathBits(0x77)
                .staticRate(Rate.GBPS_40)
                .globalRoute(route);
        AddressHandle handle = domain.createAddressHandle(path);
        assertThat(given("ibv_create_ah", "ibv_ah_attr"))
                .isEqualTo("grh.dgid.raw " + GROUP_BYTES + " grh.flow_label abcde grh.sgid_index 3 grh.hop_limit f4 "
                        + "grh.traffic_class f5 dlid f123 sl 6 src_path_bits 77 static_rate 7 is_global 1 port_num 1");
        assertThat(AddressCodec.readPath(Fenced.given("ibv_create_ah"))).isEqualTo(path);
        assertThat(handle.path()).isEqualTo(path);
        domain.createAddressHandle(path.globalRoute(null));
        assertThat(given("ibv_create_ah", "ibv_ah_attr"))
                .isEqualTo("dlid f123 sl 6 src_path_bits 77 static_rate 7 port_num 1");
    }

    @ParameterizedTest
    @CsvSource({
        "false, EINVAL, RoCE needs a global route",
        "true, EINVAL, the kinds of the two GIDs",
        "true, ENODATA, no GID at this index",
        "true, ETIMEDOUT, on the network of this GID",
        "true, EHOSTUNREACH, on the network of this GID"
    })
    void addressHandleThatIsRefusedSaysWhatToCheck(boolean isGlobal, String errno, String hint) {
        AddressVector local = AddressVector.of(1).destinationLid(7);
        AddressVector path = isGlobal ? local.globalRoute(GlobalRoute.to(GROUP, 0)) : local;
        assertRefusedByC(
                "ibv_create_ah(fenced0, " + path + "): " + errno, hint, () -> domain.createAddressHandle(path));
    }

    @Test
    void pathBackIsMadeFromTheCompletionAndTheHeader() throws InterruptedException {
        QueuePair left = domain.createQueuePair(QueuePair.ud(queue));
        QueuePair right = domain.createQueuePair(QueuePair.ud(loopback.right.queue));
        left.toReady(0x111, 0);
        right.toReady(0x222, 1);
        right.postReceive(1, loopback.right.buffer);
        AddressHandle there = domain.createAddressHandle(left.pathTo(right.endpoint()));
        left.postSend(2, loopback.left.buffer.slice(0, 8), there, right.number(), 0x222);
        WorkCompletion received = loopback.right.done();
        MemorySegment memory = loopback.right.buffer.segment();
        AddressVector back = context.pathBack(received, memory);
        assertThat(given("ibv_init_ah_from_wc", "ibv_wc")).isEqualTo("wc_flags 1 slid 1234 sl 5 dlid_path_bits 7");
        assertThat(back.port()).isEqualTo(1);
        assertThat(back.destinationLid()).isEqualTo(0x1234);
        assertThat(back.serviceLevel()).isEqualTo(5);
        assertThat(back.sourcePathBits()).isEqualTo(7);
        assertThat(back.globalRoute().destination()).isEqualTo(Gid.parse("::ffff:10.9.9.1"));
        assertRefusedByC(
                "ibv_init_ah_from_wc(fenced0, port 1): EINVAL", "40 bytes", () -> context.pathBack(received, memory));
        right.close(); // the number is unknown now
        assertThat(context.pathBack(received, memory).port()).isEqualTo(1);
    }

    // Memory

    @Test
    void xrcDomainIsDescribed() {
        context.openXrcDomain();
        assertThat(given("ibv_open_xrcd", "ibv_xrcd_init_attr"))
                .isEqualTo("comp_mask 3 fd ffffffff oflags 40"); // O_CREAT
        XrcDomain shared = context.openXrcDomain(Path.of("/"));
        assertThat(given("ibv_open_xrcd", "ibv_xrcd_init_attr")).matches("comp_mask 3 fd \\p{XDigit}{1,7} oflags 40");
        assertThat(shared.context()).isSameAs(context);
    }

    @Test
    void xrcDomainThatIsRefusedSaysWhy() {
        assertRefusedByC(
                        "ibv_open_xrcd(fenced0, no file): EOPNOTSUPP",
                        "no extended reliable connections",
                        () -> context.openXrcDomain())
                .isInstanceOf(UnsupportedVerbException.class);
        assertRefusedByC("ibv_open_xrcd(fenced0, /): EINVAL", () -> context.openXrcDomain(Path.of("/")))
                .hasMessageNotContaining("extended");
        Fenced.calm();
        assertFails("open(/no/such/file): ENOENT", () -> context.openXrcDomain(Path.of("/no/such/file")));
        assertThat(Fenced.calls("ibv_open_xrcd")).isZero();
    }

    @Test
    void deviceMemoryIsDescribed() {
        DeviceMemory memory = context.allocateDeviceMemory(100, 64);
        assertThat(given("ibv_alloc_dm", "ibv_alloc_dm_attr")).isEqualTo("length 64 log_align_req 6");
        assertThat(memory.length()).isEqualTo(100);
        context.allocateDeviceMemory(1);
        assertThat(given("ibv_alloc_dm", "ibv_alloc_dm_attr"))
                .as("any alignment")
                .isEqualTo("length 1");
        assertIllegalArgument("at least 1", () -> context.allocateDeviceMemory(0));
        for (long alignment : new long[] {0, -1, 3, Long.MIN_VALUE}) {
            assertIllegalArgument("power of two, got " + alignment, () -> context.allocateDeviceMemory(100, alignment));
        }
    }

    @Test
    void deviceMemoryIsCopiedWithItsOffset() {
        DeviceMemory memory = context.allocateDeviceMemory(16, 1);
        memory.write(0, MemorySegment.ofArray(new byte[] {0, 1, 2, 3, 4, 5, 6, 7}));
        memory.write(5, MemorySegment.ofArray(new byte[] {50, 60}));
        byte[] read = new byte[6];
        memory.read(2, MemorySegment.ofArray(read));
        assertThat(read).containsExactly(2, 3, 4, 50, 60, 7);
        assertIllegalArgument(
                "read-only", () -> memory.read(0, MemorySegment.ofArray(read).asReadOnly()));
        assertOutOfBounds(() -> memory.read(11, MemorySegment.ofArray(read)));
        assertOutOfBounds(() -> memory.read(-1, MemorySegment.ofArray(read)));
        assertOutOfBounds(() -> memory.write(15, MemorySegment.ofArray(new byte[2])));
        memory.write(15, MemorySegment.ofArray(new byte[1]));
        assertThat(Fenced.calls("ibv_memcpy_from_dm")).isEqualTo(1);
        assertRefusedByC(
                "ibv_memcpy_from_dm(" + memory + ", offset 3): EINVAL",
                () -> memory.read(3, MemorySegment.ofArray(read)));
        assertThat(read).as("a failed copy fills nothing").containsExactly(2, 3, 4, 50, 60, 7);
        memory.close();
    }

    @Test
    void deviceMemoryIsImportedAndExported() {
        DeviceMemory memory = context.allocateDeviceMemory(16, 1);
        DeviceMemory imported = context.importDeviceMemory(memory.handle(), 16);
        assertThat(imported.length()).isEqualTo(16);
        assertThat(imported.arena()).isSameAs(loopback.arena);
        int descriptor = memory.exportDmaBuf();
        assertThat(descriptor).isPositive();
        assertThat(words("ibv_dm_export_dmabuf_fd")).containsExactly(memory.address());
        MemoryRegion region = domain.register(
                RegionOptions.dmaBuf(descriptor, 3, 40).address(0x5000).access(AccessFlag.LOCAL_WRITE));
        assertThat(words("ibv_reg_dmabuf_mr"))
                .containsExactly(3L, 40L, 0x5000L, (long) descriptor, (long) AccessFlag.LOCAL_WRITE.bit);
        assertThat(region.address()).isEqualTo(0x5000);
        assertThat(region.length()).isEqualTo(40);
        assertThat(region.toString()).contains("DMA buffer " + descriptor);
        assertRefusedByC("ibv_dm_export_dmabuf_fd(" + memory + "): EINVAL", memory::exportDmaBuf);
        RegionOptions moved = RegionOptions.dmaBuf(descriptor, 3, 40).address(0);
        String start = "ibv_reg_dmabuf_mr(40 bytes of DMA buffer " + descriptor + " at 0x0, offset 3, []): ";
        assertRefusedByC(start + "EBADF", "descriptor is not open", () -> domain.register(moved));
        assertRefusedByC(start + "EINVAL", () -> domain.register(moved)).hasMessageNotContaining("not open");
        for (long[] bad : new long[][] {{-1, 0, 1}, {descriptor, -1, 1}, {descriptor, 0, 0}}) {
            assertIllegalArgument(() -> RegionOptions.dmaBuf((int) bad[0], bad[1], bad[2]));
        }
    }

    @Test
    void hintsForTheBusAreDescribed() {
        DmaHandle handle = context.allocateDmaHandle(
                DmaHints.none().cpu(0x300).processingHint(2).memoryType(1));
        assertThat(given("ibv_alloc_dmah", "ibv_dmah_init_attr"))
                .isEqualTo("comp_mask 7 cpu_id 300 ph 2 tph_mem_type 1");
        assertThat(handle.hints())
                .isEqualTo(DmaHints.none().cpu(0x300).processingHint(2).memoryType(1));
        assertThat(handle).hasToString("DMA handle of fenced0, " + handle.hints());
        context.allocateDmaHandle(DmaHints.none().processingHint(0));
        assertThat(given("ibv_alloc_dmah", "ibv_dmah_init_attr")).isEqualTo("comp_mask 2");
        context.allocateDmaHandle(DmaHints.none().cpu(0));
        assertThat(given("ibv_alloc_dmah", "ibv_dmah_init_attr")).isEqualTo("comp_mask 1");
    }

    @Test
    void hintedRegistrationNamesItsHandle() {
        MemorySegment memory = loopback.arena.allocate(128, 64);
        DmaHandle handle = context.allocateDmaHandle(DmaHints.none().cpu(3));
        MemoryRegion region = domain.register(
                RegionOptions.of(memory).access(AccessFlag.LOCAL_WRITE).hints(handle));
        assertThat(given("ibv_reg_mr_ex", "ibv_mr_init_attr"))
                .isEqualTo(
                        "length 80 access 1 comp_mask 13 iova %x addr %1$x dmah %x",
                        memory.address(), handle.address());
        assertBusy(handle::close, region);
        assertRefusedByC(
                "ibv_reg_mr_ex(memory 128 bytes at 0x" + Long.toHexString(memory.address()) + ", access [], hints "
                        + handle + "): EINVAL",
                () -> domain.register(RegionOptions.of(memory).hints(handle)));
        region.close();
        handle.close();
    }

    @ParameterizedTest
    @EnumSource
    void adviceNamesEachRange(ProtectionDomain.Advice advice) {
        MemoryRegion region = loopback.left.buffer;
        domain.advise(advice, true, region.slice(8, 0x16), region.slice(100, 7));
        MemorySegment list = Fenced.given("ibv_advise_mr");
        String range = "addr %x length %x lkey " + Integer.toHexString(region.localKey());
        assertThat(text("ibv_sge", list)).isEqualTo(range, region.address() + 8, 0x16);
        assertThat(text("ibv_sge", list.asSlice(ibv_sge.sizeof()))).isEqualTo(range, region.address() + 100, 7);
        assertThat(list.byteSize()).isEqualTo(2 * ibv_sge.sizeof());
        domain.advise(advice, false, region.slice(1, 63));
        assertIllegalArgument("at least one range", () -> domain.advise(advice, true));
        assertRefused("ibv_advise_mr", Errno.EINVAL, () -> domain.advise(advice, true, region))
                .hasMessageStartingWith("ibv_advise_mr(" + advice + ", [" + region);
        ProtectionDomain foreign = context.allocateProtectionDomain();
        assertIllegalArgument(() -> foreign.advise(advice, true, region));
        MemoryRegion closed = domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        closed.close();
        assertIllegalState("closed", () -> domain.advise(advice, true, closed));
    }

    // Steering

    @Test
    void flowIsDescribedWithItsCounters() {
        QueuePair pair = domain.createQueuePair(QueuePair.rawPacket(queue));
        Counters counters = context.createCounters();
        FlowRule rule = FlowRule.of(counters.action()).priority(9).port(1);
        Flow flow = pair.createFlow(rule);
        assertThat(given("ibv_create_flow", "ibv_flow_attr")).isEqualTo("size 24 priority 9 num_of_specs 1 port 1");
        MemorySegment count = Fenced.given("ibv_create_flow").asSlice(ibv_flow_attr.sizeof());
        assertThat(text("ibv_flow_spec_counter_action", count))
                .isEqualTo("type 1003 size 10 counters %x", counters.address());
        assertThat(flow.queuePair()).isSameAs(pair);
        assertThat(flow.rule()).isEqualTo(rule);
        assertBusy(counters::close, flow);
        flow.close();
        counters.close();
    }

    @ParameterizedTest
    @EnumSource
    void kindOfAFlowReachesC(FlowRule.Kind kind) {
        QueuePair pair = domain.createQueuePair(QueuePair.rawPacket(queue));
        try (Flow flow = pair.createFlow(FlowRule.of(kind))) {
            assertThat(ibv_flow_attr.type(Fenced.given("ibv_create_flow"))).isEqualTo(kind.ordinal());
            assertThat(flow.rule()).isEqualTo(FlowRule.of(kind));
        }
    }

    @Test
    void countersAreAttachedAndRead() {
        QueuePair pair = domain.createQueuePair(QueuePair.rawPacket(queue));
        Flow flow = pair.createFlow(FlowRule.of(FlowMatch.ethernet()));
        Counters counters = context.createCounters();
        counters.attach(Counters.Kind.BYTES, 3);
        assertThat(words("ibv_attach_counters_point_flow"))
                .as("no flow")
                .containsExactly(counters.address(), (long) Counters.Kind.BYTES.code, 3L, 0L);
        counters.attach(Counters.Kind.PACKETS, 65535, flow);
        List<Long> given =
                words("ibv_attach_counters_point_flow").skip(1).boxed().toList();
        assertThat(given).startsWith((long) Counters.Kind.PACKETS.code, 65535L);
        assertThat(given.getLast()).as("the flow's handle").isPositive();
        assertThat(counters.read(3, false)).containsExactly(100, 101, 102);
        assertThat(counters.read(1, true)).containsExactly(200);
        for (int count : new int[] {0, -1, 65537}) {
            assertOutOfBounds(() -> counters.read(count, false));
        }
        assertThat(counters.read(65536, false)).hasSize(65536);
        for (int index : new int[] {-1, 65536}) {
            assertOutOfBounds(() -> counters.attach(Counters.Kind.BYTES, index))
                    .hasMessageContaining("from 0 to 65535, got " + index);
        }
        assertRefusedByC(
                "ibv_attach_counters_point_flow(BYTES as 4, " + flow + "): EINVAL",
                () -> counters.attach(Counters.Kind.BYTES, 4, flow));
        assertRefusedByC("ibv_read_counters(" + counters + "): EINVAL", () -> counters.read(1, false));
        counters.close();
        flow.close(); // no call has kept either open
    }

    @Test
    void multicastGroupIsNamedByItsGidAndLid() {
        QueuePair pair = domain.createQueuePair(QueuePair.ud(queue));
        pair.attachMulticast(GROUP, 0xc123);
        assertGroup("ibv_attach_mcast", "23c1");
        pair.attachMulticast(GROUP);
        assertGroup("ibv_attach_mcast", "0000");
        pair.detachMulticast(GROUP, 0xc123);
        assertGroup("ibv_detach_mcast", "23c1");
        assertRefusedByC(
                "ibv_detach_mcast(" + pair + ", " + GROUP + "): EINVAL",
                "Is the queue pair in the group?",
                () -> pair.detachMulticast(GROUP));
        pair.detachMulticast(GROUP);
        assertGroup("ibv_detach_mcast", "0000");
        assertRefused("ibv_attach_mcast", Errno.EINVAL, () -> pair.attachMulticast(GROUP))
                .hasMessageContaining("the GID of a multicast group?");
        Fenced.calm();
        pair.close();
        assertThat(Fenced.calls("ibv_detach_mcast")).isZero();
    }

    private static void assertGroup(String function, String lid) {
        byte[] group = Fenced.given(function).toArray(ValueLayout.JAVA_BYTE);
        assertThat(HexFormat.of().formatHex(group)).isEqualTo(GROUP_BYTES + lid);
    }

    /** The kernel refuses to destroy a queue pair that is in a group. */
    @Test
    void queuePairLeavesItsGroupsWhenItCloses() {
        QueuePair pair = domain.createQueuePair(QueuePair.ud(queue));
        pair.attachMulticast(GROUP);
        pair.attachMulticast(GROUP, 5);
        pair.attachMulticast(GROUP, 6);
        pair.detachMulticast(GROUP, 5);
        Fenced.calm();
        pair.close();
        assertThat(Fenced.calls("ibv_detach_mcast")).isEqualTo(2);
    }

    // Tags

    @Test
    void tagIsDescribed() {
        SharedReceiveQueue tagged = domain.createSharedReceiveQueue(SharedReceiveQueue.tagMatching(queue, 8, 4));
        MemoryRegion region = loopback.left.buffer;
        int handle =
                tagged.tags().add(0x11, 0x12, region.slice(24, 0x48), 0x1122334455667788L, 0xff00ff00ff00ff00L, 0x13);
        assertThat(handle).isEqualTo(0x7a9);
        assertThat(given("ibv_post_srq_ops", "ibv_ops_wr"))
                .isEqualTo(
                        "wr_id 11 flags 3 tm.unexpected_cnt 13 tm.add.recv_wr_id 12 tm.add.sg_list & tm.add.num_sge 1 "
                                + "tm.add.tag 1122334455667788 tm.add.mask ff00ff00ff00ff00");
        assertThat(given("ibv_post_srq_ops.sg_list", "ibv_sge"))
                .isEqualTo("addr %x length 48 lkey %x", region.address() + 24, region.localKey());
        tagged.tags().remove(0x21, handle, 0x22);
        assertThat(given("ibv_post_srq_ops", "ibv_ops_wr"))
                .startsWith("wr_id 21 opcode 1 ")
                .contains(" tm.unexpected_cnt 22 tm.handle 7a9");
        tagged.tags().synchronize(0x31, 0x32);
        assertThat(given("ibv_post_srq_ops", "ibv_ops_wr"))
                .startsWith("wr_id 31 opcode 2 ")
                .contains(" tm.unexpected_cnt 32");
        assertRefused("ibv_post_srq_ops", Errno.EINVAL, () -> tagged.tags().add(1, 2, region, 0xabc, -1, 0))
                .hasMessageContaining("adding tag 0xabc");
        assertRefused("ibv_post_srq_ops", Errno.EINVAL, () -> tagged.tags().remove(1, 5, 0))
                .hasMessageContaining("removing tag handle 5");
        assertRefused("ibv_post_srq_ops", Errno.EINVAL, () -> tagged.tags().synchronize(1, 0))
                .hasMessageContaining("synchronising");
        assertThat(tagged.tags()).hasToString("tags of " + tagged);
        ProtectionDomain other = context.allocateProtectionDomain();
        MemoryRegion foreign = other.register(loopback.arena.allocate(8), AccessFlag.LOCAL_WRITE);
        assertIllegalArgument(() -> tagged.tags().add(1, 2, foreign, 3, -1, 0));
    }

    /** C does not notice that a part of the address space is closed, so each post keeps it open. */
    @Test
    void tagKeepsAPartOfTheAddressSpaceOpenNoLongerThanItsPost() {
        SharedReceiveQueue tagged = domain.createSharedReceiveQueue(SharedReceiveQueue.tagMatching(queue, 8, 4));
        MemoryRegion part = domain.registerAddressSpace(AccessFlag.LOCAL_WRITE).region(loopback.arena.allocate(64));
        assertThat(tagged.tags().add(1, 2, part, 3, -1, 0)).isEqualTo(0x7a9);
        assertRefused("ibv_post_srq_ops", Errno.EINVAL, () -> tagged.tags().add(1, 2, part, 3, -1, 0));
        part.close();
        assertIllegalState("closed", () -> tagged.tags().add(1, 2, part, 3, -1, 0));
    }
}

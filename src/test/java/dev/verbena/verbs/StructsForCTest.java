package dev.verbena.verbs;

import static dev.verbena.verbs.RefusedByC.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.raw.ibv_ah_attr;
import dev.verbena.internal.raw.ibv_alloc_dm_attr;
import dev.verbena.internal.raw.ibv_dmah_init_attr;
import dev.verbena.internal.raw.ibv_ece;
import dev.verbena.internal.raw.ibv_flow_attr;
import dev.verbena.internal.raw.ibv_flow_spec_counter_action;
import dev.verbena.internal.raw.ibv_global_route;
import dev.verbena.internal.raw.ibv_mr_init_attr;
import dev.verbena.internal.raw.ibv_ops_wr;
import dev.verbena.internal.raw.ibv_parent_domain_init_attr;
import dev.verbena.internal.raw.ibv_qp_cap;
import dev.verbena.internal.raw.ibv_qp_init_attr_ex;
import dev.verbena.internal.raw.ibv_qp_open_attr;
import dev.verbena.internal.raw.ibv_qp_rate_limit_attr;
import dev.verbena.internal.raw.ibv_rwq_ind_table_init_attr;
import dev.verbena.internal.raw.ibv_rx_hash_conf;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.internal.raw.ibv_wc;
import dev.verbena.internal.raw.ibv_xrcd_init_attr;
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
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What C is given: each field has the value that the program said, and the values all differ. */
@FencedTest
class StructsForCTest {
    private static final Gid GROUP = Gid.parse("ff0e::ffff:e001:203");

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

    private static long word(MemorySegment arguments, int index) {
        return arguments.getAtIndex(ValueLayout.JAVA_LONG, index);
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
                .inlineSize(70));
        MemorySegment init = Fenced.given("ibv_create_qp");
        MemorySegment sizes = ibv_qp_init_attr_ex.cap(init);
        assertThat(ibv_qp_init_attr_ex.send_cq(init).address()).isEqualTo(queue.address());
        assertThat(ibv_qp_init_attr_ex.recv_cq(init).address()).isEqualTo(receives.address());
        assertThat(ibv_qp_init_attr_ex.srq(init).address()).isZero();
        assertThat(ibv_qp_init_attr_ex.qp_type(init)).isEqualTo(QueuePairType.RC.code());
        assertThat(ibv_qp_cap.max_send_wr(sizes)).isEqualTo(5);
        assertThat(ibv_qp_cap.max_recv_wr(sizes)).isEqualTo(6);
        assertThat(ibv_qp_cap.max_send_sge(sizes)).isEqualTo(7);
        assertThat(ibv_qp_cap.max_recv_sge(sizes)).isEqualTo(8);
        assertThat(ibv_qp_cap.max_inline_data(sizes)).isEqualTo(70);
        assertThat(made.sendQueue()).isSameAs(queue);
        assertThat(made.receiveQueue()).isSameAs(receives);
    }

    @Test
    void extendedQueuePairIsDescribed() {
        SharedReceiveQueue shared = domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        QueuePair pair = domain.createQueuePair(QueuePair.ud(queue)
                .sharedReceiveQueue(shared)
                .operations(
                        QueuePairOptions.OfferedOperation.SEND, QueuePairOptions.OfferedOperation.SEND_WITH_IMMEDIATE)
                .flags(QueuePairOptions.Flag.SCATTER_FCS)
                .sourceNumber(0x4321)
                .tsoHeader(99));
        MemorySegment init = Fenced.given("ibv_create_qp_ex");
        assertThat(ibv_qp_init_attr_ex.srq(init).address()).isEqualTo(shared.address());
        assertThat(ibv_qp_init_attr_ex.pd(init).address()).isEqualTo(domain.address());
        assertThat(ibv_qp_init_attr_ex.max_tso_header(init)).isEqualTo((short) 99);
        assertThat(ibv_qp_init_attr_ex.source_qpn(init)).isEqualTo(0x4321);
        assertThat(ibv_qp_init_attr_ex.create_flags(init))
                .isEqualTo(QueuePairOptions.Flag.SCATTER_FCS.bit | QueuePairOptions.Flag.SOURCE_QPN.bit);
        assertThat(ibv_qp_init_attr_ex.send_ops_flags(init))
                .isEqualTo(QueuePairOptions.OfferedOperation.SEND.bit()
                        | QueuePairOptions.OfferedOperation.SEND_WITH_IMMEDIATE.bit());
        assertThat(ibv_qp_init_attr_ex.comp_mask(init))
                .isEqualTo(rdma_h.IBV_QP_INIT_ATTR_PD()
                        | rdma_h.IBV_QP_INIT_ATTR_CREATE_FLAGS()
                        | rdma_h.IBV_QP_INIT_ATTR_MAX_TSO_HEADER()
                        | rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS());
        assertThat(pair.isExtended()).isTrue();
    }

    @Test
    void hashedQueuePairIsDescribed() {
        WorkQueue first = domain.createWorkQueue(WorkQueueOptions.of(queue, 4));
        WorkQueue second = domain.createWorkQueue(WorkQueueOptions.of(queue, 4));
        IndirectionTable table = context.createIndirectionTable(List.of(first, second, second, first));
        MemorySegment wanted = Fenced.given("ibv_create_rwq_ind_table");
        assertThat(ibv_rwq_ind_table_init_attr.log_ind_tbl_size(wanted)).isEqualTo(2);
        assertThat(table.queues()).containsExactly(first, second, second, first);
        byte[] key = {3, 1, 4, 1, 5, 9, 2, 6};
        QueuePair pair = domain.createQueuePair(QueuePair.hashed(ReceiveHash.of(
                table,
                key,
                Set.of(ReceiveSideScaling.HashField.SOURCE_IPV4, ReceiveSideScaling.HashField.SOURCE_UDP_PORT))));
        MemorySegment init = Fenced.given("ibv_create_qp_ex");
        MemorySegment hash = ibv_qp_init_attr_ex.rx_hash_conf(init);
        assertThat(ibv_qp_init_attr_ex.rwq_ind_tbl(init).address()).isEqualTo(table.address());
        assertThat(ibv_qp_init_attr_ex.comp_mask(init))
                .isEqualTo(rdma_h.IBV_QP_INIT_ATTR_PD()
                        | rdma_h.IBV_QP_INIT_ATTR_IND_TABLE()
                        | rdma_h.IBV_QP_INIT_ATTR_RX_HASH());
        assertThat(ibv_rx_hash_conf.rx_hash_function(hash)).isEqualTo((byte) rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ());
        assertThat(ibv_rx_hash_conf.rx_hash_key_len(hash)).isEqualTo((byte) key.length);
        assertThat(Fenced.given("ibv_create_qp_ex.rx_hash_key").toArray(ValueLayout.JAVA_BYTE))
                .isEqualTo(key);
        assertThat(ibv_rx_hash_conf.rx_hash_fields_mask(hash))
                .isEqualTo(ReceiveSideScaling.HashField.SOURCE_IPV4.bit()
                        | ReceiveSideScaling.HashField.SOURCE_UDP_PORT.bit());
        assertThatExceptionOfType(ResourceBusyException.class)
                .isThrownBy(table::close)
                .withMessageContaining(pair.toString());
        pair.close();
        table.close();
    }

    @Test
    void receiveHashTakesKeysOfOneByteAtLeast() {
        WorkQueue only = domain.createWorkQueue(WorkQueueOptions.of(queue, 4));
        IndirectionTable table = context.createIndirectionTable(List.of(only));
        assertThat(ibv_rwq_ind_table_init_attr.log_ind_tbl_size(Fenced.given("ibv_create_rwq_ind_table")))
                .isZero();
        assertThat(ReceiveHash.of(table, new byte[1], Set.of()).key.byteSize()).isEqualTo(1);
    }

    @Test
    void tableRefusesQueuesOfAnotherContext() {
        Context other = loopback.context.device().open(loopback.arena);
        WorkQueue foreign = other.allocateProtectionDomain()
                .createWorkQueue(WorkQueueOptions.of(other.createCompletionQueue(4), 4));
        WorkQueue own = domain.createWorkQueue(WorkQueueOptions.of(queue, 4));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> context.createIndirectionTable(List.of(own, foreign)))
                .withMessageContaining("belongs to another context");
        assertThat(Fenced.calls("ibv_create_rwq_ind_table")).isZero();
    }

    @Test
    void receivingPairOfAnotherProcessIsOpenedByItsNumber() {
        XrcDomain shared = context.openXrcDomain();
        QueuePair opened = shared.openQueuePair(0x123456);
        MemorySegment open = Fenced.given("ibv_open_qp");
        assertThat(ibv_qp_open_attr.qp_num(open)).isEqualTo(0x123456);
        assertThat(ibv_qp_open_attr.xrcd(open).address()).isEqualTo(shared.address());
        assertThat(ibv_qp_open_attr.qp_type(open)).isEqualTo(QueuePairType.XRC_RECV.code());
        assertThat(ibv_qp_open_attr.comp_mask(open))
                .isEqualTo(rdma_h.IBV_QP_OPEN_ATTR_NUM()
                        | rdma_h.IBV_QP_OPEN_ATTR_XRCD()
                        | rdma_h.IBV_QP_OPEN_ATTR_TYPE());
        assertThat(opened.number()).isEqualTo(0x123456);
        assertThat(opened.type()).isEqualTo(QueuePairType.XRC_RECV);
        assertThat(opened.arena()).isSameAs(loopback.arena);
        assertThat(opened.state()).as("asked of the device").isEqualTo(QueuePairState.RTR);
        assertThatIllegalStateException().isThrownBy(opened::domain).withMessageContaining("made by another process");
        assertThatIllegalStateException().isThrownBy(opened::sendQueue).withMessageContaining("no sends");
        assertThatIllegalStateException().isThrownBy(opened::receiveQueue).withMessageContaining("no receives");
        assertThatExceptionOfType(ResourceBusyException.class).isThrownBy(shared::close);
        opened.close();
        shared.close();
    }

    @Test
    void openingAPairOfAnotherProcessIsRefusedWithItsReason() {
        XrcDomain shared = context.openXrcDomain();
        for (int number : new int[] {-1, 0x1000000}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> shared.openQueuePair(number))
                    .withMessageContaining(String.valueOf(number));
        }
        assertRefused("ibv_open_qp", Errno.EINVAL, () -> shared.openQueuePair(0xffffff))
                .hasMessageStartingWith("ibv_open_qp(fenced0, queue pair 16777215): EINVAL")
                .hasMessageNotContaining("to share");
        assertRefused("ibv_open_qp", Errno.EOPNOTSUPP, () -> shared.openQueuePair(7))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining("has no queue pairs to share");
    }

    @Test
    void sendingPairOfAnXrcConnectionHasNoReceives() {
        QueuePair pair = domain.createQueuePair(QueuePair.xrcSend(queue));
        MemorySegment init = Fenced.given("ibv_create_qp");
        assertThat(ibv_qp_cap.max_recv_wr(ibv_qp_init_attr_ex.cap(init))).isZero();
        assertThat(ibv_qp_cap.max_recv_sge(ibv_qp_init_attr_ex.cap(init))).isZero();
        assertThat(ibv_qp_init_attr_ex.recv_cq(init).address()).isZero();
        assertThat(pair.sendQueue()).isSameAs(queue);
        assertThatIllegalStateException().isThrownBy(pair::receiveQueue).withMessageContaining("has no receives");
    }

    @Test
    void receivingPairOfAnXrcConnectionBelongsToItsDomain() {
        XrcDomain shared = context.openXrcDomain();
        domain.createQueuePair(QueuePair.xrcReceive(shared));
        MemorySegment init = Fenced.given("ibv_create_qp_ex");
        assertThat(ibv_qp_init_attr_ex.xrcd(init).address()).isEqualTo(shared.address());
        assertThat(ibv_qp_init_attr_ex.pd(init).address()).isZero();
        assertThat(ibv_qp_init_attr_ex.comp_mask(init)).isEqualTo(rdma_h.IBV_QP_INIT_ATTR_XRCD());
    }

    @Test
    void rateLimitIsDescribed() {
        QueuePair pair = loopback.left.pair;
        pair.limitRate(RateLimit.of(1000).maxBurst(2000).typicalPacket(300));
        MemorySegment limit = Fenced.given("ibv_modify_qp_rate_limit");
        assertThat(ibv_qp_rate_limit_attr.rate_limit(limit)).isEqualTo(1000);
        assertThat(ibv_qp_rate_limit_attr.max_burst_sz(limit)).isEqualTo(2000);
        assertThat(ibv_qp_rate_limit_attr.typical_pkt_sz(limit)).isEqualTo((short) 300);
        pair.close();
    }

    @Test
    void enhancedConnectionOptionsGoBothWays() {
        QueuePair pair = loopback.left.pair;
        assertThat(pair.queryEce()).isEqualTo(new Ece(0x15b3, 0x77));
        pair.setEce(new Ece(0x1234, 5));
        MemorySegment ece = Fenced.given("ibv_set_ece");
        assertThat(ibv_ece.vendor_id(ece)).isEqualTo(0x1234);
        assertThat(ibv_ece.options(ece)).isEqualTo(5);
        assertRefused("ibv_query_ece", Errno.EINVAL, pair::queryEce)
                .hasMessageStartingWith("ibv_query_ece(" + pair + "): EINVAL");
        assertRefused("ibv_set_ece", Errno.EINVAL, () -> pair.setEce(new Ece(1, 2)))
                .hasMessageStartingWith("ibv_set_ece(" + pair + ", vendor 0x1, options 0x2): EINVAL");
        pair.close();
    }

    private static void answerOrder(int bits) {
        try (Arena scratch = Arena.ofConfined()) {
            Fenced.answer("ibv_query_qp_data_in_order", scratch.allocateFrom(ValueLayout.JAVA_INT, bits));
        }
    }

    @Test
    void orderOfDataIsAskedForAnOperation() {
        QueuePair pair = loopback.left.pair;
        for (Operation.DataOrder order : Operation.DataOrder.values()) {
            answerOrder(order.bit);
            assertThat(pair.dataInOrder(Operation.RDMA_WRITE)).containsExactly(order);
            MemorySegment asked = Fenced.given("ibv_query_qp_data_in_order");
            assertThat(asked.getAtIndex(ValueLayout.JAVA_INT, 0)).isEqualTo(Operation.RDMA_WRITE.code());
            assertThat(asked.getAtIndex(ValueLayout.JAVA_INT, 1))
                    .isEqualTo(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS());
            assertThat(pair.dataInOrderOfDevice(Operation.RDMA_READ)).containsExactly(order);
            asked = Fenced.given("ibv_query_qp_data_in_order");
            assertThat(asked.getAtIndex(ValueLayout.JAVA_INT, 0)).isEqualTo(Operation.RDMA_READ.code());
            assertThat(asked.getAtIndex(ValueLayout.JAVA_INT, 1))
                    .isEqualTo(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS()
                            | rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY());
        }
        assertThatIllegalArgumentException().isThrownBy(() -> pair.dataInOrder(Operation.RECEIVE));
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
        MemorySegment init = Fenced.given("ibv_alloc_parent_domain");
        assertThat(ibv_parent_domain_init_attr.pd(init).address()).isEqualTo(domain.address());
        assertThat(ibv_parent_domain_init_attr.td(init).address())
                .isEqualTo(threads.address())
                .isNotZero();
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
                .sourcePathBits(77)
                .staticRate(Rate.GBPS_40)
                .globalRoute(route);
        AddressHandle handle = domain.createAddressHandle(path);
        MemorySegment attributes = Fenced.given("ibv_create_ah");
        MemorySegment global = ibv_ah_attr.grh(attributes);
        assertThat(ibv_ah_attr.port_num(attributes)).isEqualTo((byte) 1);
        assertThat(ibv_ah_attr.dlid(attributes)).isEqualTo((short) 0xf123);
        assertThat(ibv_ah_attr.sl(attributes)).isEqualTo((byte) 6);
        assertThat(ibv_ah_attr.src_path_bits(attributes)).isEqualTo((byte) 77);
        assertThat(ibv_ah_attr.static_rate(attributes)).isEqualTo((byte) rdma_h.IBV_RATE_40_GBPS());
        assertThat(ibv_ah_attr.is_global(attributes)).isEqualTo((byte) 1);
        assertThat(ibv_global_route.sgid_index(global)).isEqualTo((byte) 3);
        assertThat(ibv_global_route.flow_label(global)).isEqualTo(0xabcde);
        assertThat(ibv_global_route.hop_limit(global)).isEqualTo((byte) 0xf4);
        assertThat(ibv_global_route.traffic_class(global)).isEqualTo((byte) 0xf5);
        assertThat(AddressCodec.readGid(global, ibv_global_route.dgid$offset())).isEqualTo(GROUP);
        assertThat(AddressCodec.readPath(attributes)).isEqualTo(path);
        assertThat(handle.path()).isEqualTo(path);
        domain.createAddressHandle(path.globalRoute(null));
        assertThat(ibv_ah_attr.is_global(Fenced.given("ibv_create_ah"))).isZero();
    }

    @Test
    void addressHandleThatIsRefusedSaysWhatToCheck() {
        AddressVector local = AddressVector.of(1).destinationLid(7);
        AddressVector global = local.globalRoute(GlobalRoute.to(GROUP, 0));
        assertRefusal(local, Errno.EINVAL, "RoCE needs a global route");
        assertRefusal(global, Errno.EINVAL, "the kinds of the two GIDs");
        assertRefusal(global, Errno.ENODATA, "no GID at this index");
        assertRefusal(global, Errno.ETIMEDOUT, "on the network of this GID");
        assertRefusal(global, Errno.EHOSTUNREACH, "on the network of this GID");
    }

    private void assertRefusal(AddressVector path, int errno, String hint) {
        assertRefused("ibv_create_ah", errno, () -> domain.createAddressHandle(path))
                .hasMessageStartingWith("ibv_create_ah(fenced0, " + path + "): ")
                .hasMessageContaining(hint);
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
        MemorySegment wc = Fenced.given("ibv_init_ah_from_wc");
        assertThat(ibv_wc.slid(wc)).isEqualTo((short) 0x1234);
        assertThat(ibv_wc.sl(wc)).isEqualTo((byte) 5);
        assertThat(ibv_wc.dlid_path_bits(wc)).isEqualTo((byte) 7);
        assertThat(ibv_wc.wc_flags(wc)).isEqualTo(rdma_h.IBV_WC_GRH());
        assertThat(back.port()).isEqualTo(1);
        assertThat(back.destinationLid()).isEqualTo(0x1234);
        assertThat(back.serviceLevel()).isEqualTo(5);
        assertThat(back.sourcePathBits()).isEqualTo(7);
        assertThat(back.globalRoute().destination()).isEqualTo(Gid.parse("::ffff:10.9.9.1"));
        assertRefused("ibv_init_ah_from_wc", Errno.EINVAL, () -> context.pathBack(received, memory))
                .hasMessageStartingWith("ibv_init_ah_from_wc(fenced0, port 1): EINVAL")
                .hasMessageContaining("40 bytes");
        right.close(); // the number is unknown now
        assertThat(context.pathBack(received, memory).port()).isEqualTo(1);
    }

    // Memory

    @Test
    void xrcDomainIsDescribed() {
        context.openXrcDomain();
        MemorySegment init = Fenced.given("ibv_open_xrcd");
        assertThat(ibv_xrcd_init_attr.fd(init)).isEqualTo(-1);
        assertThat(ibv_xrcd_init_attr.oflags(init)).isEqualTo(0x40); // O_CREAT
        assertThat(ibv_xrcd_init_attr.comp_mask(init))
                .isEqualTo(rdma_h.IBV_XRCD_INIT_ATTR_FD() | rdma_h.IBV_XRCD_INIT_ATTR_OFLAGS());
        XrcDomain shared = context.openXrcDomain(Path.of("/"));
        assertThat(ibv_xrcd_init_attr.fd(Fenced.given("ibv_open_xrcd"))).isPositive();
        assertThat(shared.context()).isSameAs(context);
        shared.close();
        assertThatIllegalStateException().isThrownBy(shared::context);
    }

    @Test
    void xrcDomainThatIsRefusedSaysWhy() {
        assertRefused("ibv_open_xrcd", Errno.EOPNOTSUPP, () -> context.openXrcDomain())
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageStartingWith("ibv_open_xrcd(fenced0, no file): EOPNOTSUPP")
                .hasMessageContaining("no extended reliable connections");
        assertRefused("ibv_open_xrcd", Errno.EINVAL, () -> context.openXrcDomain(Path.of("/")))
                .hasMessageStartingWith("ibv_open_xrcd(fenced0, /): EINVAL")
                .hasMessageNotContaining("extended");
        Fenced.calm();
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> context.openXrcDomain(Path.of("/no/such/file")))
                .withMessageStartingWith("open(/no/such/file): ENOENT");
        assertThat(Fenced.calls("ibv_open_xrcd")).isZero();
    }

    @Test
    void deviceMemoryIsDescribed() {
        DeviceMemory memory = context.allocateDeviceMemory(100, 64);
        MemorySegment wanted = Fenced.given("ibv_alloc_dm");
        assertThat(ibv_alloc_dm_attr.length(wanted)).isEqualTo(100);
        assertThat(ibv_alloc_dm_attr.log_align_req(wanted)).isEqualTo(6);
        assertThat(memory.length()).isEqualTo(100);
        context.allocateDeviceMemory(1);
        assertThat(ibv_alloc_dm_attr.log_align_req(Fenced.given("ibv_alloc_dm")))
                .as("any alignment")
                .isZero();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> context.allocateDeviceMemory(0))
                .withMessageContaining("at least 1");
        for (long alignment : new long[] {0, -1, 3, Long.MIN_VALUE}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> context.allocateDeviceMemory(100, alignment))
                    .withMessageContaining("power of two, got " + alignment);
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
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.read(0, MemorySegment.ofArray(read).asReadOnly()))
                .withMessageContaining("read-only");
        assertThatThrownBy(() -> memory.read(11, MemorySegment.ofArray(read)))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> memory.read(-1, MemorySegment.ofArray(read)))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> memory.write(15, MemorySegment.ofArray(new byte[2])))
                .isInstanceOf(IndexOutOfBoundsException.class);
        memory.write(15, MemorySegment.ofArray(new byte[1]));
        assertThat(Fenced.calls("ibv_memcpy_from_dm")).isEqualTo(1);
        assertRefused("ibv_memcpy_from_dm", Errno.EINVAL, () -> memory.read(3, MemorySegment.ofArray(read)))
                .hasMessageStartingWith("ibv_memcpy_from_dm(" + memory + ", offset 3): EINVAL");
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
        assertThat(word(Fenced.given("ibv_dm_export_dmabuf_fd"), 0)).isEqualTo(memory.address());
        MemoryRegion region = domain.register(
                RegionOptions.dmaBuf(descriptor, 3, 40).address(0x5000).access(AccessFlag.LOCAL_WRITE));
        MemorySegment given = Fenced.given("ibv_reg_dmabuf_mr");
        assertThat(List.of(word(given, 0), word(given, 1), word(given, 2), word(given, 3), word(given, 4)))
                .containsExactly(3L, 40L, 0x5000L, (long) descriptor, (long) AccessFlag.LOCAL_WRITE.bit);
        assertThat(region.address()).isEqualTo(0x5000);
        assertThat(region.length()).isEqualTo(40);
        assertThat(region.toString()).contains("DMA buffer " + descriptor);
        assertRefused("ibv_dm_export_dmabuf_fd", Errno.EINVAL, memory::exportDmaBuf)
                .hasMessageStartingWith("ibv_dm_export_dmabuf_fd(" + memory + "): EINVAL");
        assertRefused(
                        "ibv_reg_dmabuf_mr",
                        Errno.EBADF,
                        () -> domain.register(
                                RegionOptions.dmaBuf(descriptor, 3, 40).address(0)))
                .hasMessageStartingWith(
                        "ibv_reg_dmabuf_mr(40 bytes of DMA buffer " + descriptor + " at 0x0, offset 3, []")
                .hasMessageContaining("descriptor is not open");
        assertRefused(
                        "ibv_reg_dmabuf_mr",
                        Errno.EINVAL,
                        () -> domain.register(
                                RegionOptions.dmaBuf(descriptor, 3, 40).address(0)))
                .hasMessageNotContaining("not open");
        for (long[] bad : new long[][] {{-1, 0, 1}, {descriptor, -1, 1}, {descriptor, 0, 0}}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> domain.register(
                            RegionOptions.dmaBuf((int) bad[0], bad[1], bad[2]).address(0)));
        }
    }

    @Test
    void hintsForTheBusAreDescribed() {
        DmaHandle handle = context.allocateDmaHandle(
                DmaHints.none().cpu(300).processingHint(2).memoryType(1));
        MemorySegment init = Fenced.given("ibv_alloc_dmah");
        assertThat(ibv_dmah_init_attr.cpu_id(init)).isEqualTo(300);
        assertThat(ibv_dmah_init_attr.ph(init)).isEqualTo((byte) 2);
        assertThat(ibv_dmah_init_attr.tph_mem_type(init)).isEqualTo((byte) 1);
        assertThat(ibv_dmah_init_attr.comp_mask(init))
                .isEqualTo(rdma_h.IBV_DMAH_INIT_ATTR_MASK_CPU_ID()
                        | rdma_h.IBV_DMAH_INIT_ATTR_MASK_PH()
                        | rdma_h.IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE());
        assertThat(handle.hints())
                .isEqualTo(DmaHints.none().cpu(300).processingHint(2).memoryType(1));
        assertThat(handle).hasToString("DMA handle of fenced0, " + handle.hints());
        context.allocateDmaHandle(DmaHints.none().processingHint(0));
        assertThat(ibv_dmah_init_attr.comp_mask(Fenced.given("ibv_alloc_dmah")))
                .isEqualTo(rdma_h.IBV_DMAH_INIT_ATTR_MASK_PH());
        context.allocateDmaHandle(DmaHints.none().cpu(0));
        assertThat(ibv_dmah_init_attr.comp_mask(Fenced.given("ibv_alloc_dmah")))
                .isEqualTo(rdma_h.IBV_DMAH_INIT_ATTR_MASK_CPU_ID());
        assertThat(DmaHints.none().cpu(Integer.MAX_VALUE)).hasToString("processor " + Integer.MAX_VALUE);
        assertThatIllegalArgumentException().isThrownBy(() -> DmaHints.none().cpu(-1));
    }

    @Test
    void hintedRegistrationNamesItsHandle() {
        MemorySegment memory = loopback.arena.allocate(128, 64);
        DmaHandle handle = context.allocateDmaHandle(DmaHints.none().cpu(3));
        MemoryRegion region = domain.register(
                RegionOptions.of(memory).access(AccessFlag.LOCAL_WRITE).hints(handle));
        MemorySegment init = Fenced.given("ibv_reg_mr_ex");
        assertThat(ibv_mr_init_attr.length(init)).isEqualTo(128);
        assertThat(ibv_mr_init_attr.access(init)).isEqualTo(AccessFlag.LOCAL_WRITE.bit);
        assertThat(ibv_mr_init_attr.iova(init)).isEqualTo(memory.address());
        assertThat(ibv_mr_init_attr.addr(init)).isEqualTo(memory);
        assertThat(ibv_mr_init_attr.dmah(init).address()).isEqualTo(handle.address());
        assertThat(ibv_mr_init_attr.comp_mask(init))
                .isEqualTo(
                        rdma_h.IBV_REG_MR_MASK_IOVA() | rdma_h.IBV_REG_MR_MASK_ADDR() | rdma_h.IBV_REG_MR_MASK_DMAH());
        assertThatExceptionOfType(ResourceBusyException.class)
                .isThrownBy(handle::close)
                .withMessageContaining(region.toString());
        assertRefused(
                        "ibv_reg_mr_ex",
                        Errno.EINVAL,
                        () -> domain.register(RegionOptions.of(memory).hints(handle)))
                .hasMessageStartingWith("ibv_reg_mr_ex(memory 128 bytes at 0x" + Long.toHexString(memory.address())
                        + ", access [], hints " + handle + "): EINVAL");
        region.close();
        handle.close();
        assertThatIllegalStateException().isThrownBy(handle::hints);
    }

    @Test
    void adviceNamesEachRange() {
        MemoryRegion region = loopback.left.buffer;
        domain.advise(ProtectionDomain.Advice.PREFETCH, true, region.slice(8, 16), region.slice(100, 7));
        MemorySegment list = Fenced.given("ibv_advise_mr");
        assertThat(list.byteSize()).isEqualTo(2 * ibv_sge.sizeof());
        long[][] ranges = {{8, 16}, {100, 7}};
        for (int i = 0; i < ranges.length; i++) {
            MemorySegment range = ibv_sge.asSlice(list, i);
            assertThat(ibv_sge.addr(range)).isEqualTo(region.address() + ranges[i][0]);
            assertThat(ibv_sge.length(range)).isEqualTo((int) ranges[i][1]);
            assertThat(ibv_sge.lkey(range)).isEqualTo(region.localKey());
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> domain.advise(ProtectionDomain.Advice.PREFETCH, true))
                .withMessageContaining("at least one range");
    }

    // Steering

    @Test
    void flowIsDescribedWithItsCounters() {
        QueuePair pair = domain.createQueuePair(QueuePair.rawPacket(queue));
        Counters counters = context.createCounters();
        FlowRule rule = FlowRule.of(counters.action()).priority(9).port(1);
        Flow flow = pair.createFlow(rule);
        MemorySegment attributes = Fenced.given("ibv_create_flow");
        assertThat(ibv_flow_attr.type(attributes)).isEqualTo(rdma_h.IBV_FLOW_ATTR_NORMAL());
        assertThat(ibv_flow_attr.priority(attributes)).isEqualTo((short) 9);
        assertThat(ibv_flow_attr.num_of_specs(attributes)).isEqualTo((byte) 1);
        MemorySegment count = attributes.asSlice(ibv_flow_attr.sizeof());
        assertThat(ibv_flow_spec_counter_action.type(count)).isEqualTo(rdma_h.IBV_FLOW_SPEC_ACTION_COUNT());
        assertThat(ibv_flow_spec_counter_action.size(count)).isEqualTo((short) ibv_flow_spec_counter_action.sizeof());
        assertThat(count.get(ValueLayout.JAVA_LONG_UNALIGNED, ibv_flow_spec_counter_action.counters$offset()))
                .isEqualTo(counters.address());
        assertThat(flow.queuePair()).isSameAs(pair);
        assertThat(flow.rule()).isEqualTo(rule);
        assertThatExceptionOfType(ResourceBusyException.class)
                .isThrownBy(counters::close)
                .withMessageContaining(flow.toString());
        flow.close();
        counters.close();
        assertThatIllegalStateException().isThrownBy(flow::rule);
        assertThatIllegalStateException().isThrownBy(flow::queuePair);
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
        MemorySegment given = Fenced.given("ibv_attach_counters_point_flow");
        assertThat(word(given, 0)).isEqualTo(counters.address());
        assertThat(word(given, 1)).isEqualTo(Counters.Kind.BYTES.code);
        assertThat(word(given, 2)).isEqualTo(3);
        assertThat(word(given, 3)).as("no flow").isZero();
        counters.attach(Counters.Kind.PACKETS, 65535, flow);
        given = Fenced.given("ibv_attach_counters_point_flow");
        assertThat(word(given, 1)).isEqualTo(Counters.Kind.PACKETS.code);
        assertThat(word(given, 2)).isEqualTo(65535);
        assertThat(word(given, 3)).as("the flow's handle").isPositive();
        assertThat(counters.read(3, false)).containsExactly(100, 101, 102);
        assertThat(counters.read(1, true)).containsExactly(200);
        for (int count : new int[] {0, -1, 65537}) {
            assertThatThrownBy(() -> counters.read(count, false)).isInstanceOf(IndexOutOfBoundsException.class);
        }
        assertThat(counters.read(65536, false)).hasSize(65536);
        for (int index : new int[] {-1, 65536}) {
            assertThatThrownBy(() -> counters.attach(Counters.Kind.BYTES, index))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessageContaining("from 0 to 65535, got " + index);
        }
        assertRefused(
                        "ibv_attach_counters_point_flow",
                        Errno.EINVAL,
                        () -> counters.attach(Counters.Kind.BYTES, 4, flow))
                .hasMessageStartingWith("ibv_attach_counters_point_flow(BYTES as 4, " + flow + "): EINVAL");
        assertRefused("ibv_read_counters", Errno.EINVAL, () -> counters.read(1, false))
                .hasMessageStartingWith("ibv_read_counters(" + counters + "): EINVAL");
        counters.close();
        flow.close(); // no call has kept either open
        assertThatIllegalStateException().isThrownBy(() -> counters.attach(Counters.Kind.BYTES, 3));
        assertThatIllegalStateException().isThrownBy(() -> counters.attach(Counters.Kind.BYTES, 3, flow));
        assertThatIllegalStateException().isThrownBy(() -> counters.read(1, false));
    }

    @Test
    void multicastGroupIsNamedByItsGidAndLid() {
        QueuePair pair = domain.createQueuePair(QueuePair.ud(queue));
        pair.attachMulticast(GROUP, 0xc123);
        assertGroup("ibv_attach_mcast", 0xc123);
        pair.attachMulticast(GROUP);
        assertGroup("ibv_attach_mcast", 0);
        pair.detachMulticast(GROUP, 0xc123);
        assertGroup("ibv_detach_mcast", 0xc123);
        assertRefused("ibv_detach_mcast", Errno.EINVAL, () -> pair.detachMulticast(GROUP))
                .hasMessageStartingWith("ibv_detach_mcast(" + pair + ", " + GROUP + "): EINVAL")
                .hasMessageContaining("Is the queue pair in the group?");
        pair.detachMulticast(GROUP);
        assertGroup("ibv_detach_mcast", 0);
        assertRefused("ibv_attach_mcast", Errno.EINVAL, () -> pair.attachMulticast(GROUP))
                .hasMessageContaining("the GID of a multicast group?");
        Fenced.calm();
        pair.close();
        assertThat(Fenced.calls("ibv_detach_mcast")).isZero();
    }

    private static void assertGroup(String function, int lid) {
        MemorySegment group = Fenced.given(function);
        assertThat(AddressCodec.readGid(group, 0)).isEqualTo(GROUP);
        assertThat(group.get(ValueLayout.JAVA_SHORT, Gid.BYTES)).isEqualTo((short) lid);
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
        assertThatIllegalStateException().isThrownBy(() -> pair.attachMulticast(GROUP));
        assertThatIllegalStateException().isThrownBy(() -> pair.detachMulticast(GROUP));
    }

    // Tags

    @Test
    void tagIsDescribed() {
        SharedReceiveQueue tagged = domain.createSharedReceiveQueue(SharedReceiveQueue.tagMatching(queue, 8, 4));
        MemoryRegion region = loopback.left.buffer;
        int handle = tagged.tags().add(11, 12, region.slice(24, 48), 0x1122334455667788L, 0xff00ff00ff00ff00L, 13);
        assertThat(handle).isEqualTo(0x7a9);
        MemorySegment request = Fenced.given("ibv_post_srq_ops");
        MemorySegment tm = ibv_ops_wr.tm(request);
        MemorySegment add = ibv_ops_wr.tm.add(tm);
        MemorySegment piece = Fenced.given("ibv_post_srq_ops.sg_list");
        assertThat(ibv_ops_wr.wr_id(request)).isEqualTo(11);
        assertThat(ibv_ops_wr.next(request).address()).isZero();
        assertThat(ibv_ops_wr.opcode(request)).isEqualTo(rdma_h.IBV_WR_TAG_ADD());
        assertThat(ibv_ops_wr.flags(request)).isEqualTo(rdma_h.IBV_OPS_SIGNALED() | rdma_h.IBV_OPS_TM_SYNC());
        assertThat(ibv_ops_wr.tm.unexpected_cnt(tm)).isEqualTo(13);
        assertThat(ibv_ops_wr.tm.add.recv_wr_id(add)).isEqualTo(12);
        assertThat(ibv_ops_wr.tm.add.num_sge(add)).isEqualTo(1);
        assertThat(ibv_ops_wr.tm.add.tag(add)).isEqualTo(0x1122334455667788L);
        assertThat(ibv_ops_wr.tm.add.mask(add)).isEqualTo(0xff00ff00ff00ff00L);
        assertThat(ibv_sge.addr(piece)).isEqualTo(region.address() + 24);
        assertThat(ibv_sge.length(piece)).isEqualTo(48);
        assertThat(ibv_sge.lkey(piece)).isEqualTo(region.localKey());
        tagged.tags().remove(21, handle, 22);
        request = Fenced.given("ibv_post_srq_ops");
        assertThat(ibv_ops_wr.wr_id(request)).isEqualTo(21);
        assertThat(ibv_ops_wr.opcode(request)).isEqualTo(rdma_h.IBV_WR_TAG_DEL());
        assertThat(ibv_ops_wr.tm.handle(ibv_ops_wr.tm(request))).isEqualTo(handle);
        assertThat(ibv_ops_wr.tm.unexpected_cnt(ibv_ops_wr.tm(request))).isEqualTo(22);
        tagged.tags().synchronize(31, 32);
        request = Fenced.given("ibv_post_srq_ops");
        assertThat(ibv_ops_wr.wr_id(request)).isEqualTo(31);
        assertThat(ibv_ops_wr.opcode(request)).isEqualTo(rdma_h.IBV_WR_TAG_SYNC());
        assertThat(ibv_ops_wr.tm.unexpected_cnt(ibv_ops_wr.tm(request))).isEqualTo(32);
        assertRefused("ibv_post_srq_ops", Errno.EINVAL, () -> tagged.tags().add(1, 2, region, 0xabc, -1, 0))
                .hasMessageContaining("adding tag 0xabc")
                .hasMessageContaining("EINVAL");
        assertRefused("ibv_post_srq_ops", Errno.EINVAL, () -> tagged.tags().remove(1, 5, 0))
                .hasMessageContaining("removing tag handle 5");
        assertRefused("ibv_post_srq_ops", Errno.EINVAL, () -> tagged.tags().synchronize(1, 0))
                .hasMessageContaining("synchronising");
        assertThat(tagged.tags()).hasToString("tags of " + tagged);
        ProtectionDomain other = context.allocateProtectionDomain();
        MemoryRegion foreign = other.register(loopback.arena.allocate(8), AccessFlag.LOCAL_WRITE);
        assertThatIllegalArgumentException().isThrownBy(() -> tagged.tags().add(1, 2, foreign, 3, -1, 0));
    }

    /** C does not notice that a part of the address space is closed, so each post keeps it open. */
    @Test
    void tagKeepsAPartOfTheAddressSpaceOpenNoLongerThanItsPost() {
        SharedReceiveQueue tagged = domain.createSharedReceiveQueue(SharedReceiveQueue.tagMatching(queue, 8, 4));
        MemoryRegion part = domain.registerAddressSpace(AccessFlag.LOCAL_WRITE).region(loopback.arena.allocate(64));
        assertThat(tagged.tags().add(1, 2, part, 3, -1, 0)).isEqualTo(0x7a9);
        assertRefused("ibv_post_srq_ops", Errno.EINVAL, () -> tagged.tags().add(1, 2, part, 3, -1, 0));
        part.close();
        assertThatIllegalStateException().isThrownBy(() -> tagged.tags().add(1, 2, part, 3, -1, 0));
    }
}

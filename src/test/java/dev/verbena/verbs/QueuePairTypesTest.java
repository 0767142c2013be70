package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairState.INIT;
import static dev.verbena.verbs.QueuePairState.RESET;
import static dev.verbena.verbs.QueuePairState.RTR;
import static dev.verbena.verbs.QueuePairState.RTS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.ledger.Covers;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.support.Unsupported;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.EthernetAddress;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Queue pairs of all transports: how they are made, moved on and asked. */
@DeviceTest
class QueuePairTypesTest {
    private static final int KEY = 0x123;

    private VerbsArena arena;
    private Context context;
    private ProtectionDomain domain;
    private CompletionQueue queue;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        context = TestDevice.get().open(arena);
        domain = context.allocateProtectionDomain();
        queue = context.createCompletionQueue(100);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private QueuePair make(QueuePairOptions options) {
        QueuePair pair = domain.createQueuePair(options);
        assertThat(pair.type()).isEqualTo(QueuePairOptions.TYPE.of(options));
        assertThat(pair.state()).isEqualTo(RESET);
        return pair;
    }

    @Test
    @Twin("test_qp.QPTest.test_create_rc_qp_no_attr")
    void rcPairBeginsInReset() {
        assertThat(make(QueuePair.rc(queue)).query().state()).isEqualTo(RESET);
    }

    @Test
    @Twin("test_qp.QPTest.test_create_uc_qp_no_attr")
    void ucPairBeginsInReset() {
        assertThat(make(QueuePair.uc(queue)).query().state()).isEqualTo(RESET);
    }

    @Test
    @Twin("test_qp.QPTest.test_create_ud_qp_no_attr")
    void udPairBeginsInReset() {
        assertThat(make(QueuePair.ud(queue)).query().state()).isEqualTo(RESET);
    }

    private QueuePair makeExtended(QueuePairOptions options) {
        return make(options.operations(
                QueuePairOptions.OfferedOperation.SEND, QueuePairOptions.OfferedOperation.SEND_WITH_IMMEDIATE));
    }

    @Test
    @Twin({
        "test_qp.QPTest.test_create_rc_qp_ex_no_attr",
        "test_qp.QPTest.test_create_uc_qp_ex_no_attr",
        "test_qp.QPTest.test_create_ud_qp_ex_no_attr"
    })
    void extendedPairsBeginInReset() {
        assertThat(makeExtended(QueuePair.rc(queue)).query().state()).isEqualTo(RESET);
        assertThat(makeExtended(QueuePair.uc(queue)).query().state()).isEqualTo(RESET);
        assertThat(makeExtended(QueuePair.ud(queue)).query().state()).isEqualTo(RESET);
    }

    @Test
    @Twin({
        "test_qp.QPTest.test_create_rc_qp_ex_with_attr",
        "test_qp.QPTest.test_create_uc_qp_ex_with_attr",
        "test_qp.QPTest.test_create_ud_qp_ex_with_attr"
    })
    void extendedPairsGoToInit() {
        QueuePair reliable = makeExtended(QueuePair.rc(queue));
        reliable.toInit(QueuePairAttributes.none());
        assertThat(reliable.query().state()).isEqualTo(INIT);
        QueuePair unreliable = makeExtended(QueuePair.uc(queue));
        unreliable.toInit(QueuePairAttributes.none());
        assertThat(unreliable.query().state()).isEqualTo(INIT);
        QueuePair datagrams = makeExtended(QueuePair.ud(queue));
        datagrams.toReady(KEY);
        assertThat(datagrams.query().state()).isEqualTo(RTS);
    }

    @Test
    @Twin("test_qp.QPTest.test_create_rc_qp_with_attr")
    void rcPairGoesToInit() {
        QueuePair pair = make(QueuePair.rc(queue));
        pair.toInit(QueuePairAttributes.none());
        assertThat(pair.query().state()).isEqualTo(INIT);
    }

    @Test
    @Twin("test_qp.QPTest.test_create_uc_qp_with_attr")
    void ucPairGoesToInit() {
        QueuePair pair = make(QueuePair.uc(queue));
        pair.toInit(QueuePairAttributes.none());
        assertThat(pair.query().state()).isEqualTo(INIT);
    }

    @Test
    @Twin("test_qp.QPTest.test_create_ud_qp_with_attr")
    void udPairGoesToRts() {
        QueuePair pair = make(QueuePair.ud(queue));
        pair.toReady(KEY);
        assertThat(pair.query().state()).isEqualTo(RTS);
        assertThatThrownBy(() -> pair.toReady(KEY))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("RTS");
    }

    @Test
    @Twin({"test_qp.QPTest.test_create_raw_qp_no_attr", "test_qp.QPTest.test_create_raw_qp_with_attr"})
    void rawPacketPairGoesToRts() {
        QueuePair pair = Unsupported.orAborts("ibv_create_qp", () -> make(QueuePair.rawPacket(queue)), "RAW_PACKET");
        pair.toReady();
        assertThat(pair.query().state()).isEqualTo(RTS);
    }

    @Test
    void driverPairIsCreated() {
        QueuePair pair = Unsupported.orAborts("ibv_create_qp", () -> make(QueuePair.driver(queue)), "DRIVER");
        assertThat(pair.isOpen()).isTrue();
    }

    @Test
    void tcpSegmentationIsGranted() {
        QueuePair pair = Unsupported.orAborts(
                "ibv_create_qp_ex", () -> make(QueuePair.ud(queue).tsoHeader(64)), "TSO header 64");
        assertThat(pair.isOpen()).isTrue();
    }

    @Test
    void segmentedNeedsRoomForTheHeader() {
        QueuePair plain = make(QueuePair.ud(queue));
        MemoryRegion data = domain.register(arena.allocate(64));
        assertThatThrownBy(() -> plain.sendBatch(1).segmented(1, arena.allocate(8), 8, data))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("TSO");
    }

    private void tooMuch(QueuePairOptions options) {
        assertThatThrownBy(() -> domain.createQueuePair(options))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ibv_create_qp");
    }

    @Test
    @Twin("test_qp.QPTest.test_create_raw_qp_ex_with_illegal_caps_max_send_wr")
    void createRefusesASendDepthBeyondTheDevice() {
        tooMuch(QueuePair.ud(queue).sendDepth(Integer.MAX_VALUE));
    }

    @Test
    @Twin("test_qp.QPTest.test_create_raw_qp_ex_with_illegal_caps_max_send_sge")
    void createRefusesSendPiecesBeyondTheDevice() {
        tooMuch(QueuePair.ud(queue).sendSge(0xffff));
    }

    @Test
    @Twin("test_qp.QPTest.test_create_raw_qp_ex_with_illegal_caps_max_recv_wr")
    void createRefusesAReceiveDepthBeyondTheDevice() {
        tooMuch(QueuePair.ud(queue).receiveDepth(Integer.MAX_VALUE));
    }

    @Test
    @Twin("test_qp.QPTest.test_create_raw_qp_ex_with_illegal_caps_max_recv_sge")
    void createRefusesReceivePiecesBeyondTheDevice() {
        tooMuch(QueuePair.ud(queue).receiveSge(0xffff));
    }

    private void queryTells(QueuePairOptions options) {
        queryTellsOf(options);
        queryTellsOf(options.operations(QueuePairOptions.OfferedOperation.SEND));
    }

    private void queryTellsOf(QueuePairOptions options) {
        QueueCapabilities asked = QueuePairOptions.CAPABILITIES.of(options);
        QueuePairAttributes found = make(options).query();

        assertThat(found.state()).isEqualTo(RESET);
        QueueCapabilities granted = found.capabilities();
        assertThat(granted.sendDepth()).isGreaterThanOrEqualTo(asked.sendDepth());
        assertThat(granted.receiveDepth()).isGreaterThanOrEqualTo(asked.receiveDepth());
        assertThat(granted.sendSge()).isGreaterThanOrEqualTo(asked.sendSge());
        assertThat(granted.receiveSge()).isGreaterThanOrEqualTo(asked.receiveSge());
        assertThat(granted.inlineSize()).isGreaterThanOrEqualTo(asked.inlineSize());
    }

    @Test
    @Twin("test_qp.QPTest.test_query_rc_qp")
    void queryReturnsTheAttributesOfARcPair() {
        queryTells(QueuePair.rc(queue)
                .sendDepth(10)
                .receiveDepth(20)
                .sendSge(2)
                .receiveSge(3)
                .inlineSize(16));
    }

    @Test
    @Twin("test_qp.QPTest.test_query_uc_qp")
    void queryReturnsTheAttributesOfAUcPair() {
        queryTells(QueuePair.uc(queue)
                .sendDepth(10)
                .receiveDepth(20)
                .sendSge(2)
                .receiveSge(3)
                .inlineSize(16));
    }

    @Test
    @Twin("test_qp.QPTest.test_query_ud_qp")
    void queryReturnsTheAttributesOfAUdPair() {
        queryTells(QueuePair.ud(queue)
                .sendDepth(10)
                .receiveDepth(20)
                .sendSge(2)
                .receiveSge(3)
                .inlineSize(16));
    }

    @Test
    @Twin("test_qp.QPTest.test_modify_ud_qp")
    void queryReturnsTheSetAttributesOfAUdPair() {
        isFound(make(QueuePair.ud(queue)));
        isFound(makeExtended(QueuePair.ud(queue)));
    }

    private static void isFound(QueuePair pair) {
        pair.modify(QueuePairAttributes.to(INIT).pkeyIndex(0).port(1).qkey(KEY));
        assertThat(pair.query().qkey()).isEqualTo(KEY);

        pair.modify(QueuePairAttributes.to(RTR));
        assertThat(pair.query().state()).isEqualTo(RTR);
        pair.modify(QueuePairAttributes.to(RTS).sendPsn(0x45));
        assertThat(pair.query().sendPsn()).isEqualTo(0x45);

        pair.reset();
        assertThat(pair.state()).isEqualTo(RESET);
        assertThat(pair.query().state()).isEqualTo(RESET);
    }

    @Test
    @Twin("test_qp.QPTest.test_query_data_in_order")
    void dataInOrderReturnsKnownOrders() {
        QueuePair pair = make(QueuePair.ud(queue));
        pair.toReady(KEY);

        assertThat(pair.dataInOrder(Operation.SEND)).isSubsetOf(Operation.DataOrder.values());
        if (RdmaCoreVersion.V62.isInstalled()) {
            assertThat(pair.dataInOrderOfDevice(Operation.SEND)).containsAll(pair.dataInOrder(Operation.SEND));
        } else {
            assertThatThrownBy(() -> pair.dataInOrderOfDevice(Operation.SEND))
                    .isInstanceOf(UnsupportedVerbException.class)
                    .hasMessageContaining("62");
        }
        assertThatThrownBy(() -> pair.dataInOrder(Operation.RECEIVE)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void connectRefusesDatagramPairs() {
        QueuePair pair = make(QueuePair.ud(queue));
        assertThatThrownBy(() -> pair.connect(pair.endpoint()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("UD has no connections");
        assertThatThrownBy(() -> make(QueuePair.rc(queue)).toReady(KEY))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("datagrams");
    }

    @Test
    void rateLimitIsSet() {
        QueuePair pair = make(QueuePair.ud(queue));
        pair.toReady(KEY);
        Unsupported.orAborts("ibv_modify_qp_rate_limit", () -> pair.limitRate(RateLimit.of(1_000_000)));
    }

    @Test
    void rateLimitRefusesNegativeRates() {
        assertThatThrownBy(() -> RateLimit.of(-1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void eceIsQueriedAndSet() {
        QueuePair pair = make(QueuePair.rc(queue));
        pair.setEce(Unsupported.orAborts("ibv_query_ece", pair::queryEce));
    }

    @Test
    void refusedEceIsNamed() {
        QueuePair pair = make(QueuePair.rc(queue));
        assumeTrue(
                Unsupported.isRefused("ibv_set_ece", () -> pair.setEce(new Ece(0x15b3, 1)), "vendor 0x15b3"),
                "the device has vendor options");
    }

    @Test
    @Covers("ibv_flow_label_to_udp_sport")
    void flowLabelConvertsToAUdpPort() {
        Gid any = new Gid(0, 1);
        assertThat(new GlobalRoute(any, 0, 0, 1, 0).udpSourcePort()).isEqualTo(0xc000);
        assertThat(new GlobalRoute(any, 0, 0x12345, 1, 0).udpSourcePort()).isEqualTo(0xc000 | 0x2345 ^ 4);
        assertThat(new GlobalRoute(any, 0, 0xfffff, 1, 0).udpSourcePort()).isEqualTo(0xffc0);
    }

    @Test
    void pathResolvesToAnEthernetAddress() {
        QueuePair pair = make(QueuePair.ud(queue));
        AddressVector path = pair.pathTo(pair.endpoint());
        EthernetAddress resolved = context.resolve(path);

        assertThat(resolved.vlan()).isEqualTo(EthernetAddress.NO_VLAN);
        assertThat(resolved.toString()).matches("([0-9a-f]{2}:){5}[0-9a-f]{2}");
        assertThatThrownBy(() -> context.resolve(AddressVector.of(1))).isInstanceOf(IllegalArgumentException.class);
    }
}

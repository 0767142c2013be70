package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.DeviceCapability;
import dev.verbena.verbs.device.Mtu;
import dev.verbena.verbs.device.Port;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The way of a queue pair through its states. */
@DeviceTest
class QueuePairStateTest {
    private Loopback loopback;
    private QueuePair left;
    private QueuePair right;

    @BeforeEach
    void open() {
        loopback = Loopback.unconnected(VerbsArena.ofConfined(), UnaryOperator.identity());
        left = loopback.left.pair;
        right = loopback.right.pair;
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private void connect(QueuePairAttributes how) {
        left.connect(right.endpoint(), how);
        right.connect(left.endpoint(), how);
    }

    @Test
    void connectGoesToRtsWithDefaults() {
        connect(QueuePairAttributes.none());
        Port port = loopback.context.port(1);
        GidEntry gid = loopback.context.bestGid(1);

        QueuePairAttributes found = left.query();
        assertThat(found.state()).isEqualTo(QueuePairState.RTS);
        assertThat(left.state()).isEqualTo(QueuePairState.RTS);
        Set<AccessFlag> access = EnumSet.of(REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC);
        for (AccessFlag flush : List.of(AccessFlag.FLUSH_GLOBAL, AccessFlag.FLUSH_PERSISTENT)) {
            if (loopback.context.attributes().capabilities().contains(DeviceCapability.valueOf(flush.name()))) {
                access.add(flush);
            }
        }
        assertThat(found.access()).isEqualTo(access);
        assertThat(found.pathMtu()).isEqualTo(port.activeMtu());
        assertThat(found.destinationQueuePair()).isEqualTo(right.number());
        assertThat(found.receivePsn()).isEqualTo(right.endpoint().packetSequenceNumber());
        assertThat(found.maxReadAtomic()).isEqualTo(16);
        assertThat(found.maxDestinationReadAtomic()).isEqualTo(16);
        GlobalRoute route = found.addressVector().globalRoute();
        assertThat(route).isNotNull();
        assertThat(route.destination()).isEqualTo(gid.gid());
        assertThat(route.sourceGidIndex()).isEqualTo(gid.index());
    }

    @Test
    void connectAppliesAllOptions() {
        QueuePairAttributes how = QueuePairAttributes.none()
                .access(Set.of(REMOTE_WRITE))
                .pathMtu(Mtu.BYTES_512)
                .minRnrTimerCode(3)
                .timeoutCode(9)
                .retryCount(2)
                .rnrRetryCount(1)
                .maxReadAtomic(4)
                .maxDestinationReadAtomic(8);
        left.connect(right.endpoint(), how.addressVector(shaped(left, right)));
        right.connect(left.endpoint(), how.addressVector(shaped(right, left)));

        QueuePairAttributes found = left.query();
        assertThat(found.toString()).contains(how.toString().split(", ")); // the device has them all
        GlobalRoute route = found.addressVector().globalRoute();
        if (loopback.context.port(1).linkLayer() == Port.LinkLayer.INFINIBAND) { // on RoCE the routing table decides
            assertThat(route.hopLimit()).isEqualTo(5);
        }
        assertThat(route.trafficClass()).isEqualTo(0x48);
        assertThat(route.flowLabel()).isEqualTo(0x12345);
    }

    private static AddressVector shaped(QueuePair from, QueuePair to) {
        AddressVector path = from.pathTo(to.endpoint().gid());
        return path.globalRoute(
                path.globalRoute().hopLimit(5).trafficClass(0x48).flowLabel(0x12345));
    }

    @Test
    void connectUsesAnotherGid() {
        GidEntry other = loopback.context.gids().getFirst();
        QueuePair chosen = loopback.domain.createQueuePair(
                QueuePair.rc(loopback.left.queue).gidIndex(other.index()));
        assertThat(chosen.endpoint().gid()).isEqualTo(other.gid());
        chosen.connect(chosen.endpoint());
        assertThat(chosen.query().addressVector().globalRoute().sourceGidIndex())
                .isEqualTo(other.index());
    }

    @Test
    @Fault("skipped-state")
    void modifyRefusesInvalidTransitionsBeforeC() {
        left.toInit(QueuePairAttributes.none());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> left.modify(QueuePairAttributes.to(QueuePairState.RTS)))
                .withMessageContaining("ibv_modify_qp")
                .withMessageContaining("no transition for RC from INIT to RTS")
                .withMessageContaining("RTR");
        assertThat(left.query().state()).isEqualTo(QueuePairState.INIT);
    }

    @Test
    void modifyExplainsTheDevicesRefusal() {
        QueuePair lost = loopback.domain.createQueuePair(
                QueuePair.rc(loopback.left.queue).gidIndex(200));
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> lost.connect(right.endpoint()))
                .withMessageContaining("ibv_modify_qp")
                .withMessageContaining("to RTR")
                .withMessageContaining("GID")
                .satisfies(e -> assertThat(e.errno()).isPositive());
        assertThat(lost.state()).as("it stays where it was").isEqualTo(QueuePairState.INIT);
        assertThat(lost.query().state()).isEqualTo(QueuePairState.INIT);
    }

    @Test
    void modifyChangesAttributesWithinAState() {
        connect(QueuePairAttributes.none());
        left.modify(QueuePairAttributes.none().minRnrTimerCode(5));
        assertThat(left.query().minRnrTimerCode()).isEqualTo(5);
        assertThat(left.state()).isEqualTo(QueuePairState.RTS);
    }

    @Test
    @Fault("post-too-early")
    void postSendIsRefusedBeforeConnect() throws Exception {
        MemoryRegion buffer = loopback.left.buffer;
        assertThatIllegalStateException()
                .isThrownBy(() -> left.postSend(1, buffer))
                .withMessageContaining("RESET")
                .withMessageContaining("connect");
        left.toInit(QueuePairAttributes.none());
        assertThatIllegalStateException()
                .isThrownBy(() -> left.postWrite(1, buffer, loopback.right.buffer.remote()))
                .withMessageContaining("INIT");
        assertThat(loopback.left.queue.poll()).isNull();
    }

    @Test
    void postReceiveWorksInInit() throws Exception {
        assertThatIllegalStateException()
                .isThrownBy(() -> right.postReceive(1, loopback.right.buffer))
                .withMessageContaining("RESET");
        right.toInit(QueuePairAttributes.none());
        right.postReceive(2, loopback.right.buffer);

        connect(QueuePairAttributes.none());
        left.postSend(3, loopback.left.buffer.slice(0, 4));
        assertThat(loopback.left.done().id()).isEqualTo(3);
        assertThat(loopback.right.done().id()).isEqualTo(2);
    }

    @Test
    void failAndResetChangeTheState() {
        connect(QueuePairAttributes.none());
        left.fail();
        assertThat(left.state()).isEqualTo(QueuePairState.ERR);
        assertThat(left.query().state()).isEqualTo(QueuePairState.ERR);
        left.reset();
        assertThat(left.state()).isEqualTo(QueuePairState.RESET);
        assertThat(left.query().state()).isEqualTo(QueuePairState.RESET);
    }

    @Test
    @Fault("pair-size")
    void createNamesTheLimitsForLargeSizes() {
        DeviceAttributes device = loopback.context.attributes();
        QueuePairOptions options = QueuePair.rc(loopback.left.queue);
        for (QueuePairOptions tooLarge : new QueuePairOptions[] {
            options.sendDepth(1 << 30), options.receiveDepth(1 << 30), options.sendSge(1000), options.receiveSge(1000)
        }) {
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> loopback.domain.createQueuePair(tooLarge))
                    .withMessageContaining("ibv_create_qp")
                    .withMessageContaining(
                            QueuePairOptions.CAPABILITIES.of(tooLarge).toString())
                    .withMessageContaining(device.maxWorkRequests() + " work requests")
                    .withMessageContaining(device.maxSge() + " pieces");
        }
    }

    @Test
    void createRefusesAnUnknownPort() {
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> loopback.domain.createQueuePair(
                        QueuePair.rc(loopback.left.queue).port(7)))
                .withMessageContaining("port 7");
    }
}

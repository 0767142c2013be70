package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.device.QueuePairType;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Addresses that are looked up, and ids that are made for them. */
@DeviceTest
@IwarpToo
class EndpointTest {
    private static final QueueCapabilities SIZES = QueueCapabilities.of(4, 4).inlineSize(16);

    @AutoClose
    private final VerbsArena arena = VerbsArena.ofConfined();

    private final String node = CmAddress.four(0).getAddress().getHostAddress();
    private final EventChannel channel = EventChannel.create(arena);

    private ConnectionId listening() throws InterruptedException {
        AddressInfo here = AddressInfo.find(
                        node,
                        null,
                        AddressInfo.hints().flags(AddressInfo.Flag.PASSIVE).space(PortSpace.TCP),
                        DEADLINE)
                .getFirst();
        ConnectionId listener = channel.createEndpoint(here, DEADLINE);
        listener.listen(4);
        return listener;
    }

    private ConnectionId resolved(ConnectionId listener) throws InterruptedException {
        String port = Integer.toString(listener.localAddress().orElseThrow().getPort());
        return channel.createEndpoint(
                AddressInfo.find(node, port, AddressInfo.hints().space(PortSpace.TCP), DEADLINE)
                        .getFirst(),
                DEADLINE);
    }

    @Test
    void lookupFindsAnAddress() throws Exception {
        List<AddressInfo> found = AddressInfo.find(
                node, "7471", AddressInfo.hints().space(PortSpace.TCP).flags(AddressInfo.Flag.NUMERIC_HOST), DEADLINE);
        assertThat(found).first().satisfies(info -> {
            assertThat(info.destination()).contains(new InetSocketAddress(node, 7471));
            assertThat(info.source()).isEmpty();
            assertThat(info.family()).isEqualTo(AddressInfo.Family.IPV4);
            assertThat(info.space()).isEqualTo(PortSpace.TCP);
            assertThat(info.type()).isEqualTo(QueuePairType.RC);
            assertThat(info.toString())
                    .startsWith("space TCP, type RC, ")
                    .contains("to " + node + ":7471")
                    .doesNotContain("from ");
        });
    }

    @Test
    void lookupFindsAListenAddress() throws Exception {
        assertThat(AddressInfo.find(
                        null,
                        "7471",
                        AddressInfo.hints()
                                .flags(AddressInfo.Flag.PASSIVE, AddressInfo.Flag.FAMILY)
                                .family(AddressInfo.Family.IPV6)
                                .type(QueuePairType.UD)
                                .space(PortSpace.UDP),
                        DEADLINE))
                .first()
                .satisfies(info -> {
                    assertThat(info.source()).contains(new InetSocketAddress("::", 7471));
                    assertThat(info.flags()).contains(AddressInfo.Flag.PASSIVE);
                    assertThat(info.type()).isEqualTo(QueuePairType.UD);
                });
    }

    @Test
    void lookupAcceptsKnownAddresses() throws Exception {
        InetSocketAddress peer = new InetSocketAddress(node, 7471);
        InetSocketAddress own = new InetSocketAddress(node, 0);
        AddressInfo info = AddressInfo.find(
                        null,
                        null,
                        AddressInfo.hints()
                                .space(PortSpace.TCP)
                                .type(QueuePairType.RC)
                                .source(own)
                                .destination(peer),
                        DEADLINE)
                .getFirst();
        assertThat(info.destination()).contains(peer);
        assertThat(info.source()).contains(own);
    }

    @Test
    void lookupRefusesUnknownNames() {
        assertThatThrownBy(() -> AddressInfo.find(
                        "nobody.invalid", "7471", AddressInfo.hints().flags(AddressInfo.Flag.NUMERIC_HOST), DEADLINE))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("rdma_getaddrinfo")
                .hasMessageContaining("EAI_NONAME");
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_sync_traffic")
    void endpointsExchangeMessages() throws Exception {
        ConnectionId listener = listening();
        ConnectionId client = resolved(listener);
        client.createQueuePair(SIZES);
        client.beginConnect(ConnectionParameters.defaults());
        ConnectionId server = listener.awaitRequest(DEADLINE).claim();
        server.createQueuePair(SIZES);
        MemoryRegion buffer = server.protectionDomain().register(arena.allocate(64), LOCAL_WRITE);
        server.queuePair().orElseThrow().postReceive(1, buffer.slice(32, 32));
        server.beginAccept(ConnectionParameters.defaults());
        assertThat(client.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
        buffer.segment().setString(0, "hello");
        client.queuePair().orElseThrow().postSend(2, buffer.slice(0, 32));
        client.sendCompletionQueue().orElseThrow().await(DEADLINE).orThrow();
        server.receiveCompletionQueue().orElseThrow().await(DEADLINE).orThrow();
        assertThat(buffer.segment().getString(32)).isEqualTo("hello");
        client.beginDisconnect();
        server.beginDisconnect();
    }

    @Test
    void endpointCloseClosesItsQueues() throws Exception {
        ConnectionId client = resolved(listening());
        client.createQueuePair(SIZES).close();
        var sends = client.sendCompletionQueue().orElseThrow();
        assertThat(sends.isOpen()).isTrue();
        client.close();
        assertThat(sends.isOpen()).isFalse();
    }

    @Test
    void idsOfADeviceShareOneDefaultDomain() throws Exception {
        ConnectionId listener = listening();
        assertThat(listener.protectionDomain()).isSameAs(resolved(listener).protectionDomain());
    }

    @Test
    void endpointRefusesAnAddressWithoutDevice() throws Exception {
        AddressInfo info = AddressInfo.find(
                        "127.0.0.1", "7471", AddressInfo.hints().space(PortSpace.TCP), DEADLINE)
                .getFirst();
        assertThatThrownBy(() -> channel.createEndpoint(info, DEADLINE))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("rdma_create_ep")
                .hasMessageContaining(TestDevice.isIwarp() ? "EINVAL" : "ENODEV");
    }

    /** Needs rdma-core 60, and a kernel that asks for the resolution. Either may be too old. */
    @Test
    void resolveAddressInfoFindsAddresses() throws Exception {
        ConnectionId id = channel.createId(PortSpace.TCP);
        List<AddressInfo> found;
        try {
            found = id.resolveAddressInfo(node, "7471", AddressInfo.hints().flags(AddressInfo.Flag.NAME), DEADLINE);
        } catch (VerbsException missing) {
            assertThat(missing).hasMessageContaining("rdma_resolve_addrinfo");
            if (!RdmaCm.RESOLVE_ADDRINFO.isPresent()) {
                assertThat(missing).isInstanceOf(UnsupportedVerbException.class).hasMessageContaining("60");
            }
            abort(missing.getMessage());
            return;
        }
        assertThat(found).extracting(AddressInfo::destination).contains(Optional.of(new InetSocketAddress(node, 7471)));
    }
}

package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Named.named;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Waits of the connection manager with the longest and the shortest timeouts, interrupted calls, and hints. */
@FencedTest
class WaitLimitsTest {
    private static final Duration FOR_EVER = ChronoUnit.FOREVER.getDuration();

    @AutoClose
    private final FencedIds ids = new FencedIds();

    interface Wait {
        void run(FencedIds ids, Duration timeout) throws InterruptedException;
    }

    static Stream<Named<Wait>> waits() {
        return Stream.of(
                named("find", (all, timeout) -> AddressInfo.find("10.9.9.1", "7471", AddressInfo.hints(), timeout)),
                named("createEndpoint", (all, timeout) -> all.channel.createEndpoint(found(), timeout)),
                named(
                        "resolveAddress",
                        (all, timeout) -> all.channel.createId(PortSpace.TCP).resolveAddress(FencedIds.OWN, timeout)),
                named("resolveRoute", (all, timeout) -> {
                    ConnectionId id = all.channel.createId(PortSpace.TCP);
                    id.resolveAddress(FencedIds.OWN, DEADLINE);
                    id.resolveRoute(timeout);
                }),
                named("awaitEvent", (all, timeout) -> {
                    ConnectionId id = all.channel.createId(PortSpace.TCP);
                    id.beginResolveAddress(null, FencedIds.OWN, timeout);
                    id.awaitEvent(timeout);
                }),
                named("awaitEvent of the channel", (all, timeout) -> {
                    all.channel.createId(PortSpace.TCP).beginResolveAddress(null, FencedIds.OWN, timeout);
                    all.channel.awaitEvent(timeout);
                }),
                named("join", (all, timeout) -> all.datagrams().join(FencedIds.GROUP, timeout)),
                named("awaitRequest", (all, timeout) -> {
                    ConnectionId listener = all.listener(1);
                    all.client(all.channel, listener).beginConnect(ConnectionParameters.defaults());
                    listener.awaitRequest(timeout);
                }),
                named("connect", (all, timeout) -> {
                    ConnectionId listener = all.listener(1);
                    ConnectionId client = all.client(all.channel, listener);
                    all.start(() -> {
                        ConnectionId server = listener.awaitRequest(DEADLINE).claim();
                        server.createQueuePair(FencedIds.SIZES);
                        server.accept(ConnectionParameters.defaults(), DEADLINE);
                        return null;
                    });
                    client.connect(ConnectionParameters.defaults(), timeout);
                    client.disconnect(timeout);
                }));
    }

    private static AddressInfo found() throws InterruptedException {
        return AddressInfo.find("10.9.9.1", "7471", AddressInfo.hints(), DEADLINE)
                .getFirst();
    }

    @ParameterizedTest
    @MethodSource("waits")
    void waitAcceptsTheLongestTimeouts(Wait wait) throws Exception {
        wait.run(ids, Duration.ofSeconds(Long.MAX_VALUE, 999_999_999));
        wait.run(ids, FOR_EVER);
    }

    @ParameterizedTest
    @MethodSource("waits")
    void waitWithNegativeTimeoutsLooksOnce(Wait wait) throws Exception {
        for (Duration timeout : List.of(Duration.ofSeconds(Long.MIN_VALUE), Duration.ofMillis(-1), Duration.ZERO)) {
            try {
                wait.run(ids, timeout);
            } catch (VerbsTimeoutException late) {
                assertThat(late.errno()).isEqualTo(Errno.ETIMEDOUT);
            }
        }
    }

    @Test
    void lookupEndsAtItsTimeout() {
        Fenced.stop("rdma_getaddrinfo");
        assertThatThrownBy(() -> AddressInfo.find("10.9.9.1", "7471", AddressInfo.hints(), Duration.ofMillis(1)))
                .isInstanceOf(VerbsTimeoutException.class)
                .hasMessageContaining("rdma_getaddrinfo");
    }

    /** C goes on, and what it makes is destroyed: else objects of this class's tests would be left. */
    @Test
    void endpointThatComesTooLateIsDestroyed() throws Exception {
        AddressInfo info = found();
        Fenced.stop("rdma_create_ep");
        assertThatThrownBy(() -> ids.channel.createEndpoint(info, Duration.ofMillis(1)))
                .isInstanceOf(VerbsTimeoutException.class)
                .hasMessageContaining("rdma_create_ep");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void closedChannelEndsItsWaits(boolean sharesItsReader) throws Exception {
        AddressInfo info = found();
        EventChannel channel = sharesItsReader ? EventChannel.createShared(ids.arena) : EventChannel.create(ids.arena);
        EventChannel.createShared(ids.arena); // uses the reader that is shared
        Fenced.stop("rdma_create_ep");
        List<Future<?>> waits = List.of(
                ids.asleep(() -> channel.awaitEvent(FOR_EVER)),
                ids.asleep(() -> channel.awaitEvent(FOR_EVER)),
                ids.asleep(() -> channel.createEndpoint(info, FOR_EVER)));
        channel.close();
        for (Future<?> each : waits) {
            assertThatThrownBy(() -> FencedIds.end(each)).hasCauseInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void eventIsTakenAfterInterruptedCalls() {
        ConnectionId id = ids.channel.createId(PortSpace.TCP);
        id.beginResolveAddress(null, FencedIds.OWN, DEADLINE);
        Fenced.fail("rdma_get_cm_event", 1, Errno.EINTR);
        assertThat(id.pollEvent()).isNotNull();
    }

    @Test
    void eventIsAwaitedThroughInterruptedCalls() throws Exception {
        ConnectionId id = ids.channel.createId(PortSpace.TCP);
        Fenced.fail("rdma_get_cm_event", 2, Errno.EINTR);
        assertThatThrownBy(() -> id.awaitEvent(Duration.ofMillis(1))).isInstanceOf(VerbsTimeoutException.class);
        Fenced.fail("rdma_get_cm_event", 1, Errno.EINTR);
        id.resolveAddress(FencedIds.OWN, DEADLINE);
    }

    @Test
    void resolveOfAGroupThatFailsLaterNamesTheRemedy() {
        ConnectionId id = ids.channel.createId(PortSpace.UDP);
        id.bind(FencedIds.OWN);
        Fenced.fail("resolved", 1, Errno.ENETUNREACH);
        assertThatThrownBy(() -> id.resolveAddress(FencedIds.GROUP, DEADLINE))
                .isInstanceOf(ConnectionException.class)
                .hasMessageContaining("give resolveAddress the own address");
    }

    @Test
    void resolveWithoutARouteNamesTheWayToLook() {
        ConnectionId id = ids.channel.createId(PortSpace.TCP);
        Fenced.fail("resolved", 1, Errno.ENETUNREACH);
        assertThatThrownBy(() -> id.resolveAddress(FencedIds.OWN, DEADLINE))
                .isInstanceOf(ConnectionException.class)
                .hasMessageContaining("ip route get");
    }

    @Test
    void resolveOfAGroupWithoutBindNamesTheRemedy() {
        ConnectionId id = ids.channel.createId(PortSpace.UDP);
        assertThatThrownBy(() -> id.resolveAddress(FencedIds.GROUP, DEADLINE))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ENETUNREACH")
                .hasMessageContaining("bind the id to an address of a device");
    }
}

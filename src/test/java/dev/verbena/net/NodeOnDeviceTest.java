package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.VerbsArena;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.IwarpToo.NotOnIwarp;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.device.Mtu;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Nodes on the real device, where adapters acknowledge, requests flush and processes die. */
@DeviceTest
@IwarpToo
class NodeOnDeviceTest {
    private static final NodeOptions SMALL =
            NodeOptions.defaults().window(4).sends(4).messageSize(256);

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final VerbsArena arena = VerbsArena.ofShared();

    @AfterEach
    void close() {
        threads.shutdownNow();
        arena.close();
    }

    private static void send(Channel on, long value) throws InterruptedException {
        Message message = on.message(DEADLINE).length(Long.BYTES);
        message.segment().set(ValueLayout.JAVA_LONG, 0, value);
        on.send(message, DEADLINE);
    }

    private static long receive(Channel on) throws InterruptedException {
        try (Message message = on.receive(DEADLINE)) {
            return message.segment().get(ValueLayout.JAVA_LONG, 0);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void messagesFlowBothWaysAndNothingIsLostAtTheEnd(boolean four) throws Exception {
        InetSocketAddress own = four ? CmAddress.four(0) : CmAddress.six(0);
        Node server = Node.open(own, SMALL, arena);
        Node client = Node.open(own, SMALL, arena);
        Future<Channel> accepted = threads.submit(() -> server.accept(DEADLINE));
        Channel left = client.connect(server.address(), DEADLINE);
        Channel right = accepted.get(DEADLINE.toSeconds(), SECONDS);
        int messages = 20;
        Future<?> sent = threads.submit(() -> {
            for (int i = 0; i < messages; i++) {
                send(right, i);
            }
            right.close();
            return null;
        });
        for (int i = 0; i < SMALL.window(); i++) {
            send(left, i); // the other side does not receive them
        }
        for (int i = 0; i < messages; i++) {
            assertThat(receive(left)).isEqualTo(i);
        }
        NodePair.failure(EndReason.CLOSED_BY_PEER, () -> left.receive(DEADLINE));
        sent.get(DEADLINE.toSeconds(), SECONDS);
    }

    private record Ends(Channel client, Channel server) {}

    private Ends connect(NodeOptions options) throws Exception {
        return connect(options, options);
    }

    private Ends connect(NodeOptions ofClient, NodeOptions ofServer) throws Exception {
        Node server = Node.open(CmAddress.four(0), ofServer, arena);
        Node client = Node.open(CmAddress.four(0), ofClient, arena);
        server.export("table", arena.allocate(64, 8), AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
                .inTheClear();
        Future<Channel> accepted = threads.submit(() -> server.accept(DEADLINE));
        Channel made = client.connect(server.address(), DEADLINE);
        return new Ends(made, accepted.get(DEADLINE.toSeconds(), SECONDS));
    }

    /** The connection manager of iWARP has no path: its adapters connect by TCP. Soft-RoCE forgets the service level. */
    @Test
    void pathOptionsReachTheQueuePairsOfBothEnds() throws Exception {
        Ends ends = connect(SMALL.trafficClass(26 << 2).serviceLevel(3).pathMtu(Mtu.BYTES_512));
        if (!TestDevice.isIwarp()) {
            for (Channel end : List.of(ends.client, ends.server)) {
                QueuePairAttributes path = end.queuePair().query();
                assertThat(path.pathMtu()).isEqualTo(Mtu.BYTES_512);
                assertThat(path.addressVector().globalRoute().trafficClass()).isEqualTo(26 << 2);
            }
        }
        transfer(ends, random(100_000));
        Future<?> waits = threads.submit(() -> assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> receive(ends.server))
                .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.CLOSED_BY_PEER)));
        ends.client.close();
        waits.get(DEADLINE.toSeconds(), SECONDS);
    }

    @ParameterizedTest
    @CsvSource({"BYTES_1024, BYTES_512", "BYTES_512, BYTES_1024"})
    void largeMessagesArriveBetweenNodesOfDifferentPathMtus(Mtu client, Mtu server) throws Exception {
        Ends ends = connect(SMALL.pathMtu(client), SMALL.pathMtu(server));
        transfer(ends, random(100_000));
        ends.client.close();
        ends.server.close();
    }

    private void transfer(Ends ends, byte[] data) throws Exception {
        Future<Void> offered = threads.submit(() -> {
            ends.client.offer(MemorySegment.ofArray(data), new byte[3], DEADLINE);
            return null;
        });
        byte[] target = new byte[data.length];
        try (Message offer = ends.server.receive(DEADLINE);
                Transfer transfer = offer.transfer()) {
            transfer.accept(MemorySegment.ofArray(target), DEADLINE);
        }
        offered.get(DEADLINE.toSeconds(), SECONDS);
        assertThat(target).isEqualTo(data);
    }

    private static byte[] random(int bytes) {
        byte[] made = new byte[bytes];
        new Random(bytes).nextBytes(made);
        return made;
    }

    /** The sizes of sealed messages and transfers are those of the provider for tests: {@link OverSealedTest}. */
    @ParameterizedTest
    @EnumSource(names = {"AUTHENTICATED", "SEALED"})
    void keysWithASecretAreThoseOfTheChannel(Protection protection) throws Exception {
        Ends ends = connect(SMALL.secret(new byte[16]).protection(protection));
        transfer(ends, random(100_000));
        RemoteMemory table = ends.client.remote("table", DEADLINE);
        LocalMemory local = ends.client
                .node()
                .register(arena.allocate(64, 8), AccessFlag.LOCAL_WRITE)
                .slice(0, 64);
        ends.client.write(local, table, DEADLINE);
        ends.client.read(local, table, DEADLINE);
        assertThat(ends.client.isOpen()).isTrue();
    }

    /** Of windows on soft-RoCE, and of the channel's protection domain on iWARP. */
    @Test
    void keyOfAnotherChannelIsDeniedWithASecret() throws Exception {
        NodeOptions options = SMALL.secret(new byte[16]).protection(Protection.AUTHENTICATED);
        Ends ends = connect(options);
        RemoteMemory others = ends.client.remote("table", DEADLINE); // this channel stays open
        Channel channel = ends.client.node().connect(ends.server.node().address(), DEADLINE);
        RemoteMemory own = channel.remote("table", DEADLINE);
        LocalMemory local = ends.client.node().register(arena.allocate(64, 8), AccessFlag.LOCAL_WRITE);
        channel.read(local, own, DEADLINE);
        EndReason denied = TestDevice.isIwarp() ? EndReason.LOST : EndReason.ACCESS_DENIED;
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> channel.read(local, others, DEADLINE))
                .satisfies(told -> assertThat(told.reason()).isEqualTo(denied));
        ends.client.read(local, others, DEADLINE);
    }

    /** Replies overtake no acknowledgement that the other side counts on, and handlers wait on the node's own thread. */
    @Test
    void callsOfManyVirtualThreadsAreMatched() throws Exception {
        Node server = Node.open(CmAddress.four(0), SMALL, arena);
        Node client = Node.open(CmAddress.four(0), SMALL, arena);
        server.listen((channel, request) -> {
            Message reply = request.reply().length(Long.BYTES);
            reply.segment().copyFrom(request.segment());
            reply.send();
        });
        Channel channel = client.connect(server.address(), DEADLINE);
        List<Future<Long>> calls = new ArrayList<>();
        for (long i = 0; i < 50; i++) {
            long value = i;
            calls.add(threads.submit(() -> {
                Message request = channel.message(DEADLINE).length(Long.BYTES);
                request.segment().set(ValueLayout.JAVA_LONG, 0, value);
                try (Message reply = channel.call(request, DEADLINE)) {
                    return reply.segment().get(ValueLayout.JAVA_LONG, 0);
                }
            }));
        }
        for (int i = 0; i < 50; i++) {
            assertThat(calls.get(i).get(DEADLINE.toSeconds(), SECONDS)).isEqualTo(i);
        }
    }

    /** The kernel's driver binds windows, carries out operations, and refuses those on a closed export. */
    @Test
    void exportsAreReadWrittenCountedAndRevoked() throws Exception {
        Node server = Node.open(CmAddress.four(0), SMALL, arena);
        Node client = Node.open(CmAddress.four(0), SMALL, arena);
        server.listen((channel, message) -> {});
        MemorySegment table = arena.allocate(4096, 64);
        Export export = server.export(
                "table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
        LocalMemory local = client.register(arena.allocate(4096, 64), AccessFlag.LOCAL_WRITE);
        Channel channel = client.connect(server.address(), DEADLINE);
        RemoteMemory remote = channel.remote("table", DEADLINE);
        local.segment().fill((byte) 7);
        channel.write(local, remote, DEADLINE);
        assertThat(table.get(ValueLayout.JAVA_BYTE, 4095)).isEqualTo((byte) 7);
        table.set(ValueLayout.JAVA_LONG, 8, 42);
        channel.read(local.slice(0, 64), remote.slice(0, 64), DEADLINE);
        assertThat(local.segment().get(ValueLayout.JAVA_LONG, 8)).isEqualTo(42);
        export.close();
        EndReason denied = TestDevice.isIwarp() ? EndReason.LOST : EndReason.ACCESS_DENIED;
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> channel.read(local.slice(0, 64), remote.slice(0, 64), DEADLINE))
                .satisfies(told -> assertThat(told.reason()).isEqualTo(denied));
        Channel next = client.connect(server.address(), DEADLINE);
        assertThatExceptionOfType(CallException.class).isThrownBy(() -> next.remote("table", DEADLINE));
    }

    @Test
    @NotOnIwarp("it has no atomics")
    void exportsAreCounted() throws Exception {
        Node server = Node.open(CmAddress.four(0), SMALL, arena);
        Node client = Node.open(CmAddress.four(0), SMALL, arena);
        server.listen((channel, message) -> {});
        MemorySegment table = arena.allocate(64, 64);
        table.set(ValueLayout.JAVA_LONG, 8, 40);
        server.export("table", table, AccessFlag.REMOTE_ATOMIC);
        Channel channel = client.connect(server.address(), DEADLINE);
        RemoteMemory number = channel.remote("table", DEADLINE).slice(8, 8);
        assertThat(channel.fetchAndAdd(number, 2, DEADLINE)).isEqualTo(40);
        assertThat(channel.compareAndSwap(number, 42, 50, DEADLINE)).isEqualTo(42);
        assertThat(table.get(ValueLayout.JAVA_LONG, 8)).isEqualTo(50);
    }

    @Test
    void transferOfManyPiecesArrivesWhole() throws Exception {
        Node server = Node.open(CmAddress.four(0), SMALL, arena);
        Node client = Node.open(CmAddress.four(0), SMALL, arena);
        Future<Channel> accepted = threads.submit(() -> server.accept(DEADLINE));
        Channel left = client.connect(server.address(), DEADLINE);
        Channel right = accepted.get(DEADLINE.toSeconds(), SECONDS);
        int size = (9 << 20) + 3; // one piece more than are under way at once
        MemorySegment data = arena.allocate(size, 4096);
        MemorySegment period = MemorySegment.ofArray(random(65_521)); // a prime, so that no two pieces are alike
        for (long at = 0; at < size; at += period.byteSize()) {
            data.asSlice(at).copyFrom(period.asSlice(0, Math.min(period.byteSize(), size - at)));
        }
        Future<?> offered = threads.submit(() -> {
            left.offer(data, new byte[0], DEADLINE);
            return null;
        });
        MemorySegment target = arena.allocate(size, 4096);
        try (Message message = right.receive(DEADLINE);
                Transfer transfer = message.transfer()) {
            transfer.accept(target, DEADLINE);
        }
        offered.get(DEADLINE.toSeconds(), SECONDS);
        assertThat(target.mismatch(data)).isEqualTo(-1);
    }

    /** The adapter of the peer answers the signs of life, which are writes of no bytes. */
    @Test
    void idleChannelStaysOpen() throws Exception {
        Node server = Node.open(CmAddress.four(0), SMALL, arena);
        Node client = Node.open(CmAddress.four(0), SMALL.alive(NodeClock.ALIVE), arena);
        Future<Channel> accepted = threads.submit(() -> server.accept(DEADLINE));
        Channel left = client.connect(server.address(), DEADLINE);
        Channel right = accepted.get(DEADLINE.toSeconds(), SECONDS);
        new NodeClock(client).idle(left);
        send(right, 3);
        assertThat(receive(left)).isEqualTo(3);
    }

    @Test
    void killedPeerEndsTheChannelAndTheNodeGoesOn() throws Exception {
        // A JVM that starts in an emulated guest on a busy machine is slow.
        Node server = Node.open(CmAddress.four(0), SMALL.handshakeTimeout(DEADLINE), arena);
        NodePeer peer = NodePeer.start(server.address());
        Channel killed;
        try {
            killed = peer.accept(server);
            killed.receive(DEADLINE).close();
        } finally {
            peer.close();
        }
        NodePair.failure(EndReason.LOST, () -> killed.receive(DEADLINE));
        killed.close();
        Node client = Node.open(CmAddress.four(0), SMALL, arena);
        Future<Channel> accepted = threads.submit(() -> server.accept(DEADLINE));
        Channel left = client.connect(server.address(), DEADLINE);
        send(left, 5);
        assertThat(receive(accepted.get(DEADLINE.toSeconds(), SECONDS))).isEqualTo(5);
    }

    /** RDMA where both ends have it, and TCP to a node that has not. On iWARP, the port is RDMA's alone. */
    @Test
    void autoNodesUseTheDeviceOrTcp() throws Exception {
        Node server = Node.open(CmAddress.four(0), SMALL.transport(Transport.AUTO), arena);
        server.listen((channel, request) -> {
            Message reply = request.reply().length(Long.BYTES);
            reply.segment().copyFrom(request.segment());
            reply.send();
        });
        Node far = Node.open(CmAddress.four(0), SMALL.transport(Transport.TCP), arena);
        far.listen((channel, request) -> request.reply().length(0).send());
        Node client = Node.open(CmAddress.four(0), SMALL.transport(Transport.AUTO), arena);
        Channel near = client.connect(server.address(), DEADLINE);
        assertThat(near.transport()).isEqualTo(Transport.RDMA);
        call(near);
        Channel distant = client.connect(far.address(), DEADLINE);
        assertThat(distant.transport()).isEqualTo(Transport.TCP);
        call(distant);
        if (TestDevice.isIwarp()) {
            assertThat(server.toString()).doesNotContain("TCP");
        } else {
            assertThat(server.toString()).contains("and TCP");
            Channel from = far.connect(server.address(), DEADLINE);
            assertThat(from.transport()).isEqualTo(Transport.TCP);
            call(from);
        }
        Node local = Node.open(new InetSocketAddress("127.0.0.1", 0), SMALL.transport(Transport.AUTO), arena);
        assertThat(local.toString()).contains("on TCP");
    }

    private static void call(Channel channel) throws InterruptedException {
        Message request = channel.message(DEADLINE).length(Long.BYTES);
        channel.call(request, DEADLINE).close();
    }

    /** Returns the number of times that soft-RoCE has found no receive, as {@code rdma statistic} shows it. */
    private static long receiverNotReady() throws IOException {
        Path counters = Path.of("/sys/class/infiniband", TestDevice.get().name(), "ports/1/hw_counters");
        long sum = 0;
        for (String name : List.of("rcvd_rnr_err", "send_rnr_err", "retry_rnr_exceeded_err")) {
            sum += Long.parseLong(Files.readString(counters.resolve(name)).strip());
        }
        return sum;
    }

    /** Both sides send as fast as they can, into windows of four messages. */
    @Test
    void noMessageFindsThePeerWithoutAReceive() throws Exception {
        assumeTrue(
                Files.exists(
                        Path.of("/sys/class/infiniband", TestDevice.get().name(), "ports/1/hw_counters/rcvd_rnr_err")),
                "only soft-RoCE has these counters");
        Node server = Node.open(CmAddress.four(0), SMALL, arena);
        Node client = Node.open(CmAddress.four(0), SMALL, arena);
        Future<Channel> accepted = threads.submit(() -> server.accept(DEADLINE));
        Channel left = client.connect(server.address(), DEADLINE);
        Channel right = accepted.get(DEADLINE.toSeconds(), SECONDS);
        long before = receiverNotReady();
        int messages = 50;
        List<Future<?>> work = new ArrayList<>();
        for (Channel side : List.of(left, right)) {
            work.add(threads.submit(() -> {
                for (int i = 0; i < messages; i++) {
                    send(side, i);
                }
                return null;
            }));
            work.add(threads.submit(() -> {
                for (int i = 0; i < messages; i++) {
                    assertThat(receive(side)).isEqualTo(i);
                }
                return null;
            }));
        }
        for (Future<?> each : work) {
            each.get(DEADLINE.toSeconds(), SECONDS);
        }
        assertThat(receiverNotReady()).isEqualTo(before);
    }
}

package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.VethWire;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * A channel between two adapters whose wire loses packets for a while. {@link HealTest}, {@link HealFaultsTest} and {@link
 * SeveralDevicesPathsTest} have all that can happen to it; {@code HealOnWireTest} and {@code HealOverSecondPathTest} have the
 * faults of a wire between two machines.
 */
@DeviceTest
@EnabledIfEnvironmentVariable(
        named = "VERBENA_GUEST",
        matches = "1",
        disabledReason = "it rewires the network, which only a guest of scripts/soft-roce may have done to it")
class HealOnDeviceTest {
    static final NodeOptions HEALS = NodePair.SMALL
            .operations(4)
            .heal(Duration.ofSeconds(30))
            .alive(Duration.ofMillis(200))
            .closeTimeout(Duration.ZERO)
            .handshakeTimeout(DEADLINE);

    /** In a process of its own, because librdmacm keeps devices open: they can't be removed. */
    @Test
    void nothingIsLostAndNothingComesTwiceIfAWireLosesPackets() throws Exception {
        VethWire.layCut();
        try {
            assertThat(ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                            .runOnClassPath(LossAndReturn.class)
                            .successfulOutput())
                    .contains("all came once");
        } finally {
            VethWire.remove();
        }
    }

    /**
     * A program whose wire loses what the server sends: the acknowledgements of what it has received and done, too, so that
     * all is sent again.
     */
    static final class LossAndReturn {
        private static final int READ = 0x0c; // the opcode of the request
        private static final int FLOWING = 20;

        /** Loses what the server sends from the first request to read or write on, once it has begun. Counts messages. */
        private static final class Loss implements Predicate<CutWire.Packet> {
            private final AtomicInteger toServer = new AtomicInteger();
            private final AtomicInteger toClient = new AtomicInteger();
            private volatile boolean begun;
            private volatile boolean cut;

            void begin() {
                begun = true;
            }

            @Override
            public boolean test(CutWire.Packet packet) {
                boolean reliable = packet.isReliable();
                if (begun && !cut && reliable && (packet.opcode() == READ || packet.opcode() == CutWire.WRITE)) {
                    toServer.set(0);
                    toClient.set(0);
                    cut = true;
                }
                if (reliable && packet.opcode() == CutWire.SEND) {
                    (packet.toServer() ? toServer : toClient).incrementAndGet();
                }
                return cut && !packet.toServer();
            }
        }

        public static void main(String[] arguments) throws Exception {
            try (VerbsArena arena = VerbsArena.ofShared();
                    CutWire wire = new CutWire();
                    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                try {
                    run(arena, wire, threads);
                } finally {
                    wire.lose(packet -> false);
                    threads.shutdownNow();
                }
            }
            System.out.println("all came once");
            System.exit(0);
        }

        private static void run(VerbsArena arena, CutWire wire, ExecutorService threads) throws Exception {
            Node server = NodePair.open(HEALS, new InetSocketAddress(VethWire.SECOND, 0), arena);
            MemorySegment table = arena.allocate(2 * Long.BYTES, Long.BYTES);
            table.set(ValueLayout.JAVA_LONG, 0, 7);
            server.export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
                    .inTheClear();
            Node client = NodePair.open(HEALS, new InetSocketAddress(VethWire.FIRST, 0), arena);
            Future<Channel> accepted = threads.submit(() -> server.accept(DEADLINE));
            Channel channel = client.connect(server.address(), DEADLINE);
            NodePair.Ends ends = new NodePair.Ends(channel, NodePair.end(accepted));
            RemoteMemory remote = channel.remote("table", DEADLINE);
            LocalMemory mine = client.register(arena.allocate(Long.BYTES, Long.BYTES), AccessFlag.LOCAL_WRITE)
                    .slice(0, Long.BYTES);
            NumberedTraffic traffic = new NumberedTraffic(ends, threads);
            Loss loss = new Loss();
            wire.lose(loss);
            Await.until(
                    "messages flow both ways", () -> loss.toServer.get() > FLOWING && loss.toClient.get() > FLOWING);
            loss.begin();
            Future<?> read = threads.submit(() -> {
                channel.read(mine, remote.slice(0, Long.BYTES), DEADLINE);
                return null;
            });
            Future<?> write = threads.submit(() -> {
                channel.writeLong(remote.slice(Long.BYTES, Long.BYTES), 9, DEADLINE);
                return null;
            });
            BooleanSupplier isHealing = () ->
                    channel.session().isHealing() || ends.server().session().isHealing();
            Await.until( // a side without credits may send nothing until then
                    "messages are lost, and acknowledgements of others",
                    () -> loss.cut
                            && ((loss.toServer.get() > 0 && loss.toClient.get() > 0) || isHealing.getAsBoolean()));
            Await.until("one side has no connection", isHealing::getAsBoolean);
            wire.lose(packet -> false);
            NodePair.end(read);
            NodePair.end(write);
            assertThat(mine.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(7);
            assertThat(table.get(ValueLayout.JAVA_LONG, Long.BYTES)).isEqualTo(9);
            traffic.end();
            assertThat(channel.statistics().reconnects()).isPositive();
        }
    }
}

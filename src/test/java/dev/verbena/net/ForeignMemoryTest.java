package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.support.Loopback.DEADLINE;
import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RegionChange;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory that others free, in nodes: it is freed by its owner, once its registration has ended, and once. */
@FencedTest
@Timeout(120)
class ForeignMemoryTest {
    private static final AccessFlag[] WRITABLE = {AccessFlag.LOCAL_WRITE};

    private final Arena foreign = Arena.ofShared();
    private final AtomicInteger closes = new AtomicInteger();

    @AfterEach
    void close() {
        if (foreign.scope().isAlive()) {
            foreign.close();
        }
    }

    private static NodeOptions over(Transport transport) {
        return SMALL.transport(transport);
    }

    private static Node open(Transport transport, VerbsArena arena) {
        return Node.open(
                transport == Transport.RDMA ? NodePair.OWN : new InetSocketAddress("127.0.0.1", 0),
                over(transport),
                arena);
    }

    private MemorySegment memory() {
        return foreign.allocate(64, 8);
    }

    private void release() {
        closes.incrementAndGet();
        foreign.close(); // throws if that was done before
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void refusalOfAClosableArenaNamesTheWayToRegisterItAnyhow(Transport transport) {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = open(transport, arena);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> node.register(memory(), WRITABLE))
                    .withMessageContaining("RegionOptions.foreign(memory)");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> node.register(RegionOptions.of(memory()).access(WRITABLE)))
                    .withMessageContaining("RegionOptions.foreign(memory)");
            MemoryRegion region = node.register(RegionOptions.foreign(memory()).access(WRITABLE));
            assertThat(region.length()).isEqualTo(64);
        }
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void regionClosesTheOwnerOfItsMemoryOnceItIsClosed(Transport transport) {
        int live = Fenced.liveObjects();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = open(transport, arena);
            MemoryRegion region = node.register(memory(), this::release, WRITABLE);
            assertThat(closes).hasValue(0);
            region.close();
            assertThat(closes).hasValue(1);
            region.close();
            assertThat(closes).hasValue(1);
            Arena theirs = Arena.ofShared();
            node.register(theirs.allocate(64), theirs, WRITABLE).close();
            assertThat(theirs.scope().isAlive()).isFalse();
        }
        assertThat(Fenced.liveObjects()).isEqualTo(live);
    }

    @Test
    void regionOfADomainClosesTheOwnerAndCanNotBeChanged() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            MemoryRegion region = open(Transport.RDMA, arena)
                    .context()
                    .allocateProtectionDomain(arena)
                    .register(RegionOptions.foreign(memory(), this::release).access(WRITABLE));
            assertThatIllegalStateException()
                    .isThrownBy(() -> region.reregister(RegionChange.of(arena.allocate(64))))
                    .withMessageContaining("owner");
            assertThat(closes).hasValue(0);
            region.close();
            assertThat(closes).hasValue(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void arenaOfTheNodeClosesTheOwnersToo(Transport transport) {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            open(transport, arena).register(memory(), this::release, WRITABLE);
        }
        assertThat(closes).hasValue(1);
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void peersUseExportedMemoryUntilTheExportClosesItsOwner(Transport transport) throws Exception {
        MemorySegment memory = memory();
        memory.set(ValueLayout.JAVA_LONG, 0, 41);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node server = open(transport, arena);
            Node client = open(transport, arena);
            Export export = server.export(
                    "memory",
                    RegionOptions.foreign(memory, this::release)
                            .access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE));
            assertThat(export.access()).containsOnly(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
            Channel channel = client.connect(server.address(), DEADLINE);
            RemoteMemory remote = channel.remote("memory", DEADLINE);
            MemoryRegion local = client.register(arena.allocate(64), WRITABLE);
            channel.read(local.slice(0, 8), remote.slice(0, 8), DEADLINE);
            assertThat(local.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(41);
            local.segment().set(ValueLayout.JAVA_LONG, 0, 42);
            channel.write(local.slice(0, 8), remote.slice(0, 8), DEADLINE);
            assertThat(memory.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(42);
            assertThat(closes).hasValue(0);
            export.close();
            assertThat(closes).hasValue(1);
            assertThatExceptionOfType(CallException.class).isThrownBy(() -> channel.remote("memory", DEADLINE));
        }
    }

    /** The caller still has the memory, and would free it twice. */
    @ParameterizedTest
    @EnumSource(Transport.class)
    void failedRegistrationClosesNoOwner(Transport transport) {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = open(transport, arena);
            RegionOptions options = RegionOptions.foreign(memory(), this::release);
            node.export("taken", arena.allocate(8), AccessFlag.REMOTE_READ);
            assertThatIllegalStateException()
                    .isThrownBy(() -> node.export("taken", options.access(AccessFlag.REMOTE_READ)));
            assertThatIllegalArgumentException().isThrownBy(() -> node.export("without rights", options));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> node.export("with an address", options.address(0)))
                    .withMessageContaining("without address and hints");
            assertThatIllegalArgumentException().isThrownBy(() -> node.register(RegionOptions.dmaBuf(0, 0, 8)));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> node.register(memory(), arena, WRITABLE))
                    .withMessageContaining("VerbsArena");
            node.close();
            assertThatIllegalStateException().isThrownBy(() -> node.register(options));
        }
        assertThat(closes).hasValue(0);
        assertThat(foreign.scope().isAlive()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void ownerThatThrowsLeavesTheRegionClosed(Transport transport) {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = open(transport, arena);
            MemoryRegion region = node.register(
                    memory(),
                    () -> {
                        throw new IOException("of the owner");
                    },
                    WRITABLE);
            assertThatIllegalStateException().isThrownBy(region::close).withCauseInstanceOf(IOException.class);
            assertThat(region.isOpen()).isFalse();
            region.close();
        }
    }

    /** The thread of a node over TCP touches the memory itself, and goes on. */
    @ParameterizedTest
    @ValueSource(ints = {8, 1 << 20})
    void truncatedFileEndsTheChannelOfAPeerThatUsesItOverTcp(int size, @TempDir Path folder) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                FileChannel file = FileChannel.open(folder.resolve("file"), CREATE_NEW, READ, WRITE)) {
            Node server = open(Transport.TCP, arena);
            Node client = open(Transport.TCP, arena);
            MemoryRegion region = server.register(file, 0, 1 << 20, AccessFlag.LOCAL_WRITE);
            server.export("file", region.segment(), AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
            file.truncate(0);
            MemoryRegion local = client.register(arena.allocate(1 << 20), WRITABLE);
            for (boolean reads : new boolean[] {true, false}) {
                Channel channel = client.connect(server.address(), DEADLINE);
                RemoteMemory remote = channel.remote("file", DEADLINE).slice(0, size);
                assertThatExceptionOfType(ChannelException.class).isThrownBy(() -> {
                    if (reads) {
                        channel.read(local.slice(0, size), remote, DEADLINE);
                    } else {
                        channel.write(local.slice(0, size), remote, DEADLINE);
                    }
                });
            }
            assertThat(client.connect(server.address(), DEADLINE)
                            .remote("file", DEADLINE)
                            .length())
                    .isEqualTo(1 << 20);
        }
    }

    /** No registration of the node is left when the owner is called. */
    @ParameterizedTest
    @EnumSource(Transport.class)
    void ownerIsClosedAfterTheDeviceLetsGoOfTheMemory(Transport transport) {
        if (transport == Transport.AUTO) {
            Fenced.assumeNoLimit("has no connection manager");
        }
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = open(transport, arena);
            int before = Fenced.liveObjects();
            int[] left = new int[1];
            MemoryRegion region = node.register(memory(), () -> left[0] = Fenced.liveObjects() - before, WRITABLE);
            assertThat(Fenced.liveObjects() - before).isEqualTo(transport == Transport.TCP ? 0 : 1);
            region.close();
            assertThat(left[0]).isZero();
            assertThat(region.isOpen()).isFalse();
        }
    }
}

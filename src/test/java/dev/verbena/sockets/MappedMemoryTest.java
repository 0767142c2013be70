package dev.verbena.sockets;

import static dev.verbena.sockets.SocketPair.pattern;
import static dev.verbena.sockets.SocketPair.readFully;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.docs.SocketSnippets;
import dev.verbena.support.Await;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Resources;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory that the peer of a channel writes to. */
@DeviceTest
class MappedMemoryTest {
    private static final int SIZE = 100_000; // several times the buffers of a connection

    private static long regionsBefore;

    private static long regions() {
        try {
            return Resources.ofThisProcess().stream()
                    .filter(each -> each.startsWith("mr "))
                    .count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @BeforeAll
    static void countRegions() {
        regionsBefore = regions();
    }

    /** Waits for the threads that close sockets. */
    @AfterAll
    static void noRegionIsLeft() {
        Await.until("no more memory regions than before, " + regionsBefore, () -> regions() <= regionsBefore);
    }

    private static MemorySegment copy(byte[] bytes, Arena arena) {
        return arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
    }

    private static byte[] bytes(MemorySegment segment) {
        return segment.toArray(ValueLayout.JAVA_BYTE);
    }

    /** Waits until the peer knows of all memory that is mapped, and of all bytes that were placed. */
    private static void meet(RdmaSocketChannel from, RdmaSocketChannel to) throws IOException {
        from.write(ByteBuffer.allocate(1));
        readFully(to, ByteBuffer.allocate(1));
    }

    @Test
    void pictureOfTheExampleArrives() throws Exception {
        byte[] picture = pattern(SIZE);
        try (SocketPair pair = SocketPair.connected(1);
                VerbsArena arena = VerbsArena.ofShared()) {
            FutureTask<byte[]> receiving =
                    new FutureTask<>(() -> bytes(SocketSnippets.receivePicture(pair.mapping(), SIZE, arena)));
            Thread.ofVirtual().start(receiving);
            SocketSnippets.sendPicture(pair.client, MemorySegment.ofArray(picture));
            assertThat(receiving.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .isEqualTo(picture);
        }
    }

    @Test
    void writeReachesEachMappedSegmentAtItsOffset() throws Exception {
        try (SocketPair pair = SocketPair.connected(3);
                VerbsArena arena = VerbsArena.ofConfined()) {
            MemorySegment memory = arena.allocate(300);
            MappedSegment first = pair.mapping().map(memory.asSlice(0, 100), 5_000, arena);
            MappedSegment second = pair.mapping().map(memory.asSlice(200, 100), 0);
            MappedSegment third = pair.mapping().map(memory.asSlice(100, 100));
            meet(pair.mapping(), pair.client);
            for (int length : new int[] {1, 2, 3, 50}) {
                MemorySegment source = copy(pattern(length), arena);
                assertThat(pair.client.write(source, first.offset() + 50)).isEqualTo(length);
                assertThat(pair.client.write(source, second.end() - length)).isEqualTo(length);
                assertThat(pair.client.write(source, third.offset())).isEqualTo(length);
                meet(pair.client, pair.mapping());
                assertThat(bytes(memory.asSlice(50, length))).isEqualTo(pattern(length));
                assertThat(bytes(memory.asSlice(300 - length, length))).isEqualTo(pattern(length));
                assertThat(bytes(memory.asSlice(100, length))).isEqualTo(pattern(length));
            }
            assertThat(first.toString()).contains("100 bytes at offset 5000");
            assertThat(first.channel()).isSameAs(pair.mapping());
            second.close();
            third.close();
        }
    }

    @Test
    void bothEndsMapAndStreamAtOnce() throws Exception {
        try (SocketPair pair = SocketPair.connected(1);
                VerbsArena arena = VerbsArena.ofShared()) {
            MemorySegment left = arena.allocate(SIZE);
            MemorySegment right = arena.allocate(SIZE);
            pair.client.map(left, 0, arena);
            pair.mapping().map(right, 0, arena);
            FutureTask<Object> other = new FutureTask<>(() -> {
                meet(pair.client, pair.mapping());
                pair.mapping().write(copy(pattern(SIZE), arena), 0);
                meet(pair.mapping(), pair.client);
                return null;
            });
            Thread.ofVirtual().start(other);
            other.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
            pair.client.write(MemorySegment.ofArray(pattern(SIZE)), 0);
            meet(pair.client, pair.mapping());
            assertThat(bytes(left)).isEqualTo(pattern(SIZE));
            assertThat(bytes(right)).isEqualTo(pattern(SIZE));
        }
    }

    /** Writes until the peer, which does not read, has no room. Returns the number of bytes. */
    private static long fill(RdmaSocketChannel channel) throws IOException {
        long sum = 0;
        int count;
        do {
            count = channel.write(ByteBuffer.allocate(SIZE));
            sum += count;
        } while (count > 0);
        return sum;
    }

    @Test
    void nonBlockingWritePlacesWhatTheQueueHasRoomFor() throws Exception {
        try (SocketPair pair = SocketPair.connected(1);
                VerbsArena arena = VerbsArena.ofShared()) {
            MemorySegment target = arena.allocate(SIZE);
            pair.mapping().configureBlocking(false);
            pair.client.configureBlocking(false);
            pair.mapping().map(target, 0, arena);
            pair.mapping().configureBlocking(true);
            pair.client.configureBlocking(true);
            meet(pair.mapping(), pair.client);
            pair.client.configureBlocking(false);
            MemorySegment source = copy(pattern(SIZE), arena);
            int[] stream = {0};
            Await.until("no room", () -> {
                stream[0] += (int) fill(pair.client);
                return pair.client.write(source.asSlice(0, 1), 0) == 0;
            });
            readFully(pair.mapping(), ByteBuffer.allocate(stream[0]));
            pair.mapping().configureBlocking(false);
            long[] sum = {0};
            Await.until("all placed", () -> {
                pair.mapping().read(ByteBuffer.allocate(1)); // tells the peer that there is room again
                sum[0] += pair.client.write(source.asSlice(sum[0]), sum[0]);
                return sum[0] == SIZE;
            });
            pair.client.configureBlocking(true);
            pair.mapping().configureBlocking(true);
            meet(pair.client, pair.mapping());
            assertThat(bytes(target)).isEqualTo(pattern(SIZE));
        }
    }

    @Test
    void writeBeyondTheMappedSegmentIsRefused() throws Exception {
        try (SocketPair pair = SocketPair.connected(1);
                VerbsArena arena = VerbsArena.ofShared()) {
            MemorySegment target = arena.allocate(1_000);
            MemorySegment source = copy(pattern(1_001), arena);
            assertThatThrownBy(() -> pair.client.write(source, 0))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessageContaining("mapped nothing at offset");
            pair.mapping().map(target, 100, arena);
            meet(pair.mapping(), pair.client);
            for (long offset : new long[] {101, 1_099, 1_100, 1L << 40}) {
                assertThatThrownBy(() -> pair.client.write(source, offset))
                        .isInstanceOf(IndexOutOfBoundsException.class);
            }
            assertThatThrownBy(() -> pair.client.write(source, -1)).isInstanceOf(IllegalArgumentException.class);
            meet(pair.client, pair.mapping());
            assertThat(target.mismatch(arena.allocate(1_000))).isEqualTo(-1);
            for (long offset : new long[] {0, 98}) { // the end is mapped, but not the start
                assertThatThrownBy(() -> pair.client.write(source.asSlice(0, 500), offset))
                        .isInstanceOf(IndexOutOfBoundsException.class);
            }
            assertThat(pair.client.write(source.asSlice(0, 1_000), 100)).isEqualTo(1_000);
            assertThat(pair.client.write(source.asSlice(0, 0), 1L << 40)).isZero();
        }
    }

    @Test
    void writeAcrossTwoMappedSegmentsEndsWhenTheChannelIsClosed() throws Exception {
        try (SocketPair pair = SocketPair.connected(2);
                VerbsArena arena = VerbsArena.ofShared()) {
            pair.mapping().map(arena.allocate(1_000), 0, arena);
            pair.mapping().map(arena.allocate(1_000), 1_000, arena);
            meet(pair.mapping(), pair.client);
            FutureTask<Object> writing = new FutureTask<>(() -> {
                while (true) {
                    pair.client.write(arena.allocate(2_000), 0); // one call of C may not leave a mapping
                }
            });
            Thread thread = Thread.ofPlatform().daemon().start(writing);
            Await.until(
                    "is in C",
                    () -> Stream.of(thread.getStackTrace())
                            .anyMatch(frame -> frame.getMethodName().equals("placeOnce")));
            pair.client.close();
            assertThatThrownBy(() -> writing.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(IOException.class);
        }
    }

    @Test
    void mapRefusesMemoryThatCannotBeWrittenTo() throws Exception {
        try (SocketPair pair = SocketPair.connected(3);
                VerbsArena arena = VerbsArena.ofShared();
                Arena foreign = Arena.ofShared()) {
            MemorySegment good = arena.allocate(64);
            for (MemorySegment bad : new MemorySegment[] {
                MemorySegment.ofArray(new byte[64]), good.asReadOnly(), good.asSlice(0, 0), foreign.allocate(64)
            }) {
                assertThatThrownBy(() -> pair.mapping().map(bad, 0, arena))
                        .isInstanceOf(IllegalArgumentException.class);
            }
            assertThatThrownBy(() -> pair.mapping().map(good, -1, arena)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> pair.mapping().map(good, Long.MAX_VALUE, arena))
                    .isInstanceOf(IllegalArgumentException.class);
            MappedSegment mapped = pair.mapping().map(good, 0, arena);
            assertThatThrownBy(() -> pair.mapping().map(arena.allocate(64), 63, arena))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("overlap");
            assertThatThrownBy(() -> pair.mapping().map(good, 64, arena))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("mapped already");
            mapped.close();
            pair.mapping().map(good, 64, arena);
        }
    }

    @Test
    void mapNeedsAConnectionWhosePeerTakesSegments() throws Exception {
        try (SocketPair pair = SocketPair.connected();
                RdmaSocketChannel unconnected = SocketPair.open();
                VerbsArena arena = VerbsArena.ofShared()) {
            MemorySegment memory = arena.allocate(64);
            assertThatThrownBy(() -> pair.client.map(memory, 0, arena))
                    .isInstanceOf(SocketException.class)
                    .hasMessageContaining("RDMA_IOMAPSIZE");
            assertThatThrownBy(() -> unconnected.map(memory, 0, arena)).isInstanceOf(NotYetConnectedException.class);
            assertThatThrownBy(() -> unconnected.write(memory, 0)).isInstanceOf(NotYetConnectedException.class);
            meet(pair.client, pair.mapping()); // the stream goes on
            pair.client.shutdownOutput();
            assertThatThrownBy(() -> pair.client.map(memory, 0, arena)).isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(() -> pair.client.write(memory, 0)).isInstanceOf(ClosedChannelException.class);
        }
    }

    @Test
    void closedSegmentCanBeMappedAgainAndTakesNoBytesBefore() throws Exception {
        try (SocketPair pair = SocketPair.connected(1);
                VerbsArena arena = VerbsArena.ofShared()) {
            MemorySegment memory = arena.allocate(64);
            pair.mapping().map(memory, 0, arena).close();
            meet(pair.mapping(), pair.client); // C sends nothing wrong after an unmapped segment
            pair.mapping().map(memory, 64, arena).close();
            assertThatThrownBy(
                            () -> { // the peer's adapter refuses the bytes, and both lose the connection
                                pair.client.write(MemorySegment.ofArray(pattern(64)), 64);
                                pair.client.read(ByteBuffer.allocate(1));
                            })
                    .isInstanceOf(SocketException.class);
            assertThat(bytes(memory)).containsOnly(0);
        }
    }

    /** Memory is not freed while the peer's adapter may write to it. */
    @Test
    void arenaOfMappedMemoryClosesAfterTheMapping() throws Exception {
        SocketPair pair = SocketPair.connected(2);
        VerbsArena memory = VerbsArena.ofShared();
        VerbsArena owner = VerbsArena.ofConfined();
        MappedSegment mapped = pair.mapping().map(memory.allocate(64), 0, owner);
        MappedSegment ofChannel = pair.mapping().map(memory.allocate(64), 64);
        assertThatThrownBy(memory::close)
                .isInstanceOf(ResourceBusyException.class)
                .hasMessageContaining("MappedSegment");
        owner.close();
        assertThat(mapped.isOpen()).isFalse();
        assertThatThrownBy(memory::close).isInstanceOf(ResourceBusyException.class);
        pair.close();
        Await.until("closed with the channel", () -> !ofChannel.isOpen());
        memory.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void closeOfTheChannelEndsMappings(boolean confined) throws Exception {
        Await.until("no queue pairs of other tests", () -> queuePairs() == 0);
        try (VerbsArena arena = confined ? VerbsArena.ofConfined() : VerbsArena.ofShared()) {
            SocketPair pair = SocketPair.connected(2);
            pair.mapping().map(arena.allocate(64), 0, arena);
            MappedSegment second = pair.mapping().map(arena.allocate(64), 64, arena);
            pair.client.write(ByteBuffer.wrap(pattern(10_000)));
            pair.mapping().write(ByteBuffer.wrap(pattern(10_000)));
            pair.mapping().close(); // rclose loops for ever if memory is mapped
            assertThat(readFully(pair.client, ByteBuffer.allocate(10_000)).array())
                    .isEqualTo(pattern(10_000));
            pair.close();
            Await.until("rclose has returned", () -> queuePairs() == 0);
            second.close();
        }
    }

    private static long queuePairs() {
        try {
            return Resources.queuePairs();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Threads that map, write, close segments and close the channel, in any order, free nothing that is registered. */
    @Test
    void threadsMapWriteAndCloseAtOnce() throws Exception {
        int rounds = 6;
        for (int round = 0; round < rounds; round++) {
            SocketPair pair = SocketPair.connected(4);
            VerbsArena arena = VerbsArena.ofShared();
            MemorySegment memory = arena.allocate(4_096);
            UnaryOperator<Runnable> untilClosed = work -> () -> {
                while (pair.client.isOpen()) {
                    work.run();
                }
            };
            Thread[] threads = {
                Thread.ofPlatform().start(untilClosed.apply(() -> mapAndClose(pair.client, memory, 0, arena))),
                Thread.ofVirtual().start(untilClosed.apply(() -> mapAndClose(pair.client, memory, 1_024, arena))),
                Thread.ofPlatform()
                        .start(untilClosed.apply(() -> tryIo(() -> pair.client.write(ByteBuffer.allocate(9))))),
                Thread.ofPlatform()
                        .start(untilClosed.apply(() -> tryIo(() -> pair.accepted.read(ByteBuffer.allocate(99)))))
            };
            for (int i = 0; i < 20; i++) {
                tryIo(() -> pair.mapping().write(MemorySegment.ofArray(pattern(10)), 2_048));
            }
            if (round % 2 == 0) {
                pair.client.close();
                arena.close();
            } else {
                closeWhileBusy(arena);
                pair.client.close();
            }
            pair.close();
            for (Thread thread : threads) {
                Await.end(thread);
            }
        }
    }

    private static void closeWhileBusy(VerbsArena arena) {
        Await.until("arena closes", () -> {
            try {
                arena.close();
                return true;
            } catch (ResourceBusyException busy) {
                return false;
            }
        });
    }

    private static void mapAndClose(RdmaSocketChannel channel, MemorySegment memory, long at, VerbsArena arena) {
        tryIo(() -> channel.map(memory.asSlice(at, 512), at, arena).close());
    }

    private interface Io {
        void run() throws IOException;
    }

    private static void tryIo(Io work) {
        try {
            work.run();
        } catch (IOException | IllegalStateException | IndexOutOfBoundsException closed) {
            Thread.yield();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void closeEndsAWriteThatWaitsForRoom(boolean virtual) throws Exception {
        try (SocketPair pair = SocketPair.connected(1);
                VerbsArena arena = VerbsArena.ofShared()) {
            pair.mapping().map(arena.allocate(64), 0, arena);
            meet(pair.mapping(), pair.client);
            pair.client.configureBlocking(false);
            fill(pair.client);
            pair.client.configureBlocking(true);
            FutureTask<Long> writing =
                    new FutureTask<>(() -> pair.client.write(MemorySegment.ofArray(new byte[64]), 0));
            Thread thread = (virtual ? Thread.ofVirtual() : Thread.ofPlatform()).start(writing);
            Await.until(
                    "waits",
                    () -> Stream.of(thread.getStackTrace())
                            .anyMatch(frame -> frame.getClassName().equals(Waiter.class.getName())
                                    && frame.getMethodName().equals("await")));
            pair.client.close();
            assertThatThrownBy(() -> writing.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .hasCauseInstanceOf(AsynchronousCloseException.class);
        }
    }
}

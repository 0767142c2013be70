package dev.verbena;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.support.ArenaKind;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.ref.WeakReference;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A verbs arena is an arena: JDK code that takes one takes ours. */
class JdkArenaTest {
    @ParameterizedTest
    @EnumSource
    void allocateReturnsMemoryLikeAnyArena(ArenaKind kind) {
        try (Arena arena = kind.make()) {
            MemorySegment text = arena.allocateFrom("verbena");
            assertThat(text.getString(0)).isEqualTo("verbena");
            assertThat(arena.allocateFrom(JAVA_INT, 1, 2, 3).toArray(JAVA_INT)).containsExactly(1, 2, 3);
            assertThat(arena.allocate(100, 4096).address() % 4096).isZero();
            assertThat(arena.allocate(1000).toArray(JAVA_BYTE)).containsOnly(0);
            assertThat(text.scope()).isEqualTo(arena.scope());
        }
    }

    @ParameterizedTest
    @EnumSource
    void arenaServesAsSegmentAllocator(ArenaKind kind) {
        VerbsArena arena = kind.make();
        SegmentAllocator slices = SegmentAllocator.slicingAllocator(arena.allocate(JAVA_LONG, 8));
        MemorySegment first = slices.allocate(JAVA_LONG);
        MemorySegment second = slices.allocate(JAVA_LONG);
        assertThat(second.address() - first.address()).isEqualTo(8);
        arena.close();
        assertThatIllegalStateException().isThrownBy(() -> second.get(JAVA_LONG, 0));
    }

    @ParameterizedTest
    @EnumSource
    void mapAcceptsTheArena(ArenaKind kind, @TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "abcdefgh");
        MemorySegment mapped;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
                VerbsArena arena = kind.make()) {
            mapped = channel.map(MapMode.READ_WRITE, 2, 4, arena);
            assertThat(mapped.get(JAVA_BYTE, 0)).isEqualTo((byte) 'c');
            mapped.set(JAVA_BYTE, 0, (byte) 'C');
        }
        assertThat(mapped.scope().isAlive()).isFalse();
        assertThat(file).hasContent("abCdefgh");
    }

    @ParameterizedTest
    @EnumSource
    void closeRunsCleanupActionsAfterAllObjects(ArenaKind kind) {
        List<String> order = new ArrayList<>();
        try (VerbsArena arena = kind.make()) {
            FakeObject.in(arena, "older", order);
            MemorySegment.ofAddress(4096).reinterpret(1, arena, segment -> order.add("action"));
            FakeObject.in(arena, "younger", order);
        }
        assertThat(order).containsExactly("younger", "older", "action");
    }

    @ParameterizedTest
    @EnumSource
    void closedArenaRefusesToAllocate(ArenaKind kind) {
        VerbsArena arena = kind.make();
        arena.close();
        assertThatIllegalStateException().isThrownBy(() -> arena.allocate(8));
        assertThat(arena.scope().isAlive()).isFalse();
    }

    @Test
    void openArenaIsNeverGarbageCollected() {
        WeakReference<VerbsArena> forgotten = new WeakReference<>(VerbsArena.ofShared());
        collectGarbage();
        VerbsArena arena = forgotten.get();
        assertThat(arena).isNotNull();
        arena.close();
    }

    @Test
    void closedArenaIsGarbageCollected() {
        WeakReference<VerbsArena> closed = new WeakReference<>(openAndClose());
        collectGarbage();
        assertThat(closed.get()).isNull();
    }

    private static VerbsArena openAndClose() {
        VerbsArena arena = VerbsArena.ofShared();
        FakeObject.in(arena, "object");
        arena.close();
        return arena;
    }

    /** Returns when the collector has found a fresh piece of garbage. */
    private static void collectGarbage() {
        WeakReference<Object> garbage = new WeakReference<>(new Object());
        while (garbage.get() != null) {
            System.gc();
        }
    }
}

package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.internal.lifetime.ArenaLifetime;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whose memory an adapter may be given: only what is sure to outlive its use. */
class MemoryOwnershipTest {
    private final VerbsArena arena = VerbsArena.ofConfined();

    @AfterEach
    void close() {
        arena.close();
    }

    private void assertTaken(MemorySegment memory) {
        assertThat(FakeObject.over(arena, memory, "region").isOpen()).isTrue();
    }

    private void assertRefused(MemorySegment memory, String... words) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FakeObject.over(arena, memory, "region"))
                .satisfies(e -> assertThat(e.getMessage()).contains(words));
        assertThat(ArenaLifetime.of(arena).objects()).isEmpty();
    }

    @Test
    void ownershipAcceptsMemoryOfTheSameArena() {
        assertTaken(arena.allocate(64));
        assertTaken(arena.allocate(64).asSlice(8, 8).asReadOnly());
    }

    @Test
    void ownershipAcceptsMemoryOfAnotherVerbsArena() {
        VerbsArena other = VerbsArena.ofShared();
        assertTaken(other.allocate(64));
        ArenaLifetime.of(arena).objects().getFirst().close();
        other.close();
    }

    @Test
    void ownershipAcceptsGlobalMemory() {
        assertTaken(Arena.global().allocate(64));
        assertTaken(MemorySegment.ofAddress(4096).reinterpret(64));
    }

    @Test
    void ownershipAcceptsAutomaticMemory() {
        assertTaken(Arena.ofAuto().allocate(64));
    }

    @Test
    void ownershipAcceptsDirectBuffers() {
        assertTaken(MemorySegment.ofBuffer(ByteBuffer.allocateDirect(64)));
        assertTaken(MemorySegment.ofBuffer(
                ByteBuffer.allocateDirect(64).position(8).slice().asLongBuffer()));
    }

    @Test
    void ownershipAcceptsMappedBuffers(@TempDir Path folder) throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[64]);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            assertTaken(MemorySegment.ofBuffer(channel.map(MapMode.READ_ONLY, 0, 64)));
            assertTaken(channel.map(MapMode.READ_ONLY, 0, 64, arena));
        }
    }

    @Test
    void ownershipOfABufferIsThatOfItsArena() {
        assertTaken(MemorySegment.ofBuffer(arena.allocate(64).asByteBuffer()));
        ArenaLifetime.of(arena).objects().getFirst().close();
        try (Arena foreign = Arena.ofConfined()) {
            assertRefused(MemorySegment.ofBuffer(foreign.allocate(64).asByteBuffer()), "VerbsArena.allocate()");
        }
    }

    @Test
    void ownershipRefusesHeapMemory() {
        assertRefused(MemorySegment.ofArray(new byte[64]), "heap", "VerbsArena.allocate()");
        assertRefused(MemorySegment.ofBuffer(ByteBuffer.allocate(64)), "heap");
    }

    @Test
    void ownershipRefusesForeignClosableArenasWithAdvice() {
        String[] ways = {
            "can be closed",
            "VerbsArena.allocate()",
            "channel.map(",
            "Arena.ofAuto()",
            "Arena.global()",
            "RegionOptions.foreign(memory)"
        };
        try (Arena confined = Arena.ofConfined();
                Arena shared = Arena.ofShared()) {
            assertRefused(confined.allocate(64), ways);
            assertRefused(shared.allocate(64), ways);
            assertRefused(arena.allocate(64).reinterpret(confined, null), ways);
        }
    }

    @Test
    void ownershipRefusesFreedMemory() {
        MemorySegment freed;
        try (VerbsArena other = VerbsArena.ofShared()) {
            freed = other.allocate(64);
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> FakeObject.over(arena, freed, "region"))
                .withMessageContaining("freed");
    }

    @Test
    void unsafeOwnershipAcceptsForeignArenas() {
        try (Arena foreign = Arena.ofConfined()) {
            FakeObject region = FakeObject.overForeign(arena, foreign.allocate(64), "region");
            region.close();
        }
    }

    @Test
    void unsafeOwnershipRefusesHeapAndFreedMemory() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FakeObject.overForeign(arena, MemorySegment.ofArray(new byte[64]), "region"))
                .withMessageContaining("heap");
        MemorySegment freed;
        try (Arena foreign = Arena.ofConfined()) {
            freed = foreign.allocate(64);
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> FakeObject.overForeign(arena, freed, "region"))
                .withMessageContaining("freed");
    }

    @Test
    void unsafeOwnershipStillTracksVerbsArenas() {
        VerbsArena other = VerbsArena.ofShared();
        FakeObject region = FakeObject.overForeign(arena, other.allocate(64), "region");
        assertThatThrownBy(other::close)
                .isInstanceOf(ResourceBusyException.class)
                .hasMessageContaining("region");
        region.close();
        other.close();
    }
}

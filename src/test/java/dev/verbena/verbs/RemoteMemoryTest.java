package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertOutOfBounds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A peer's memory as a value, and its two serialised forms. */
class RemoteMemoryTest {
    private static final RemoteMemory MEMORY = new RemoteMemory(0x0102_0304_0506_0708L, 0x11223344, 0xaabbccddL);

    @Test
    void serialisedFormIsAddressKeyAndLengthInNetworkOrder() {
        assertThat(HexFormat.of().formatHex(MEMORY.toBytes())).isEqualTo("0102030405060708" + "11223344" + "aabbccdd");
    }

    @Test
    void fromReadsTheSerialisedForm() {
        assertThat(RemoteMemory.from(MEMORY.toBytes())).isEqualTo(MEMORY);
        RemoteMemory most = new RemoteMemory(-1, -1, 0xffff_ffffL);
        assertThat(RemoteMemory.from(most.toBytes())).isEqualTo(most);
    }

    @Test
    void writeToAndFromAcceptUnalignedMemory() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment message = arena.allocate(64, 64).asSlice(3, RemoteMemory.BYTES);
            MEMORY.writeTo(message);
            assertThat(RemoteMemory.from(message)).isEqualTo(MEMORY);
        }
    }

    @Test
    void fromRefusesShortMessages() {
        assertOutOfBounds(() -> RemoteMemory.from(MemorySegment.ofArray(new byte[15])));
        assertOutOfBounds(() -> MEMORY.writeTo(MemorySegment.ofArray(new byte[15])));
    }

    @Test
    void writeToRefusesLengthsThatDoNotFit() {
        RemoteMemory large = new RemoteMemory(0, 0, 1L << 32);
        assertIllegalState("slice", large::toBytes);
        assertThat(large.slice(0, 0xffff_ffffL).toBytes()).hasSize(16);
    }

    @Test
    void wideFormIsAddressKeyAndLongLengthInNetworkOrder() {
        RemoteMemory large = new RemoteMemory(0x0102_0304_0506_0708L, 0x11223344, 0x0a0b_0c0d_aabb_ccddL);
        assertThat(HexFormat.of().formatHex(large.toWideBytes()))
                .isEqualTo("0102030405060708" + "11223344" + "0a0b0c0daabbccdd");
        assertThat(RemoteMemory.fromWide(large.toWideBytes())).isEqualTo(large);
    }

    @Test
    void bothFormsAreReadBack() {
        for (long length : new long[] {0, 1, 0xffff_ffffL}) {
            RemoteMemory memory = new RemoteMemory(-8, -1, length);
            assertThat(RemoteMemory.from(memory.toBytes())).isEqualTo(memory);
            assertThat(RemoteMemory.fromWide(memory.toWideBytes())).isEqualTo(memory);
        }
        for (long length : new long[] {1L << 32, Long.MAX_VALUE}) {
            RemoteMemory memory = new RemoteMemory(-8, -1, length);
            assertThat(RemoteMemory.fromWide(memory.toWideBytes())).isEqualTo(memory);
            assertIllegalState("writeWideTo", memory::toBytes);
        }
    }

    @Test
    void fromTellsTheFormsOfArraysApart() {
        assertThat(RemoteMemory.from(MEMORY.toBytes())).isEqualTo(MEMORY);
        RemoteMemory large = new RemoteMemory(-8, -1, 1L << 40);
        assertThat(RemoteMemory.from(large.toWideBytes())).isEqualTo(large);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 15, 17, 19, 21, 32})
    void fromRefusesArraysOfOtherLengths(int length) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RemoteMemory.from(new byte[length]))
                .withMessage("the serialised form must have 16 or 20 bytes, got " + length);
    }

    @Test
    void wideFormAcceptsUnalignedMemory() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment message = arena.allocate(64, 64).asSlice(5, RemoteMemory.WIDE_BYTES);
            MEMORY.writeWideTo(message);
            assertThat(RemoteMemory.fromWide(message)).isEqualTo(MEMORY);
        }
    }

    @Test
    void shortMessageIsNeitherReadNorWritten() {
        byte[] message = new byte[19];
        assertOutOfBounds(() -> RemoteMemory.fromWide(message));
        assertOutOfBounds(() -> MEMORY.writeWideTo(MemorySegment.ofArray(message)));
        assertThat(message).containsOnly(0);
        byte[] narrow = new byte[15];
        assertOutOfBounds(() -> MEMORY.writeTo(MemorySegment.ofArray(narrow)));
        assertThat(narrow).containsOnly(0);
    }

    @Test
    void fromWideRefusesNegativeLengths() {
        byte[] other = new byte[20];
        other[12] = -1;
        assertIllegalArgument(() -> RemoteMemory.fromWide(other));
    }

    @Test
    void sliceIsWithinTheMemory() {
        RemoteMemory memory = new RemoteMemory(1000, 7, 100);
        assertThat(memory.slice(10, 20)).isEqualTo(new RemoteMemory(1010, 7, 20));
        assertThat(memory.slice(0, 100)).isEqualTo(memory);
        assertThat(memory.slice(100, 0).length()).isZero();
    }

    @Test
    void sliceRefusesRangesOutsideTheMemory() {
        RemoteMemory memory = new RemoteMemory(1000, 7, 100);
        for (long[] range : new long[][] {{-1, 1}, {0, 101}, {100, 1}, {0, -1}, {1, Long.MAX_VALUE}}) {
            assertOutOfBounds(() -> memory.slice(range[0], range[1]));
        }
    }

    @Test
    void constructorRefusesNegativeLengths() {
        assertIllegalArgument("-1", () -> new RemoteMemory(0, 0, -1));
    }

    @Test
    void toStringIsTheSameInEveryLanguage() {
        Locale before = Locale.getDefault();
        try {
            Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
            assertThat(new RemoteMemory(0x7f0010, 0x1234, 4096)).hasToString("4096 bytes at 0x7f0010, rkey 0x1234");
        } finally {
            Locale.setDefault(before);
        }
    }
}

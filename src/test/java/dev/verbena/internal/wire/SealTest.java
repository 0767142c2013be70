package dev.verbena.internal.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.noise.NoiseCipher;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Sealed messages, whose other side is a cipher of Noise alone: nodes of other releases rely on the bytes. */
class SealTest {
    private static final byte[] UP = filled(32, 2);
    private static final byte[] DOWN = filled(32, 1);
    private static final List<String> DIRECTIONS = List.of("sends", "receives");
    private static final int LENGTH = 8;

    private static byte[] filled(int length, int with) {
        byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) with);
        return bytes;
    }

    private static List<NoiseCipher> ciphers() {
        return List.of(NoiseCipher.sealing(UP), NoiseCipher.opening(DOWN));
    }

    @ParameterizedTest
    @CsvSource({"4, 1000000", "1000000, 32", "1000000, 25"}) // four messages of eight bytes
    void keysAreReplacedAfterTheSameMessagesOrBytes(long messages, long bytes) {
        assertKeysAreReplacedAfter(new Seal(ciphers(), messages, bytes), 4, 8);
    }

    /** Nodes of other releases replace theirs at the same message. */
    @ParameterizedTest
    @CsvSource({"messages, 16777216, 3", "bytes, 68719476736, 24"}) // 2^24 and 64 GiB, three messages before
    void keysAreReplacedAfterManyMessagesOrBytes(String count, long most, long left) throws Exception {
        Seal seal = new Seal(ciphers());
        for (String direction : DIRECTIONS) {
            Object of = field(seal, direction).get(seal);
            field(of, count).setLong(of, most - left);
        }
        assertKeysAreReplacedAfter(seal, 3);
    }

    private static Field field(Object of, String name) throws ReflectiveOperationException {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private static void assertKeysAreReplacedAfter(Seal seal, Integer... messages) {
        NoiseCipher opens = NoiseCipher.opening(UP);
        NoiseCipher seals = NoiseCipher.sealing(DOWN);
        for (int i = 0; i < 10; i++) {
            if (List.of(messages).contains(i)) {
                opens.rekey();
                seals.rekey();
            }
            byte[] plain = filled(LENGTH, i);
            byte[] header = filled(Wire.HEADER_BYTES, 100 + i);

            byte[] message = Arrays.copyOf(header, header.length + LENGTH + Seal.BYTES);
            System.arraycopy(plain, 0, message, header.length, LENGTH);
            seal.seal(MemorySegment.ofArray(message), LENGTH, MemorySegment.ofArray(message));
            byte[] sealed = Arrays.copyOfRange(message, header.length, message.length);
            byte[] opened = new byte[LENGTH];
            assertThat(opens.open(header, sealed, sealed.length, opened))
                    .as("message %d of this side", i)
                    .isTrue();
            assertThat(opened).isEqualTo(plain);
            assertThat(message).startsWith(header);

            seals.seal(header, plain, LENGTH, sealed);
            System.arraycopy(sealed, 0, message, header.length, sealed.length);
            assertThat(seal.open(MemorySegment.ofArray(message), sealed.length))
                    .as("message %d of the peer", i)
                    .isTrue();
            assertThat(Arrays.copyOfRange(message, header.length, header.length + LENGTH))
                    .isEqualTo(plain);
        }
    }

    @Test
    void wipedSealHasNeitherKeysNorBytesOfMessages() throws Exception {
        Seal seal = new Seal(ciphers());
        assertKeysAreReplacedAfter(seal);
        seal.wipe();
        for (String direction : DIRECTIONS) {
            Object of = field(seal, direction).get(seal);
            Object cipher = field(of, "cipher").get(of);
            assertThat((byte[]) field(of, "from").get(of)).as(direction).containsOnly(0);
            assertThat((byte[]) field(of, "to").get(of)).as(direction).containsOnly(0);
            assertThat((byte[]) field(cipher, "keyBytes").get(cipher))
                    .as(direction)
                    .containsOnly(0);
        }
    }

    @Test
    void messageWithoutAWholeTagIsNotOpened() {
        MemorySegment message = MemorySegment.ofArray(new byte[Wire.HEADER_BYTES + Seal.BYTES]);
        for (int length = 0; length < Seal.BYTES; length++) {
            assertThat(new Seal(ciphers()).open(message, length))
                    .as("%d bytes", length)
                    .isFalse();
        }
        byte[] tag = new byte[Seal.BYTES];
        NoiseCipher.sealing(DOWN).seal(new byte[Wire.HEADER_BYTES], new byte[0], 0, tag);
        MemorySegment.copy(MemorySegment.ofArray(tag), 0, message, Wire.HEADER_BYTES, tag.length);
        assertThat(new Seal(ciphers()).open(message, Seal.BYTES)).isTrue();
    }
}

package dev.verbena.internal.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The headers of frames over TCP: nodes of other releases rely on the bytes. */
class TcpFrameTest {
    /** The fields of the types from 0 on: length, address, key, number, first and second value. */
    private static final String[] FIELDS = {null, "l", "lak", "lak", "akf", "akfs", "n", "l", "f", ""};

    /** The field of each byte. Bytes 1 to 3 must be 0. */
    private static final String BYTES = "t---" + "llll" + "aaaaaaaa" + "kkkk" + "nnnn" + "ffffffff" + "ssssssss";

    private static boolean isHeader(byte[] bytes) {
        return new TcpFrame().readFrom(ByteBuffer.wrap(bytes));
    }

    @Test
    void fieldThatTheTypeDoesNotHaveMustBeZero() {
        for (int type = 0; type < 256; type++) {
            boolean known = type < FIELDS.length && FIELDS[type] != null;
            byte[] bytes = new byte[40];
            bytes[0] = (byte) type;
            assertThat(isHeader(bytes)).as("type %d", type).isEqualTo(known);
            for (int at = 1; at < bytes.length; at++) {
                bytes[at] = 1;
                boolean mayBeSet = known && FIELDS[type].indexOf(BYTES.charAt(at)) >= 0;
                assertThat(isHeader(bytes)).as("byte %d of type %d", at, type).isEqualTo(mayBeSet);
                bytes[at] = 0;
            }
            bytes[4] = -1; // a negative length
            assertThat(isHeader(bytes)).as("type %d", type).isFalse();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "1, 80, 0, true",
        "1, 272, 0, true",
        "1, 79, 0, false",
        "1, 273, 0, false",
        "2, 80, 0, false",
        "1, 80, 1, false"
    })
    void greetingHas80To272Bytes(int type, int length, int key, boolean mayGreet) {
        ByteBuffer header =
                ByteBuffer.allocate(40).put((byte) type).putInt(4, length).putInt(16, key);
        assertThat(TcpFrame.greetingBytes(header)).isEqualTo(mayGreet ? length : 0);
    }

    /** Bytes behind those that have come may be of an earlier frame. */
    @Test
    void firstFourBytesTellOtherPrograms() {
        for (int come = 0; come <= 16; come++) {
            ByteBuffer node = ByteBuffer.allocate(40).put((byte) TcpFrame.SEND).position(come);
            assertThat(TcpFrame.mayBegin(node)).as("%d bytes of a node", come).isTrue();
            assertThat(FirstVersion.began(node)).as("%d bytes of a node", come).isFalse();
            ByteBuffer first = FirstVersion.answer().position(come);
            assertThat(TcpFrame.mayBegin(first))
                    .as("%d bytes of version 1", come)
                    .isEqualTo(come < 4);
            assertThat(FirstVersion.began(first))
                    .as("%d bytes of version 1", come)
                    .isEqualTo(come >= 4);
        }
        for (int at = 1; at < 4; at++) {
            ByteBuffer other = ByteBuffer.allocate(40).put(at, (byte) 1).position(4);
            assertThat(TcpFrame.mayBegin(other)).as("with byte %d", at).isFalse();
        }
    }

    /** A goodbye is sent although the memory of its channel is gone. */
    @Test
    void dataOfUpTo32BytesIsCopied() {
        for (int length : new int[] {0, 1, 32, 33}) {
            byte[] data = new byte[length];
            Arrays.fill(data, (byte) 7);
            TcpFrame frame = new TcpFrame().begin(TcpFrame.SEND);
            frame.length = length;
            frame.copyShort(MemorySegment.ofArray(data));
            Arrays.fill(data, (byte) 0);
            int copied = length == 33 ? 0 : length;
            byte[] expected = Arrays.copyOf(new byte[] {1, 0, 0, 0, 0, 0, 0, (byte) length}, 40 + copied);
            Arrays.fill(expected, 40, 40 + copied, (byte) 7);
            assertThat(frame.dataLength()).isEqualTo(length - copied);
            ByteBuffer headers = ByteBuffer.allocate(100);
            frame.writeTo(headers);
            assertThat(Arrays.copyOf(headers.array(), headers.position())).isEqualTo(expected);
        }
    }

    @Test
    void readsAndAtomicsNeedAnAnswer() {
        for (int type = TcpFrame.SEND; type <= TcpFrame.DENIAL; type++) {
            TcpFrame frame = new TcpFrame().begin(type);
            boolean isAtomic = type == 4 || type == 5;
            assertThat(frame.isAtomic()).as("type %d", type).isEqualTo(isAtomic);
            assertThat(frame.needsAnswer()).as("type %d", type).isEqualTo(isAtomic || type == 3);
        }
    }
}

package dev.verbena.tools.pingpong;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Tests the length and the text of pings, whose bytes the peer chooses. */
class RpingTest {
    private static MemorySegment ping(String text) {
        return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void answerHasAllBytesToTheFirstNul() {
        assertThat(Rping.withNul(ping("rdma-ping-0: ABC\0DEF\0"))).isEqualTo(17);
        assertThat(Rping.withNul(ping("\0"))).isEqualTo(1);
    }

    @Test
    void answerToAPingWithoutNulHasAllOfItsBytes() {
        assertThat(Rping.withNul(ping("rdma-ping-0: ABC"))).isEqualTo(16);
    }

    @Test
    void answerIsCountedInBytesNotInCharacters() {
        assertThat(Rping.withNul(ping("\u00e4\u20ac\0"))).isEqualTo(2 + 3 + 1);
        assertThat(Rping.withNul(MemorySegment.ofArray(new byte[] {(byte) 0xff, (byte) 0xfe, 0})))
                .isEqualTo(3);
    }

    @Test
    void textShowsDotsForUnprintableBytes() {
        assertThat(Rping.text(ping("rdma-ping-0: ABC\0DEF"))).isEqualTo("rdma-ping-0: ABC");
        assertThat(Rping.text(ping("\u001b[2J\n\u00e4~"))).isEqualTo(".[2J...~");
        assertThat(Rping.text(ping("\0"))).isEmpty();
    }
}

package dev.verbena.verbs.address;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The header in front of a received datagram: IPv6 or InfiniBand in 40 bytes, IPv4 in the last 20. */
class GrhTest {
    private static final byte[] IPV4 = {
        0x45, 0x3c, 0x05, (byte) 0xdc, 0x11, 0x22, 0x33, 0x44, 0x37, 17, 0, 0, 10, 9, 8, 7, 10, 9, 8, (byte) 200
    };

    private static MemorySegment version6() {
        byte[] bytes = new byte[Grh.BYTES];
        bytes[0] = 0x6a; // traffic class 0xa5, flow label 0xf1234
        bytes[1] = 0x5f;
        bytes[2] = 0x12;
        bytes[3] = 0x34;
        bytes[4] = (byte) 0x89; // 0x8967 bytes of payload
        bytes[5] = 0x67;
        bytes[6] = 27;
        bytes[7] = (byte) 0xfe;
        for (int i = 8; i < Grh.BYTES; i++) {
            bytes[i] = (byte) (0x20 + i);
        }
        return MemorySegment.ofArray(bytes);
    }

    /** Returns a header with its checksum, computed as RFC 791 has it. */
    private static MemorySegment version4(byte[] front, byte... header) {
        byte[] bytes = front.clone();
        System.arraycopy(header, 0, bytes, 20, 20);
        bytes[30] = 0;
        bytes[31] = 0;
        long sum = 0;
        for (int i = 20; i < Grh.BYTES; i += 2) {
            sum += (bytes[i] & 0xff) << 8 | (bytes[i + 1] & 0xff);
        }
        while (sum > 0xffff) {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        bytes[30] = (byte) (~sum >> 8);
        bytes[31] = (byte) ~sum;
        return MemorySegment.ofArray(bytes);
    }

    @Test
    void headerOfVersion6IsReadFieldByField() {
        Grh header = Grh.from(version6());
        assertThat(header.version()).isEqualTo(6);
        assertThat(header.trafficClass()).isEqualTo(0xa5);
        assertThat(header.flowLabel()).isEqualTo(0xf1234);
        assertThat(header.payloadLength()).isEqualTo(0x8967);
        assertThat(header.nextHeader()).isEqualTo(27);
        assertThat(header.hopLimit()).isEqualTo(0xfe);
        assertThat(header.source()).isEqualTo(new Gid(0x28292a2b2c2d2e2fL, 0x3031323334353637L));
        assertThat(header.destination()).isEqualTo(new Gid(0x38393a3b3c3d3e3fL, 0x4041424344454647L));
        assertThat(header)
                .hasToString("version 6 from " + header.source() + " to " + header.destination()
                        + ", 35175 bytes, next header 27, hop limit 254, traffic class 165, flow label 987700");
    }

    @Test
    void headerOfVersion4IsReadFieldByField() {
        Grh header = Grh.from(version4(new byte[Grh.BYTES], IPV4));
        assertThat(header.version()).isEqualTo(4);
        assertThat(header.trafficClass()).isEqualTo(0x3c);
        assertThat(header.flowLabel()).isZero();
        assertThat(header.payloadLength()).isEqualTo(0x05dc - 20);
        assertThat(header.nextHeader()).isEqualTo(17);
        assertThat(header.hopLimit()).isEqualTo(0x37);
        assertThat(header.source()).isEqualTo(Gid.parse("::ffff:10.9.8.7"));
        assertThat(header.destination()).isEqualTo(Gid.parse("::ffff:10.9.8.200"));
        assertThat(header.toString()).endsWith(", 1480 bytes, next header 17, hop limit 55, traffic class 60");
    }

    /** The 20 bytes in front of an IPv4 header are not written, and may hold the rest of an earlier IPv6 header. */
    @Test
    void headerOfVersion4IsToldByItsChecksumFromARestOfVersion6() {
        byte[] rest = version6().toArray(ValueLayout.JAVA_BYTE);
        MemorySegment received = version4(rest, IPV4);
        assertThat(Grh.from(received).version()).isEqualTo(4);
        for (int wrong = 20; wrong < Grh.BYTES; wrong++) {
            byte[] bytes = received.toArray(ValueLayout.JAVA_BYTE);
            bytes[wrong] ^= 1;
            assertThat(Grh.from(MemorySegment.ofArray(bytes)).version())
                    .as("byte %d is wrong", wrong)
                    .isEqualTo(6);
        }
        byte[] longer = IPV4.clone();
        longer[0] = 0x46;
        assertThat(Grh.from(version4(rest, longer)).version()).isEqualTo(6);
    }

    /** Sums of 16-bit words that carry once, twice, or not at all. */
    @Test
    void checksumsCarry() {
        byte[] rest = version6().toArray(ValueLayout.JAVA_BYTE);
        for (int fill : new int[] {0, 1, 0x7f, 0x80, 0xfe, 0xff}) {
            byte[] header = new byte[20];
            java.util.Arrays.fill(header, (byte) fill);
            header[0] = 0x45;
            assertThat(Grh.from(version4(rest, header)).version())
                    .as("%x", fill)
                    .isEqualTo(4);
        }
    }

    @Test
    void otherBytesAreNoHeader() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Grh.from(MemorySegment.ofArray(new byte[Grh.BYTES])))
                .withMessageContaining("neither");
        assertThatIllegalArgumentException().isThrownBy(() -> {
            byte[] bytes = new byte[Grh.BYTES];
            bytes[20] = 0x55;
            Grh.from(MemorySegment.ofArray(bytes));
        });
    }

    @Test
    void headersAreEqualIfAllFieldsAre() {
        List<Grh> different = new ArrayList<>();
        for (int i : new int[] {0, 2, 4, 6, 7, 8, 39}) {
            byte[] bytes = version6().toArray(ValueLayout.JAVA_BYTE);
            bytes[i] ^= 1;
            different.add(Grh.from(MemorySegment.ofArray(bytes)));
        }
        Grh header = Grh.from(version6());
        assertThat(header).isEqualTo(Grh.from(version6())).hasSameHashCodeAs(Grh.from(version6()));
        assertThat(different).doesNotContain(header).doesNotHaveDuplicates();
        assertThat(different.stream().map(Grh::hashCode)).doesNotContain(header.hashCode());
    }

    @Test
    void routeKeepsItsOtherValues() {
        Gid gid = Gid.parse("fe80::1");
        GlobalRoute route = GlobalRoute.to(gid, 4).flowLabel(5).hopLimit(6).trafficClass(7);
        assertThat(route).isEqualTo(new GlobalRoute(gid, 4, 5, 6, 7));
        assertThat(route.flowLabel(8)).isEqualTo(new GlobalRoute(gid, 4, 8, 6, 7));
        assertThat(route.hopLimit(8)).isEqualTo(new GlobalRoute(gid, 4, 5, 8, 7));
        assertThat(route.trafficClass(8)).isEqualTo(new GlobalRoute(gid, 4, 5, 6, 8));
    }

    @Test
    void ethernetAddressShowsItsBytesAndItsVirtualNetwork() {
        assertThat(new EthernetAddress(0x5254_0012_3456L, EthernetAddress.NO_VLAN))
                .hasToString("52:54:00:12:34:56");
        assertThat(new EthernetAddress(0x5254_0012_3456L, 7)).hasToString("52:54:00:12:34:56 vlan 7");
        assertThat(new EthernetAddress(1, 0)).hasToString("00:00:00:00:00:01 vlan 0");
    }
}

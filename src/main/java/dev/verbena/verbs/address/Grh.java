package dev.verbena.verbs.address;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The header that says where a datagram came from: the first 40 bytes of what was received ({@code struct ibv_grh}). The
 * message follows them.
 *
 * <p>RoCE v2 over IPv4 has an IPv4 header instead, in the last 20 of the 40 bytes; what is before them is undefined.
 *
 * @param version 6, also for InfiniBand's own header; 4 for an IPv4 header
 * @param trafficClass the class of service: the DSCP and ECN bits
 * @param flowLabel 20 bits that keep a flow together; 0 with IPv4
 * @param payloadLength how many bytes follow it in the packet
 * @param nextHeader what follows: 17 for UDP (RoCE v2), 27 for InfiniBand's transport header
 * @param hopLimit how many more routers it might have passed
 * @param source the sender's GID; an IPv4 address is mapped
 * @param destination the GID that it was sent to, perhaps a multicast group's
 */
public record Grh(
        int version,
        int trafficClass,
        int flowLabel,
        int payloadLength,
        int nextHeader,
        int hopLimit,
        Gid source,
        Gid destination) {
    /** How many bytes a receive for datagrams needs before the message. */
    public static final int BYTES = 40;

    private static final int IPV4 = 20;
    private static final int IPV4_WORDS = 5;
    private static final long MAPPED = 0x0000_ffff_0000_0000L;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    /**
     * Reads the header of a datagram. See {@link dev.verbena.verbs.WorkCompletion#hasRoutingHeader} for whether there is one.
     *
     * @param received what was received, at least 40 bytes
     * @return the header
     * @throws IllegalArgumentException if the 40 bytes are neither kind of header
     * @throws IndexOutOfBoundsException if there are fewer
     */
    public static Grh read(MemorySegment received) {
        int first = received.get(INT, 0);
        boolean version6 = first >>> 28 == 6;
        int second = received.get(INT, IPV4);
        boolean version4 = second >>> 28 == 4;
        if (version4 && (!version6 || (second >>> 24 & 15) == IPV4_WORDS && checksum(received) == 0)) {
            return readIpv4(received);
        }
        if (!version6) {
            throw new IllegalArgumentException("Neither an IPv4 header nor one of version 6 in the first 40 bytes");
        }
        return new Grh(
                6,
                first >>> 20 & 0xff,
                first & 0xfffff,
                Short.toUnsignedInt(received.get(SHORT, 4)),
                unsignedByte(received, 6),
                unsignedByte(received, 7),
                Gid.read(received, 8),
                Gid.read(received, 8 + Gid.BYTES));
    }

    private static Grh readIpv4(MemorySegment received) {
        int headerLength = (unsignedByte(received, IPV4) & 15) * Integer.BYTES;
        return new Grh(
                4,
                unsignedByte(received, IPV4 + 1),
                0,
                Short.toUnsignedInt(received.get(SHORT, IPV4 + 2)) - headerLength,
                unsignedByte(received, IPV4 + 9),
                unsignedByte(received, IPV4 + 8),
                mapped(received.get(INT, IPV4 + 12)),
                mapped(received.get(INT, IPV4 + 16)));
    }

    private static Gid mapped(int address) {
        return new Gid(0, MAPPED | Integer.toUnsignedLong(address));
    }

    /** The one's complement of the IPv4 header's sum, 0 for a header that is one. */
    private static int checksum(MemorySegment received) {
        int sum = 0;
        for (int i = 0; i < 2 * IPV4_WORDS; i++) {
            sum += Short.toUnsignedInt(received.get(SHORT, IPV4 + 2L * i));
        }
        sum = (sum & 0xffff) + (sum >>> 16);
        sum = (sum & 0xffff) + (sum >>> 16);
        return ~sum & 0xffff;
    }

    private static int unsignedByte(MemorySegment received, long offset) {
        return Byte.toUnsignedInt(received.get(ValueLayout.JAVA_BYTE, offset));
    }
}

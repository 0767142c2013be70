package dev.verbena.verbs.address;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The routing header of a datagram: the first 40 bytes of the received memory, before the message ({@code struct
 * ibv_grh}). A header never changes, so all threads can use it.
 *
 * <p>RoCE v2 over IPv4 has an IPv4 header instead, in the last 20 of the 40 bytes. The 20 bytes before it are
 * undefined.
 *
 * {@snippet file="DatagramSnippets.java" region="header"}
 */
public final class Grh {
    /** The number of bytes that a receive for datagrams needs before the message. */
    public static final int BYTES = 40;

    private static final int IPV4 = 20;
    private static final int IPV4_WORDS = 5;
    private static final long MAPPED = 0x0000_ffff_0000_0000L;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private final int version;
    private final int trafficClass;
    private final int flowLabel;
    private final int payloadLength;
    private final int nextHeader;
    private final int hopLimit;
    private final Gid source;
    private final Gid destination;

    private Grh(
            int version,
            int trafficClass,
            int flowLabel,
            int payloadLength,
            int nextHeader,
            int hopLimit,
            Gid source,
            Gid destination) {
        this.version = version;
        this.trafficClass = trafficClass;
        this.flowLabel = flowLabel;
        this.payloadLength = payloadLength;
        this.nextHeader = nextHeader;
        this.hopLimit = hopLimit;
        this.source = source;
        this.destination = destination;
    }

    /**
     * Reads the header of a datagram. {@link dev.verbena.verbs.WorkCompletion#hasRoutingHeader} says if there is a
     * header.
     *
     * @param received the received memory, at least 40 bytes
     * @return the header
     * @throws IllegalArgumentException if the 40 bytes are neither kind of header
     * @throws IndexOutOfBoundsException if there are fewer than 40 bytes
     */
    public static Grh from(MemorySegment received) {
        int first = received.get(INT, 0);
        boolean version6 = first >>> 28 == 6;
        int second = received.get(INT, IPV4);
        boolean version4 = second >>> 28 == 4;
        if (version4 && (!version6 || (((second >>> 24) & 15) == IPV4_WORDS && hasChecksum(received)))) {
            return readIpv4(received);
        }
        if (!version6) {
            throw new IllegalArgumentException(
                    "the first 40 bytes hold neither an IPv4 header nor a header of version 6");
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

    /** Returns true if the words of the IPv4 header and their carries have all bits set, as those of a valid one do. */
    private static boolean hasChecksum(MemorySegment received) {
        int sum = 0;
        for (int i = 0; i < 2 * IPV4_WORDS; i++) {
            sum += Short.toUnsignedInt(received.get(SHORT, IPV4 + 2L * i));
        }
        return (sum & 0xffff) + (sum >>> 16) == 0xffff;
    }

    private static int unsignedByte(MemorySegment received, long offset) {
        return Byte.toUnsignedInt(received.get(ValueLayout.JAVA_BYTE, offset));
    }

    /**
     * Returns the version of the header.
     *
     * @return 6, also for InfiniBand's own header; 4 for an IPv4 header
     */
    public int version() {
        return version;
    }

    /**
     * Returns the class of service.
     *
     * @return the DSCP and ECN bits
     */
    public int trafficClass() {
        return trafficClass;
    }

    /**
     * Returns the label that keeps a flow together.
     *
     * @return 20 bits; 0 with IPv4
     */
    public int flowLabel() {
        return flowLabel;
    }

    /**
     * Returns the number of bytes that follow the header in the packet.
     *
     * @return the number of bytes
     */
    public int payloadLength() {
        return payloadLength;
    }

    /**
     * Returns the kind of the header that follows.
     *
     * @return 17 for UDP (RoCE v2), 27 for InfiniBand's transport header
     */
    public int nextHeader() {
        return nextHeader;
    }

    /**
     * Returns the number of further routers that the packet could have passed.
     *
     * @return 0 to 255
     */
    public int hopLimit() {
        return hopLimit;
    }

    /**
     * Returns the sender's GID.
     *
     * @return the GID; an IPv4 address is mapped
     */
    public Gid source() {
        return source;
    }

    /**
     * Returns the GID that the packet was sent to.
     *
     * @return the GID, which can be a multicast group's
     */
    public Gid destination() {
        return destination;
    }

    private List<Object> all() {
        return List.of(version, trafficClass, flowLabel, payloadLength, nextHeader, hopLimit, source, destination);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Grh header && all().equals(header.all());
    }

    @Override
    public int hashCode() {
        return all().hashCode();
    }

    /**
     * Returns the header, for example {@code version 6 from fe80::1 to fe80::2, 84 bytes, next header 27, hop limit
     * 64}.
     */
    @Override
    public String toString() {
        return "version " + version + " from " + source + " to " + destination + ", " + payloadLength
                + " bytes, next header " + nextHeader + ", hop limit " + hopLimit
                + (trafficClass == 0 ? "" : ", traffic class " + trafficClass)
                + (flowLabel == 0 ? "" : ", flow label " + flowLabel);
    }
}

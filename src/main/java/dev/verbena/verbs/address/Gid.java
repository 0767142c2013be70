package dev.verbena.verbs.address;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;

/**
 * A global identifier: the 128-bit address of a port ({@code union ibv_gid}). On RoCE it is made of an IP address.
 *
 * @param subnetPrefix the upper half
 * @param interfaceId the lower half
 */
public record Gid(long subnetPrefix, long interfaceId) {
    /** How many bytes a GID has. */
    public static final int BYTES = 16;

    /** The GID of nobody: all zero. */
    public static final Gid ZERO = new Gid(0, 0);

    private static final ValueLayout.OfLong BIG_ENDIAN_LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final long IPV4_MAPPED = 0x0000_ffff_0000_0000L;

    /**
     * The GID with these bytes.
     *
     * @param bytes 16 bytes in network order
     * @return the GID
     */
    public static Gid of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("A GID has 16 bytes, not " + bytes.length);
        }
        return read(MemorySegment.ofArray(bytes), 0);
    }

    /**
     * The GID that RoCE makes of an IP address: IPv4 addresses are mapped to {@code ::ffff:a.b.c.d}.
     *
     * @param address an IPv4 or IPv6 address
     * @return the GID
     */
    public static Gid of(InetAddress address) {
        byte[] bytes = address.getAddress();
        return bytes.length == BYTES
                ? of(bytes)
                : new Gid(
                        0,
                        IPV4_MAPPED
                                | Integer.toUnsignedLong(ByteBuffer.wrap(bytes).getInt()));
    }

    /**
     * Reads what the C tools write: 32 hexadecimal digits, or an IPv6 address as {@link #toString()} shows it.
     *
     * @param text the digits or the address
     * @return the GID
     * @throws IllegalArgumentException if it is neither
     */
    public static Gid parse(String text) {
        try {
            if (text.indexOf(':') < 0) {
                return of(HexFormat.of().parseHex(text));
            }
            return of(InetAddress.ofLiteral(text));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("Not a GID: '" + text + "'", e);
        }
    }

    static Gid read(MemorySegment memory, long offset) {
        return new Gid(memory.get(BIG_ENDIAN_LONG, offset), memory.get(BIG_ENDIAN_LONG, offset + Long.BYTES));
    }

    void write(MemorySegment memory, long offset) {
        memory.set(BIG_ENDIAN_LONG, offset, subnetPrefix);
        memory.set(BIG_ENDIAN_LONG, offset + Long.BYTES, interfaceId);
    }

    /**
     * The sixteen bytes.
     *
     * @return a new array, in network order
     */
    public byte[] toBytes() {
        byte[] bytes = new byte[BYTES];
        write(MemorySegment.ofArray(bytes), 0);
        return bytes;
    }

    /**
     * The digits as the C tools exchange them.
     *
     * @return 32 lower-case hexadecimal digits
     */
    public String toHex() {
        return HexFormat.of().formatHex(toBytes());
    }

    /**
     * Whether this is the GID of nobody.
     *
     * @return true if all bits are zero
     */
    public boolean isZero() {
        return equals(ZERO);
    }

    /**
     * Whether an IPv4 address is within: {@code ::ffff:a.b.c.d}.
     *
     * @return true for a RoCE GID of an IPv4 address
     */
    public boolean isIpv4Mapped() {
        return subnetPrefix == 0 && (interfaceId & 0xffff_ffff_0000_0000L) == IPV4_MAPPED;
    }

    /**
     * Whether it is a link-local address, which only neighbours can reach.
     *
     * @return true for {@code fe80::/10}
     */
    public boolean isLinkLocal() {
        return (subnetPrefix >>> 54) == 0x3fa;
    }

    /**
     * The IP address that it was made of.
     *
     * @return an IPv4 address if one is mapped, an IPv6 address otherwise
     */
    public InetAddress toInetAddress() {
        try {
            return isIpv4Mapped()
                    ? InetAddress.getByAddress(
                            ByteBuffer.allocate(4).putInt((int) interfaceId).array())
                    : Inet6Address.getByAddress(null, toBytes(), -1);
        } catch (UnknownHostException e) {
            throw new AssertionError("4 and 16 bytes always make an address", e);
        }
    }

    /** As an address: {@code ::ffff:10.9.9.1} or {@code fe80:0:0:0:5054:ff:fe12:3456}. */
    @Override
    public String toString() {
        String address = toInetAddress().getHostAddress();
        return isIpv4Mapped() ? "::ffff:" + address : address;
    }
}

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
 * A global identifier: the 128-bit address of a port ({@code union ibv_gid}). On RoCE a GID is derived from an IP address.
 *
 * @param subnetPrefix the upper half
 * @param interfaceId the lower half
 */
public record Gid(long subnetPrefix, long interfaceId) {
    /** The number of bytes of a GID. */
    public static final int BYTES = 16;

    /** The GID that no port has: all zero. */
    public static final Gid ZERO = new Gid(0, 0);

    private static final ValueLayout.OfLong BIG_ENDIAN_LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final long IPV4_MAPPED = 0x0000_ffff_0000_0000L;

    /**
     * Returns the GID of 16 bytes.
     *
     * @param bytes 16 bytes in network order
     * @return the GID
     */
    public static Gid from(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("GID must have 16 bytes, got " + bytes.length);
        }
        return read(MemorySegment.ofArray(bytes), 0);
    }

    /**
     * Returns the GID that RoCE derives from an IP address. IPv4 addresses are mapped to {@code ::ffff:a.b.c.d}.
     *
     * @param address an IPv4 or IPv6 address
     * @return the GID
     */
    public static Gid of(InetAddress address) {
        byte[] bytes = address.getAddress();
        return bytes.length == BYTES
                ? from(bytes)
                : new Gid(
                        0,
                        IPV4_MAPPED
                                | Integer.toUnsignedLong(ByteBuffer.wrap(bytes).getInt()));
    }

    /**
     * Reads a GID from text: 32 hexadecimal digits, as the C tools write, or an IPv6 address, as {@link #toString()} writes.
     *
     * @param text the digits or the address
     * @return the GID
     * @throws IllegalArgumentException if the text is neither
     */
    public static Gid parse(String text) {
        try {
            if (text.indexOf(':') < 0) {
                return from(HexFormat.of().parseHex(text));
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
     * Returns the sixteen bytes.
     *
     * @return a new array, in network order
     */
    public byte[] toBytes() {
        byte[] bytes = new byte[BYTES];
        write(MemorySegment.ofArray(bytes), 0);
        return bytes;
    }

    /**
     * Returns the digits that the C tools exchange.
     *
     * @return 32 lower-case hexadecimal digits
     */
    public String toHex() {
        return HexFormat.of().formatHex(toBytes());
    }

    /**
     * Returns true if this is {@link #ZERO}.
     *
     * @return true if all bits are zero
     */
    public boolean isZero() {
        return (subnetPrefix | interfaceId) == 0;
    }

    /**
     * Returns true if this GID holds an IPv4 address: {@code ::ffff:a.b.c.d}.
     *
     * @return true for a RoCE GID of an IPv4 address
     */
    public boolean isIpv4Mapped() {
        return subnetPrefix == 0 && (interfaceId & 0xffff_ffff_0000_0000L) == IPV4_MAPPED;
    }

    /**
     * Returns true if this GID is a link-local address, which only hosts of the same link can reach.
     *
     * @return true for {@code fe80::/10}
     */
    public boolean isLinkLocal() {
        return (subnetPrefix >>> 54) == 0x3fa;
    }

    /**
     * Returns the IP address from which this GID was derived.
     *
     * @return an IPv4 address if one is mapped, else an IPv6 address
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

    /** Returns the GID as an address, such as {@code ::ffff:10.9.9.1} or {@code fe80:0:0:0:5054:ff:fe12:3456}. */
    @Override
    public String toString() {
        String address = toInetAddress().getHostAddress();
        return isIpv4Mapped() ? "::ffff:" + address : address;
    }
}

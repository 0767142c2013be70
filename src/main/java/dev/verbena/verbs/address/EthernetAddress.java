package dev.verbena.verbs.address;

import java.util.HexFormat;

/**
 * The destination of packets on Ethernet: a hardware address and a virtual network.
 *
 * @param mac the hardware address: 48 bits
 * @param vlan the virtual network, 0 to 4095; {@link #NO_VLAN} for none
 */
public record EthernetAddress(long mac, int vlan) {
    /** The value of {@link #vlan} for no virtual network. */
    public static final int NO_VLAN = 0xffff;

    /** The number of bytes of a hardware address. */
    public static final int BYTES = 6;

    /** Returns the address as text, such as {@code 52:54:00:12:34:56} or {@code 52:54:00:12:34:56 vlan 7}. */
    @Override
    public String toString() {
        byte[] bytes = new byte[BYTES];
        for (int i = 0; i < BYTES; i++) {
            bytes[i] = (byte) (mac >>> (8 * (BYTES - 1 - i)));
        }
        return HexFormat.ofDelimiter(":").formatHex(bytes) + (vlan == NO_VLAN ? "" : " vlan " + vlan);
    }
}

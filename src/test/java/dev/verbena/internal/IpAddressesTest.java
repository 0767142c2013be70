package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** Socket addresses of Java and C. The bytes are those of {@code struct sockaddr_in} and {@code sockaddr_in6}. */
class IpAddressesTest {
    private static final byte[] SIX = HexFormat.of().parseHex("fe800102030405060708090a0b0c0d0e");

    private static String bytes(MemorySegment address, int length) {
        return HexFormat.of().formatHex(address.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
    }

    @Test
    void ipv4AddressIsWrittenAndRead() throws UnknownHostException {
        InetSocketAddress address = new InetSocketAddress(InetAddress.getByAddress(new byte[] {10, 9, -8, 7}), 0xfedc);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment written = IpAddresses.write(address, arena);
            assertThat(IpAddresses.length(address)).isEqualTo(16);
            assertThat(bytes(written, 16)).isEqualTo("0200" + "fedc" + "0a09f807" + "0000000000000000");
            assertThat(IpAddresses.read(written)).contains(address);
        }
    }

    @Test
    void ipv6AddressIsWrittenAndRead() throws UnknownHostException {
        for (int scope : new int[] {-1, 0x01020304}) {
            InetSocketAddress address = new InetSocketAddress(Inet6Address.getByAddress(null, SIX, scope), 4791);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment written = IpAddresses.write(address, arena);
                assertThat(IpAddresses.length(address)).isEqualTo(28);
                assertThat(bytes(written, 28))
                        .isEqualTo("0a00" + "12b7" + "00000000" + "fe800102030405060708090a0b0c0d0e"
                                + (scope < 0 ? "00000000" : "04030201"));
                assertThat(IpAddresses.read(written)).contains(address);
                assertThat(((Inet6Address)
                                        IpAddresses.read(written).orElseThrow().getAddress())
                                .getScopeId())
                        .isEqualTo(Math.max(0, scope));
            }
        }
    }

    @Test
    void otherFamiliesAreNoAddresses() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(128, 8);
            for (short family : new short[] {0, 1, 3, 9, 11, 27}) {
                address.set(ValueLayout.JAVA_SHORT, 0, family);
                assertThat(IpAddresses.read(address)).as("family " + family).isEmpty();
            }
        }
    }

    @Test
    void unresolvedHostNameIsRefused() {
        try (Arena arena = Arena.ofConfined()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> IpAddresses.write(InetSocketAddress.createUnresolved("no.such.host", 1), arena))
                    .withMessage("The host name 'no.such.host' can't be resolved");
        }
    }
}

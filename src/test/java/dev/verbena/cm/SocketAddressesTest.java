package dev.verbena.cm;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Addresses that are written for C and read back. */
class SocketAddressesTest {
    private static InetSocketAddress throughC(InetSocketAddress address) {
        try (Arena scratch = Arena.ofConfined()) {
            return SocketAddresses.read(SocketAddresses.write(address, scratch)).orElseThrow();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"10.9.9.1", "2001:db8::1", "fe80::1", "::1", "ff0e::1"})
    void addressesWithoutScopeAreReadBackAsTheyWere(String text) {
        InetSocketAddress address = new InetSocketAddress(InetAddress.ofLiteral(text), 7471);
        assertThat(throughC(address)).isEqualTo(address).hasToString(address.toString());
        assertThat(ConnectionException.text(throughC(address))).doesNotContain("%");
    }

    @Test
    void scopeOfAnAddressIsKept() throws Exception {
        byte[] bytes = InetAddress.ofLiteral("fe80::1").getAddress();
        InetSocketAddress address = new InetSocketAddress(Inet6Address.getByAddress(null, bytes, 3), 1);
        assertThat(throughC(address).getAddress())
                .isInstanceOfSatisfying(
                        Inet6Address.class, six -> assertThat(six.getScopeId()).isEqualTo(3));
    }

    @Test
    void ipv4MappedAddressesStayIpv6() throws Exception {
        byte[] bytes = new byte[16];
        bytes[10] = bytes[11] = (byte) 0xff;
        bytes[12] = 10;
        InetSocketAddress address = new InetSocketAddress(Inet6Address.getByAddress(null, bytes, -1), 1);
        assertThat(throughC(address)).isEqualTo(address);
    }
}

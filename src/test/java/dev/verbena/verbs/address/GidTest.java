package dev.verbena.verbs.address;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.verbs.device.Guid;
import java.net.InetAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** GIDs as bytes, as digits and as addresses. */
class GidTest {
    private static final Gid MAPPED = new Gid(0, 0x0000_ffff_0a09_0901L);
    private static final Gid LINK_LOCAL = new Gid(0xfe80_0000_0000_0000L, 0x5054_00ff_fe12_3456L);

    @Test
    void ofMapsIpv4Addresses() throws UnknownHostException {
        assertThat(Gid.of(InetAddress.getByName("10.9.9.1"))).isEqualTo(MAPPED);
        assertThat(MAPPED.isIpv4Mapped()).isTrue();
        assertThat(MAPPED.toInetAddress()).isEqualTo(InetAddress.getByName("10.9.9.1"));
    }

    @Test
    void ofDoesNotSignExtendBytes() throws UnknownHostException {
        assertThat(Gid.of(InetAddress.getByName("255.254.253.252"))).isEqualTo(new Gid(0, 0x0000_ffff_fffe_fdfcL));
    }

    @Test
    void ofKeepsIpv6Addresses() throws UnknownHostException {
        InetAddress address = InetAddress.getByName("fe80::5054:ff:fe12:3456");
        assertThat(Gid.of(address)).isEqualTo(LINK_LOCAL);
        assertThat(LINK_LOCAL.toInetAddress().getAddress()).isEqualTo(address.getAddress());
        assertThat(LINK_LOCAL.isLinkLocal()).isTrue();
        assertThat(LINK_LOCAL.isIpv4Mapped()).isFalse();
    }

    @Test
    void kindsAreToldByAllBitsOfTheirPrefixes() {
        assertThat(new Gid(1, MAPPED.interfaceId()).isIpv4Mapped()).isFalse();
        assertThat(new Gid(0, 0x0000_fffe_0a09_0901L).isIpv4Mapped()).isFalse();
        assertThat(Gid.parse("febf::1").isLinkLocal()).isTrue();
        assertThat(Gid.parse("fec0::1").isLinkLocal()).isFalse();
        assertThat(Gid.parse("7e80::1").isLinkLocal()).isFalse();
    }

    @Test
    void toBytesIsInNetworkOrder() {
        byte[] bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 10, 9, 9, 1};
        assertThat(MAPPED.toBytes()).isEqualTo(bytes);
        assertThat(Gid.from(bytes)).isEqualTo(MAPPED);
    }

    @Test
    void toHexIsTheTextOfTheCTools() {
        assertThat(MAPPED.toHex()).isEqualTo("00000000000000000000ffff0a090901");
        assertThat(Gid.parse("00000000000000000000ffff0a090901")).isEqualTo(MAPPED);
        assertThat(Gid.parse("FE80000000000000505400FFFE123456")).isEqualTo(LINK_LOCAL);
    }

    @Test
    void parseReadsToString() {
        assertThat(MAPPED).hasToString("::ffff:10.9.9.1");
        assertThat(LINK_LOCAL).hasToString("fe80:0:0:0:5054:ff:fe12:3456");
        assertThat(Gid.parse(MAPPED.toString())).isEqualTo(MAPPED);
        assertThat(Gid.parse(LINK_LOCAL.toString())).isEqualTo(LINK_LOCAL);
        assertThat(Gid.parse("fe80::5054:ff:fe12:3456")).isEqualTo(LINK_LOCAL);
    }

    @Test
    void zeroIsTheEmptyGid() {
        assertThat(Gid.ZERO.isZero()).isTrue();
        assertThat(MAPPED.isZero()).isFalse();
        assertThat(Gid.parse("::")).isEqualTo(Gid.ZERO);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "10.9.9.1", "rxe0", "00ff", "zz000000000000000000ffff0a090901", "fe80::1::2", ":"})
    void parseRefusesOtherTextAndQuotesIt(String text) {
        assertThatIllegalArgumentException().isThrownBy(() -> Gid.parse(text)).withMessageContaining("'" + text + "'");
    }

    @Test
    void ofRefusesOtherLengths() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Gid.from(new byte[15]))
                .withMessageContaining("15");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Gid.from(new byte[17]))
                .withMessageContaining("17");
    }

    @Test
    void guidToStringIsTheTextOfTheCTools() {
        assertThat(new Guid(0x5054_00ff_fe12_3456L)).hasToString("5054:00ff:fe12:3456");
        assertThat(new Guid(-1)).hasToString("ffff:ffff:ffff:ffff");
        assertThat(new Guid(0)).hasToString("0000:0000:0000:0000");
    }
}

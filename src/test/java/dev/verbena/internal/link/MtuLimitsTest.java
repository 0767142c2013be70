package dev.verbena.internal.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.cm.PrivateData;
import dev.verbena.verbs.device.Mtu;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** The limits of a packet's payload that nodes tell each other. */
class MtuLimitsTest {
    /** A peer could name a limit that this side keeps to already, and so have it connect for ever. */
    @Test
    void limitThatIsNotSmallerIsNotLearnt() {
        MtuLimits limits = new MtuLimits(Mtu.BYTES_2048);
        InetSocketAddress peer = new InetSocketAddress("10.9.9.1", 7471);
        assertThat(limits.learn(peer, Mtu.BYTES_1024, ConnectData.limit(Mtu.BYTES_1024)))
                .isFalse();
        assertThat(limits.learn(peer, Mtu.BYTES_1024, PrivateData.NONE)).isFalse();
        assertThat(limits.of(peer)).isEqualTo(Mtu.BYTES_2048);
        assertThat(limits.learn(peer, Mtu.BYTES_1024, ConnectData.limit(Mtu.BYTES_512)))
                .isTrue();
        assertThat(limits.of(peer)).isEqualTo(Mtu.BYTES_512);
    }
}

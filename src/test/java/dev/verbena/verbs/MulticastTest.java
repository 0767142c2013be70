package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DatagramPair;
import dev.verbena.support.DeviceTest;
import dev.verbena.verbs.address.Gid;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Queue pairs in multicast groups. */
@DeviceTest
class MulticastTest {
    private static final Gid GROUP = Gid.parse("::ffff:239.1.1.1");

    private DatagramPair peers;
    private QueuePair pair;

    @BeforeEach
    void open() {
        peers = DatagramPair.ready(VerbsArena.ofConfined());
        pair = peers.left.pair;
    }

    @AfterEach
    void close() {
        peers.close();
    }

    private void notInTheGroup() {
        assertThatThrownBy(() -> pair.detachMulticast(GROUP))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ibv_detach_mcast")
                .hasMessageContaining("EINVAL")
                .hasMessageContaining("::ffff:239.1.1.1");
    }

    @Test
    void attachAndDetachWorkOnce() {
        pair.attachMulticast(GROUP);
        pair.detachMulticast(GROUP);
        notInTheGroup();
    }

    @Test
    void secondAttachDoesNothing() {
        pair.attachMulticast(GROUP);
        pair.attachMulticast(GROUP);
        pair.detachMulticast(GROUP);
        notInTheGroup();
    }

    @Test
    void attachAcceptsIpv6Groups() {
        Gid group = Gid.parse("ff12::1");
        pair.attachMulticast(group);
        pair.attachMulticast(GROUP);
        pair.detachMulticast(group);
        pair.detachMulticast(GROUP);
    }

    @Test
    void closeDetachesFromGroups() {
        pair.attachMulticast(GROUP);
        pair.close();
        assertThat(pair.isOpen()).isFalse();
    }

    @Test
    void attachRefusesConnectedQueuePairs() {
        QueuePair connected = peers.domain.createQueuePair(QueuePair.rc(peers.left.queue));
        assertThatThrownBy(() -> connected.attachMulticast(GROUP))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("datagrams");
    }
}

package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.link.Ways;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The paths between the addresses of two nodes. */
class WaysTest {
    private static final InetSocketAddress PEER = at("10.1.0.2", 7174);

    private static InetSocketAddress at(String host, int port) {
        return new InetSocketAddress(host, port);
    }

    private static List<String> order(Ways ways) {
        List<String> all = new ArrayList<>();
        Ways.Way way = ways.preferred();
        for (int i = 0; i < ways.count(); i++) {
            all.add(way.own() + " to " + IpAddresses.text(way.peer()));
            assertThat(ways.before(ways.after(way))).isEqualTo(way);
            way = ways.after(way);
        }
        assertThat(way).isEqualTo(ways.preferred());
        return all;
    }

    @Test
    void pathsBetweenAddressesOfEqualNumbersComeFirst() {
        List<InetSocketAddress> own = List.of(at("10.1.0.1", 1), at("10.2.0.1", 2));
        Ways ways = new Ways(own, PEER, List.of(PEER, at("10.2.0.2", 9)));
        assertThat(order(ways))
                .containsExactly("0 to 10.1.0.2:7174", "1 to 10.2.0.2:9", "0 to 10.2.0.2:9", "1 to 10.1.0.2:7174");
    }

    @Test
    void addressesThatNoPeerCanHaveAreLeftOut() {
        List<InetSocketAddress> told =
                List.of(at("127.0.0.1", 9), at("0.0.0.0", 9), at("224.0.0.1", 9), at("10.1.0.3", 0), at("fd00::1", 9));
        assertThat(order(new Ways(List.of(at("10.1.0.1", 1)), PEER, told))).containsExactly("0 to 10.1.0.2:7174");
    }

    @Test
    void peerOfThisMachineMayHaveLoopbackAddresses() {
        InetSocketAddress peer = at("127.0.0.1", 5);
        Ways ways = new Ways(List.of(at("127.0.0.1", 1)), peer, List.of(peer, at("127.0.0.2", 6)));
        assertThat(order(ways)).containsExactly("0 to 127.0.0.1:5", "0 to 127.0.0.2:6");
    }

    @Test
    void pathsNeedATimeToChangeThem() {
        NodeOptions paths = NodeOptions.defaults().paths(at("10.2.0.1", 0));
        assertThatIllegalArgumentException().isThrownBy(paths::check).withMessageContaining("see NodeOptions.heal()");
        paths.heal(Duration.ofSeconds(1)).check();
    }

    @Test
    void pathsRefuseWildcardAddressesAndMoreThanThree() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NodeOptions.defaults().paths(at("0.0.0.0", 0)))
                .withMessageContaining("wildcard address");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NodeOptions.defaults().paths(PEER, PEER, PEER, PEER))
                .withMessageContaining("number of further addresses must be from 0 to 3, got 4");
    }
}

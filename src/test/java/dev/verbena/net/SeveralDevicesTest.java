package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.SecondDevice;
import dev.verbena.support.TestDevice;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A machine with two devices has a node for each: librdmacm keeps both open till the end of the process. */
@DeviceTest
class SeveralDevicesTest {
    @Test
    void nodesOfEachDeviceTalkOverIt() throws Exception {
        try (SecondDevice added = SecondDevice.make()) {
            String one = TestDevice.get().name();
            String two = added.device().name();
            String first = CmAddress.four(0).getAddress().getHostAddress();
            assertThat(ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                            .runOnClassPath(OnTwoDevices.class, first, SecondDevice.ADDRESS)
                            .successfulOutput()
                            .lines())
                    .containsExactly(one + " to " + one, one + " to " + one, two + " to " + two, two + " to " + two);
        }
    }

    /**
     * A program with a node at each of two addresses. Each node calls itself, and is called by a node that is opened towards
     * it. The program prints the device of the caller and the name that is answered. The two devices of the test guest have no
     * wire between them.
     */
    static final class OnTwoDevices {
        public static void main(String[] addresses) throws InterruptedException {
            try (VerbsArena arena = VerbsArena.ofShared()) {
                List<Node> nodes = List.of(answering(addresses[0], arena), answering(addresses[1], arena));
                for (Node each : nodes) {
                    ask(each, each);
                    ask(Node.openTowards(each.address(), arena), each);
                }
            }
        }

        private static String device(Node node) {
            return node.context().device().name();
        }

        private static Node answering(String own, VerbsArena arena) {
            Node node = Node.open(new InetSocketAddress(own, 0), arena);
            String name = device(node);
            node.listen((channel, request) -> {
                Message reply = request.reply().length(64);
                reply.segment().setString(0, name);
                reply.send();
            });
            return node;
        }

        private static void ask(Node from, Node to) throws InterruptedException {
            try (Channel channel = from.connect(to.address(), Loopback.DEADLINE)) {
                Message request = channel.message(Loopback.DEADLINE).length(1);
                request.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) '?');
                try (Message reply = channel.call(request, Loopback.DEADLINE)) {
                    System.out.println(device(from) + " to " + reply.segment().getString(0));
                }
            }
        }
    }
}

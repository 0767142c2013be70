package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.CFunction;
import dev.verbena.support.ChildJvm;
import org.junit.jupiter.api.Test;

/** The start of a process whose nodes are over TCP. */
class TcpStartTest {
    /** Sends a message of a size that the argument tells, and prints whether that took C. */
    static final class FirstMessage {
        public static void main(String[] arguments) throws Exception {
            int size = Integer.parseInt(arguments[0]);
            NodePair.over(Transport.TCP);
            try (NodePair nodes = new NodePair(NodeOptions.defaults().messageSize(size))) {
                NodePair.Ends ends = nodes.connect();
                ends.client().send(ends.client().message(DEADLINE).length(size), DEADLINE);
                try (Message message = ends.server().receive(DEADLINE)) {
                    System.out.println(message.length() + (CFunction.isInUse() ? " with C" : " without C"));
                }
            }
        }
    }

    private static String first(int size, String... options) {
        return ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                .option(options)
                .runOnClassPath(FirstMessage.class, String.valueOf(size))
                .successfulOutput()
                .strip();
    }

    @Test
    void firstMessageCallsNoC() {
        assertThat(first(1 << 12)).isEqualTo("4096 without C");
    }

    @Test
    void largeMemoryComesFromC() {
        assertThat(first(2 << 20)).isEqualTo("2097152 with C");
    }

    @Test
    void memoryComesFromCIfTheDirectMemoryOfTheJvmIsUsedUp() {
        assertThat(first(1 << 16, "-XX:MaxDirectMemorySize=512k")).isEqualTo("65536 with C");
    }
}

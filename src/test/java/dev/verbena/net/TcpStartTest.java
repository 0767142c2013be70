package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.internal.CFunction;
import dev.verbena.support.ChildJvm;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The start of a process whose nodes are over TCP. */
class TcpStartTest {
    /** Sends a message of a size that the argument tells, and prints whether that took C. */
    static final class FirstMessage {
        public static void main(String[] arguments) throws Exception {
            int size = Integer.parseInt(arguments[0]);
            NodeOptions options =
                    NodeOptions.defaults().transport(Transport.TCP).messageSize(size);
            InetSocketAddress own = new InetSocketAddress("127.0.0.1", 0);
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Node server = Node.open(own, options, arena);
                Node client = Node.open(own, options, arena);
                CompletableFuture<Channel> opening = new CompletableFuture<>();
                Thread.ofPlatform().daemon().start(() -> {
                    try {
                        opening.complete(client.connect(server.address(), DEADLINE));
                    } catch (Throwable t) {
                        opening.completeExceptionally(t);
                    }
                });
                Channel accepted = server.accept(DEADLINE);
                Channel channel = opening.join();
                channel.send(channel.message(DEADLINE).length(size), DEADLINE);
                try (Message message = accepted.receive(DEADLINE)) {
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

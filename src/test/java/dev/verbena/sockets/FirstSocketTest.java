package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.TestDevice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The first sockets of a process, which make room for the others. */
@DeviceTest
class FirstSocketTest {
    /** A program that opens its first sockets. */
    public static void main(String[] arguments) throws IOException {
        RdmaSocketChannel channel = SocketPair.open();
        SocketPair.listening().close();
        channel.close();
        System.out.println("opened");
    }

    private static long requests() throws IOException {
        return Long.parseLong(Files.readString(Path.of("/sys/class/infiniband")
                        .resolve(TestDevice.get().name())
                        .resolve("ports/1/cm_tx_msgs/req"))
                .strip());
    }

    @Test
    void makeRoomWithoutARequestToAnyPeer() throws IOException {
        long before = requests();
        String output = ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(FirstSocketTest.class)
                .successfulOutput();
        assertThat(output).contains("opened");
        assertThat(requests()).isEqualTo(before);
    }
}

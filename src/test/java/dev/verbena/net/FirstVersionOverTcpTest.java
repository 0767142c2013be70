package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.wire.Wire;
import java.io.DataInputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HexFormat;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Nodes of version 1, as recorded, against a node of this version over TCP: no message travels, and the reason is clear. */
class FirstVersionOverTcpTest extends TcpTest {
    private static final int HELLO_BYTES = 16;

    /** The first bytes of a client of version 1, which knew its server's version by the same bytes. */
    private static final byte[] HELLO = bytes("56424e54" + "01" + "00".repeat(11));

    /** The first bytes of a server of version 1 to a client whose first bytes it did not know, and the end of its side. */
    private static final byte[] NOT_KNOWN = bytes("56424e54" + "01" + "00" + "02" + "00".repeat(9));

    private static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    @Test
    void clientOfVersionOneIsToldOfTheOtherVersion() throws Exception {
        TcpPeer peer = stranger();
        peer.write(HELLO);
        byte[] answer = peer.read(HELLO_BYTES);
        assertThat(HexFormat.of().formatHex(answer))
                .as("by which it says: It speaks version %d over TCP, this side version 1", Wire.VERSION)
                .isEqualTo("56424e54" + "0" + Wire.VERSION + "00".repeat(11));
        peer.awaitEnd();
        assertGoesOn();
    }

    @Test
    void serverOfVersionOneIsKnownByItsFirstBytes() throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Future<Void> served = nodes.run(() -> {
                try (Socket socket = listener.accept()) {
                    DataInputStream in = new DataInputStream(socket.getInputStream());
                    in.readNBytes(HELLO_BYTES);
                    socket.getOutputStream().write(NOT_KNOWN);
                    socket.shutdownOutput();
                    in.readAllBytes();
                }
            });
            InetSocketAddress server = (InetSocketAddress) listener.getLocalSocketAddress();
            assertThat(NodePair.failure(EndReason.OTHER_VERSION, () -> nodes.client.connect(server, DEADLINE)))
                    .hasMessageContaining("It speaks version 1, this side version " + Wire.VERSION);
            NodePair.end(served);
        }
        assertGoesOn();
    }
}

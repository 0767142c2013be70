package dev.verbena.tools.pingpong;

import dev.verbena.tools.command.Tcp;
import dev.verbena.verbs.address.Endpoint;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * The handshake of rdma-core's ping-pong programs. Each side sends a text of 52 bytes for each of its queue pairs, the
 * client first. The client ends the handshake with {@code done}.
 */
final class Handshake {
    /** Length of an endpoint in bytes: its text and a NUL. */
    static final int RECORD = 52;

    private static final byte[] DONE = "done\0".getBytes(StandardCharsets.US_ASCII);

    private Handshake() {}

    /**
     * Does the client's part of the handshake.
     *
     * @param peer the server
     * @param mine this side's endpoints
     * @param records number of endpoints in a message, used or not
     * @param connect connects the queue pairs to the peer's endpoints
     * @return the peer's endpoints
     */
    static List<Endpoint> asClient(Tcp peer, List<Endpoint> mine, int records, Consumer<List<Endpoint>> connect)
            throws IOException, InterruptedException {
        peer.write(message(mine, records), "this side's endpoint");
        List<Endpoint> theirs = receive(peer, mine.size(), records);
        connect.accept(theirs);
        peer.write(DONE, "the final 'done'");
        return theirs;
    }

    /** Does the server's part: connects its queue pairs before it sends their endpoints to the client. */
    static List<Endpoint> asServer(Tcp peer, List<Endpoint> mine, int records, Consumer<List<Endpoint>> connect)
            throws IOException, InterruptedException {
        List<Endpoint> theirs = receive(peer, mine.size(), records);
        connect.accept(theirs);
        peer.write(message(mine, records), "this side's endpoint");
        byte[] end = peer.read(DONE.length, "its final 'done'");
        if (!Arrays.equals(end, 0, 4, DONE, 0, 4)) {
            throw new IOException(
                    "the peer ended the handshake with " + shown(end) + " instead of 'done': is it another tool?");
        }
        return theirs;
    }

    private static byte[] message(List<Endpoint> endpoints, int records) {
        byte[] nobody = "0000:000000:000000:00000000000000000000000000000000\0".getBytes(StandardCharsets.US_ASCII);
        byte[] message = new byte[records * RECORD];
        for (int i = 0; i < records; i++) {
            byte[] record =
                    i < endpoints.size() ? (endpoints.get(i) + "\0").getBytes(StandardCharsets.US_ASCII) : nobody;
            System.arraycopy(record, 0, message, i * RECORD, RECORD);
        }
        return message;
    }

    private static List<Endpoint> receive(Tcp peer, int used, int records) throws IOException, InterruptedException {
        byte[] message = peer.read(records * RECORD, records == 1 ? "its endpoint" : "its endpoints");
        List<Endpoint> endpoints = new ArrayList<>();
        for (int i = 0; i < used; i++) {
            byte[] record = Arrays.copyOfRange(message, i * RECORD, (i + 1) * RECORD);
            try {
                endpoints.add(Endpoint.parse(new String(record, StandardCharsets.US_ASCII)));
            } catch (IllegalArgumentException garbage) {
                throw new IOException(
                        "the peer sent " + shown(record) + ", which is not an endpoint: is it another tool?", garbage);
            }
        }
        peer.expectNoMore(records * RECORD + " bytes of endpoints");
        return endpoints;
    }

    /** Formats bytes as quoted text, with dots for unprintable characters. */
    private static String shown(byte[] bytes) {
        StringBuilder text = new StringBuilder("'");
        for (byte b : bytes) {
            text.append(b >= ' ' && b < 127 ? (char) b : '.');
        }
        return text.append('\'').toString();
    }
}

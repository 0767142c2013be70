package dev.verbena.tools;

import dev.verbena.verbs.address.Endpoint;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * How the ping-pongs of rdma-core tell each other their queue pairs: each side sends a text of 52 bytes for each, the
 * client first, and the client ends with {@code done}.
 */
final class Handshake {
    /** How many bytes an endpoint has: its text and a NUL. */
    static final int RECORD = 52;

    private static final byte[] DONE = "done\0".getBytes(StandardCharsets.US_ASCII);

    private Handshake() {}

    /**
     * The client's part.
     *
     * @param peer the server
     * @param mine the own queue pairs
     * @param records how many endpoints a message has, whether used or not
     * @param connect connects the queue pairs to those of the peer
     * @return the peer's
     */
    static List<Endpoint> asClient(Tcp peer, List<Endpoint> mine, int records, Consumer<List<Endpoint>> connect)
            throws IOException, InterruptedException {
        peer.write(message(mine, records), "this side's endpoint");
        List<Endpoint> theirs = receive(peer, mine.size(), records);
        connect.accept(theirs);
        peer.write(DONE, "the word that all is done");
        return theirs;
    }

    /** The server's part: its queue pairs are connected before the client is told about them. */
    static List<Endpoint> asServer(Tcp peer, List<Endpoint> mine, int records, Consumer<List<Endpoint>> connect)
            throws IOException, InterruptedException {
        List<Endpoint> theirs = receive(peer, mine.size(), records);
        connect.accept(theirs);
        peer.write(message(mine, records), "this side's endpoint");
        byte[] end = peer.read(DONE.length, "the word that all is done");
        if (!Arrays.equals(end, 0, 4, DONE, 0, 4)) {
            throw new IOException(
                    "The peer ended the handshake with " + shown(end) + ", not with 'done': is it another tool?");
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
                        "The peer sent " + shown(record) + ", which is no endpoint: is it another tool?", garbage);
            }
        }
        peer.expectNoMore(records * RECORD + " bytes of endpoints");
        return endpoints;
    }

    /** Bytes as text in quotes, with dots for what can't be shown. */
    private static String shown(byte[] bytes) {
        StringBuilder text = new StringBuilder("'");
        for (byte b : bytes) {
            text.append(b >= ' ' && b < 127 ? (char) b : '.');
        }
        return text.append('\'').toString();
    }
}

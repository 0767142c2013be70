package dev.verbena.pair;

import dev.verbena.VerbsArena;
import dev.verbena.net.Node;
import dev.verbena.support.Await;
import dev.verbena.tools.ToolRun;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.stream.Stream;

/** A role that runs {@code verbena serve}, and tells what has arrived. */
final class ServingEnd implements Role {
    /** Waits until more than a piece of a file has arrived, which is what another copy need not send again. */
    static final String AWAIT_PART = "await part";

    /** Waits until the server has given up a copy: before, another one of the same file begins anew. */
    static final String AWAIT_LEFT = "await left";

    private static final long PIECE = 16 << 20;

    @Override
    public void play(Conversation test) throws Exception {
        Path folder = Files.createTempDirectory("served");
        String port = freePort();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        String own = Laboratory.own(0).getHostString();
        Thread server = ToolRun.start(out, "serve", "-b", own, "-p", port, folder.toString());
        try {
            Await.until("the server listens", () -> text(out).contains("serving"));
            test.say(port);
            for (String asked = test.next(); !asked.equals(PeerDriver.END); asked = test.next()) {
                if (asked.equals(AWAIT_PART)) {
                    Await.until("a part has arrived", () -> bytes(folder) > PIECE);
                    test.say("arrived");
                } else if (asked.equals(AWAIT_LEFT)) {
                    Await.until("the server gives up the copy", () -> text(out).contains("left "));
                    test.say("left");
                } else {
                    test.say(sum(folder.resolve(asked)));
                }
            }
        } finally {
            server.interrupt();
            Await.end(server);
            System.out.print(text(out)); // tells why a channel has ended
        }
    }

    private static String freePort() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            return Integer.toString(
                    Node.open(Laboratory.own(0), arena).address().getPort());
        }
    }

    private static String text(ByteArrayOutputStream out) {
        return out.toString(StandardCharsets.UTF_8);
    }

    private static long bytes(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.mapToLong(each -> each.toFile().length()).sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the SHA-256 of a file in hexadecimal digits. */
    static String sum(Path file) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
    }
}

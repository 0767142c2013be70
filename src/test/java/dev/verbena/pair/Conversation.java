package dev.verbena.pair;

import dev.verbena.support.Loopback;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Lines between a test and its {@link Role}, over the link that has no faults. */
final class Conversation implements AutoCloseable {
    private final Socket socket;
    private final BufferedReader in;
    private final PrintStream out;

    Conversation(Socket socket) throws IOException {
        this.socket = socket;
        socket.setSoTimeout((int) Loopback.DEADLINE.toMillis());
        in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        out = new PrintStream(socket.getOutputStream(), true, StandardCharsets.UTF_8);
    }

    /** Sets the longest time to wait for a line, in place of the default. */
    Conversation within(Duration longest) throws IOException {
        socket.setSoTimeout((int) longest.toMillis());
        return this;
    }

    void say(String line) {
        out.println(line);
    }

    /** Waits for a line of the other side. */
    String next() throws IOException {
        String line = in.readLine();
        if (line == null) {
            throw new EOFException("the other guest has ended the conversation");
        }
        if (line.startsWith(PeerDriver.FAILED)) {
            throw new AssertionError("the role failed: " + line.replace('\t', '\n'));
        }
        return line;
    }

    String ask(String question) throws IOException {
        say(question);
        return next();
    }

    /** Lets the role end, and checks that it has succeeded and left nothing in its kernel. */
    void end() throws IOException {
        say(PeerDriver.END);
        String last = next();
        if (!last.equals(PeerDriver.DONE)) {
            throw new AssertionError("the role left in its kernel: " + last);
        }
        close();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}

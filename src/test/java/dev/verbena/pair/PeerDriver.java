package dev.verbena.pair;

import dev.verbena.support.Resources;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** The program in the guest {@code b} of a pair: plays the roles that the tests in {@code a} ask for, one at a time. */
final class PeerDriver {
    static final int PORT = 7000;
    static final String END = "end";
    static final String DONE = "done";
    static final String FAILED = "failed: ";

    private static final AtomicInteger PLAYING = new AtomicInteger();

    private PeerDriver() {}

    public static void main(String[] arguments) throws Exception {
        try (ServerSocket server = new ServerSocket()) {
            server.setReuseAddress(true);
            server.bind(new InetSocketAddress(System.getenv("VERBENA_LINK"), PORT));
            System.out.println("ready for the tests");
            for (; ; ) {
                Socket socket = server.accept();
                // A role whose test has failed may wait for something that does not happen. The next one does not.
                Thread.ofPlatform().daemon().start(() -> serve(socket));
            }
        }
    }

    private static void serve(Socket socket) {
        try (Conversation test = new Conversation(socket)) {
            try {
                Role role = (Role)
                        Class.forName(test.next()).getDeclaredConstructor().newInstance();
                PLAYING.incrementAndGet();
                try {
                    role.play(test);
                } finally {
                    PLAYING.decrementAndGet();
                }
                // The objects of other roles are no leftovers: the last role looks for those of all.
                List<String> left = PLAYING.get() > 0 ? List.of() : Resources.ofThisProcess();
                test.say(left.isEmpty() ? DONE : left.toString());
            } catch (Throwable t) {
                StringWriter text = new StringWriter();
                t.printStackTrace(new PrintWriter(text));
                System.out.println(text);
                test.say(FAILED + text.toString().replace("\t", "").replace('\n', '\t'));
            }
        } catch (Exception e) {
            e.printStackTrace();
        }
    }
}

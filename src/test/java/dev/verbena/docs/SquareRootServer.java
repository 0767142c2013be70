package dev.verbena.docs;

import static dev.verbena.net.NodeOptions.Progress.BACKGROUND;
import static dev.verbena.net.NodeOptions.Progress.CALLER;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.temporal.ChronoUnit;

// @start region="program"
/** A server that answers each number with its square root: SquareRootServer STYLE ADDRESS PORT [SECRET-FILE]. */
public final class SquareRootServer {
    public static void main(String[] args) throws Exception { // STYLE is blocking, handlers or polling
        NodeOptions open = NodeOptions.defaults().progress(args[0].equals("polling") ? CALLER : BACKGROUND);
        NodeOptions options = args.length > 3 ? open.secret(Files.readAllBytes(Path.of(args[3]))) : open;
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(new InetSocketAddress(args[1], Integer.parseInt(args[2])), options, arena);
            while (args[0].equals("blocking")) { // a virtual thread for each channel
                Channel channel = node.accept(ChronoUnit.FOREVER.getDuration());
                Thread.startVirtualThread(() -> serve(channel));
            }
            node.listen((channel, request) -> answer(request)); // on the node's thread, or on one that makes progress
            while (args[0].equals("polling") && !Thread.currentThread().isInterrupted()) {
                node.progress();
            }
            Thread.sleep(Long.MAX_VALUE); // until the process is ended
        }
    }

    private static void serve(Channel channel) {
        try (channel) {
            channel.receiveEach(SquareRootServer::answer);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static void answer(Message request) {
        Message reply = request.reply().length(Double.BYTES);
        reply.segment().set(JAVA_DOUBLE, 0, Math.sqrt(request.segment().get(JAVA_DOUBLE, 0)));
        reply.send();
    }
}
// @end

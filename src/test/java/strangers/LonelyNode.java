package strangers;

import dev.verbena.VerbsArena;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import java.net.InetSocketAddress;

/** Opens a node in a program that has no module but those that the library needs. */
public final class LonelyNode {
    private LonelyNode() {}

    /** Prints whether there is a module of management, and a counter of a node that has looked at the clock. */
    public static void main(String[] arguments) {
        NodeOptions options = NodeOptions.defaults().transport(Transport.TCP).progress(NodeOptions.Progress.CALLER);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(new InetSocketAddress("127.0.0.1", 0), options, arena);
            long looked = System.nanoTime() + 300_000_000; // it does each 100 ms
            while (System.nanoTime() < looked) {
                node.progress();
            }
            System.out.println(ModuleLayer.boot().findModule("java.management").isPresent() + " "
                    + node.statistics().opened());
        }
    }
}

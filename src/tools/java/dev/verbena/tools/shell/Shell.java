package dev.verbena.tools.shell;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.tools.device.LoopbackPair;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.address.GidEntry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** Short methods for {@code scripts/jshell}, which imports them, and one arena for the whole session. */
public final class Shell {
    /** The arena of the session. Shared, because a shell may change threads. */
    private static final VerbsArena SESSION = VerbsArena.ofShared();

    private Shell() {}

    /**
     * Returns the devices of this machine.
     *
     * @return all devices
     */
    public static List<Device> devices() {
        return Device.list();
    }

    /**
     * Returns the arena of this session, which owns all objects made by these methods.
     *
     * @return always the same arena
     */
    public static VerbsArena arena() {
        return SESSION;
    }

    /**
     * Opens the first device.
     *
     * @return its context
     */
    public static Context open() {
        return Device.first().open(SESSION);
    }

    /**
     * Opens a device.
     *
     * @param name for example {@code rxe0}
     * @return its context
     */
    public static Context open(String name) {
        return Device.named(name).open(SESSION);
    }

    /**
     * Connects two queue pairs of the first device.
     *
     * @return the connected pair
     */
    public static LoopbackPair pair() {
        return LoopbackPair.connect(open());
    }

    /**
     * Connects both ends of a pair anew, for example after an error.
     *
     * @param pair a pair
     * @return the same pair, whose queues are empty
     */
    public static LoopbackPair again(LoopbackPair pair) {
        pair.reconnect();
        return pair;
    }

    /**
     * Connects two nodes of this program: on the first device, or over TCP without one.
     *
     * @return both nodes, each with its end of a channel
     * @throws InterruptedException if the thread was interrupted
     */
    public static NodePair nodes() throws InterruptedException {
        return NodePair.connect(address(), SESSION);
    }

    /**
     * Opens a channel to a node of this program that answers each request, and returns each other message, with its bytes.
     *
     * @return the channel
     * @throws InterruptedException if the thread was interrupted
     */
    public static Channel channel() throws InterruptedException {
        return NodePair.toEcho(address(), SESSION);
    }

    private static InetSocketAddress address() {
        return new InetSocketAddress(
                devices().isEmpty()
                        ? InetAddress.getLoopbackAddress()
                        : open().bestGid(1).gid().toInetAddress(),
                0);
    }

    /**
     * Returns the addresses of the first device.
     *
     * @return its GIDs
     */
    public static List<GidEntry> gids() {
        return open().gids();
    }

    /**
     * Measures the latency of RDMA reads of 64 bytes between both ends.
     *
     * @param pair a connected pair
     * @return the latencies of 1000 reads
     * @throws InterruptedException if the thread was interrupted
     */
    public static Latency latency(LoopbackPair pair) throws InterruptedException {
        return Latency.ofReads(pair, 64, 1000);
    }

    /**
     * Returns the greeting of the shell.
     *
     * @return a few lines
     */
    public static String greeting() {
        return """
                Verbena: RDMA verbs for Java. This machine has: %s
                Lines to try:
                  var device = open();  device.port(1)
                  device.gids()
                  var pair = pair();  var left = pair.left();  var right = pair.right()
                  right.buffer().segment().setString(0, "Hello, RDMA")
                  left.pair().postRead(1, left.buffer(), right.buffer().remote())
                  left.queue().await(Duration.ofSeconds(5)).orThrow()
                  left.buffer().segment().getString(0)
                  var nodes = nodes();  nodes.left().channel()
                """.formatted(devices().isEmpty() ? "no RDMA device" : names());
    }

    private static String names() {
        return String.join(", ", devices().stream().map(Device::name).toList());
    }
}

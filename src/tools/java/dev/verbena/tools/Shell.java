package dev.verbena.tools;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.address.GidEntry;
import java.util.List;

/** What {@code scripts/jshell} has at hand from the start: a few short words, and one arena for the whole session. */
public final class Shell {
    /** The arena of the session. Shared, since a shell promises nothing about its threads. */
    private static final VerbsArena SESSION = VerbsArena.ofShared();

    private Shell() {}

    /**
     * The devices of this machine.
     *
     * @return all of them
     */
    public static List<Device> devices() {
        return Device.list();
    }

    /**
     * The arena that owns what the session makes.
     *
     * @return the same each time
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
     * Both ends of a connection on the first device, ready to send.
     *
     * @return the connected pair
     */
    public static LoopbackPair pair() {
        return LoopbackPair.connect(open());
    }

    /**
     * The addresses of the first device.
     *
     * @return its GIDs
     */
    public static List<GidEntry> gids() {
        return open().gids();
    }

    /**
     * How long RDMA reads of 64 bytes take between both ends.
     *
     * @param pair a connected pair
     * @return a thousand measurements
     * @throws InterruptedException if the thread was interrupted
     */
    public static Latency latency(LoopbackPair pair) throws InterruptedException {
        return Latency.ofReads(pair, 64, 1000);
    }

    /**
     * What the shell says first.
     *
     * @return a few lines
     */
    public static String greeting() {
        return """
                Verbena: RDMA verbs for Java. This machine has: %s
                Five lines to try:
                  var device = open();  device.port(1)
                  device.gids()
                  var pair = pair();  var left = pair.left();  var right = pair.right()
                  right.buffer().segment().setString(0, "Hello, RDMA");  left.pair().postRead(1, left.buffer(), right.buffer().remote())
                  left.queue().await(Duration.ofSeconds(5)).orThrow();  left.buffer().segment().getString(0)
                """.formatted(devices().isEmpty() ? "no RDMA device" : names());
    }

    private static String names() {
        return String.join(", ", devices().stream().map(Device::name).toList());
    }
}

package strangers;

import dev.verbena.Rdma;
import dev.verbena.RdmaUnavailableException;
import dev.verbena.VerbsArena;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;

/** A program for {@link ChildJvm}: uses features that need no library, then lists the devices or prints the failure. */
public final class ListDevices {
    private ListDevices() {}

    public static void main(String[] args) {
        System.out.println("module: " + Rdma.class.getModule());
        System.out.println("state: " + QueuePairState.of(3));
        System.out.println("endpoint: " + new Endpoint(0x11, 0xa3b2c1, 0, Gid.parse("::ffff:10.9.9.1")));
        try (VerbsArena arena = VerbsArena.ofShared()) {
            System.out.println("memory: " + arena.allocate(64, 64).byteSize());
        }
        System.out.println("unavailability: "
                + Rdma.unavailability().map(Throwable::getMessage).orElse("none"));
        try {
            System.out.println("devices: " + Device.list());
        } catch (RdmaUnavailableException e) {
            System.out.println("refused: " + e.getMessage());
        }
    }
}

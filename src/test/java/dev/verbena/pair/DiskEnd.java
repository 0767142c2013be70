package dev.verbena.pair;

import dev.verbena.examples.LinuxHost;
import dev.verbena.examples.Target;

/** A role that serves a disk, by the example {@code MemoryDisk}, and tells how many queue pairs it has. */
final class DiskEnd implements Role {
    @Override
    public void play(Conversation test) throws Exception {
        try (Target target = new Target(4420, "128m")) {
            test.say(Integer.toString(target.address.getPort()));
            while (!test.next().equals(PeerDriver.END)) {
                test.say(Long.toString(queuePairs()));
            }
        }
    }

    private static long queuePairs() throws Exception {
        return LinuxHost.run("rdma", "resource", "show", "qp")
                .lines()
                .filter(line -> line.contains("type RC"))
                .count();
    }
}

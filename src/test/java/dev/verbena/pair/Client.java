package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;

/** A role that connects to a port of the test, and again each time that it is asked to. It tells the reason of a failure. */
final class Client implements Role {
    @Override
    public void play(Conversation test) throws Exception {
        int port = Integer.parseInt(test.next());
        try (VerbsArena arena = VerbsArena.ofShared()) {
            while (!test.next().equals(PeerDriver.END)) {
                try {
                    Connection made = Connection.open(Laboratory.peer(port), DEADLINE, arena);
                    test.say("connected " + made.queuePair().number());
                } catch (ConnectionException e) {
                    test.say("failed " + e.event() + " " + e.status() + " " + e.reason());
                }
            }
        }
    }
}

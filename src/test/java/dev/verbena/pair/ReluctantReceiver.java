package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.Listener;
import dev.verbena.tools.ToolRun;

/** A role that accepts one connection, and receives nothing before it is asked to. Tells its port first. */
final class ReluctantReceiver implements Role {
    /** Asks for a look of {@code verbena top}, in one line. */
    static final String LOOK = "look";

    /** Lets {@link Messages#COUNT} messages in. */
    static final String RECEIVE = "receive";

    @Override
    public void play(Conversation test) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Listener listener = Listener.open(Laboratory.own(0), arena);
            test.say(String.valueOf(listener.address().getPort()));
            Connection connection = listener.awaitConnection(DEADLINE);
            Messages buffers = new Messages(connection);
            connection.accept(DEADLINE);
            while (test.next().equals(LOOK)) {
                test.say(ToolRun.of("top", "--once", "rxe0").out().replace('\n', '\t'));
            }
            for (int i = 0; i < Messages.COUNT; i++) {
                connection.queuePair().postReceive(i, buffers.slice(i));
            }
            for (int i = 0; i < Messages.COUNT; i++) {
                connection.awaitCompletion(DEADLINE).orThrow();
            }
            String last = test.next();
            if (!last.equals(PeerDriver.END)) {
                throw new AssertionError("the test has asked for " + last);
            }
        }
    }
}

package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.Listener;

/** A role that accepts one connection, and receives nothing before it is asked to. Tells its port first. Any other text
 * it answers when {@code verbena top}, which runs beside it, has shown that text. */
final class ReluctantReceiver implements Role {
    /** Lets {@link Messages#COUNT} messages in. */
    static final String RECEIVE = "receive";

    @Override
    public void play(Conversation test) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                TopScreen screen = new TopScreen()) {
            Listener listener = Listener.open(Laboratory.own(0), arena);
            test.say(String.valueOf(listener.address().getPort()));
            Connection connection = listener.awaitConnection(DEADLINE);
            Messages buffers = new Messages(connection);
            connection.accept(DEADLINE);
            for (String text = test.next(); !text.equals(RECEIVE); text = test.next()) {
                screen.await(text);
                test.say("shown");
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

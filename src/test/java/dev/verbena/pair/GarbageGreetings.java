package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.PrivateData;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import java.lang.foreign.ValueLayout;
import java.util.Random;

/**
 * A role that connects to a listener and to a node of the test with garbage for private data, by turns. Then it connects
 * to the node as a node, and sends one message.
 */
final class GarbageGreetings implements Role {
    static final int COUNT = 20;
    static final long VALUE = 4711;

    private static final int MOST = 56;

    static byte[] garbage(int number) {
        Random random = new Random(number);
        byte[] bytes = new byte[number % 3 == 0 ? MOST : 1 + random.nextInt(MOST)];
        random.nextBytes(bytes);
        return bytes;
    }

    @Override
    public void play(Conversation test) throws Exception {
        int listener = Integer.parseInt(test.next());
        int node = Integer.parseInt(test.next());
        int refused = 0;
        for (int i = 0; i < COUNT; i++) {
            refused += connects(listener, i) ? 0 : 1;
            connects(node, i);
        }
        test.say("refused " + refused);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Channel channel = Node.open(Laboratory.own(0), arena).connect(Laboratory.peer(node), DEADLINE);
            Message message = channel.message(DEADLINE).length(Long.BYTES);
            message.segment().set(ValueLayout.JAVA_LONG, 0, VALUE);
            channel.send(message, DEADLINE);
            test.next();
        }
    }

    private static boolean connects(int port, int number) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Connection.to(Laboratory.peer(port), DEADLINE, arena)
                    .connect(ConnectionParameters.defaults().privateData(PrivateData.of(garbage(number))), DEADLINE);
            return true;
        } catch (ConnectionException refused) {
            return false;
        }
    }
}

package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.verbs.AccessFlag;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A role with a node that exports a table. It accepts a channel, sends a message back, or tells how the channel ends, as
 * often as the test asks. It takes no other message, so that the test's side runs out of credits.
 */
final class NodeEnd implements Role {
    static final String TABLE = "table";
    static final String ACCEPT = "accept";
    static final String ECHO = "echo";
    static final String AWAIT_END = "await end";

    /** Long enough for a guest that a busy machine stops for some seconds. */
    static final Duration ALIVE = Duration.ofSeconds(8);

    /** The time in which all waits must end after the other machine has fallen silent: a promise of the options. */
    static final Duration BOUND = ALIVE.multipliedBy(3);

    static final NodeOptions OPTIONS =
            NodeOptions.defaults().window(4).sends(8).messageSize(256).alive(ALIVE);

    @Override
    public void play(Conversation test) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(Laboratory.own(0), OPTIONS, arena);
            node.export(TABLE, arena.allocate(64, 64), AccessFlag.REMOTE_READ);
            test.say("" + node.address().getPort());
            Channel channel = null;
            for (String asked = test.next(); !asked.equals(PeerDriver.END); asked = test.next()) {
                if (asked.equals(ACCEPT)) {
                    channel = node.accept(DEADLINE);
                    test.say("accepted");
                } else {
                    test.say(asked.equals(ECHO) ? echo(channel) : end(channel));
                }
            }
        }
    }

    private static String echo(@Nullable Channel channel) throws InterruptedException {
        try (Message message = channel.receive(DEADLINE)) {
            send(channel, message.segment().get(ValueLayout.JAVA_LONG, 0));
        }
        return "echoed";
    }

    private static String end(@Nullable Channel channel) throws InterruptedException {
        try {
            for (; ; ) {
                channel.receive(BOUND).close();
            }
        } catch (ChannelException ended) {
            return ended.reason().name();
        }
    }

    /** Sends a message of one number. */
    static void send(Channel on, long value) throws InterruptedException {
        on.send(numbered(on.message(DEADLINE), value), DEADLINE);
    }

    static Message numbered(Message message, long value) {
        MemorySegment bytes = message.length(Long.BYTES).segment();
        bytes.set(ValueLayout.JAVA_LONG, 0, value);
        return message;
    }
}

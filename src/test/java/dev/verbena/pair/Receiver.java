package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Listener;
import dev.verbena.verbs.WorkCompletion;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A role that accepts one connection, and checks each message that it receives. Tells its port first. Its report has the
 * number of messages, and that of messages with wrong bytes or in the wrong order.
 */
class Receiver implements Role {
    static final String REPORT = "report";

    private final AtomicInteger received = new AtomicInteger();
    private final AtomicInteger wrong = new AtomicInteger();

    /** What the receiver has. */
    record Report(int received, int wrong) {
        static Report of(Conversation role) throws java.io.IOException {
            String[] words = role.ask(REPORT).split(" ");
            return new Report(Integer.parseInt(words[0]), Integer.parseInt(words[1]));
        }
    }

    /** A receiver with an IPv6 address. */
    static final class Six extends Receiver {
        @Override
        InetSocketAddress own() {
            return Laboratory.ownSix(0);
        }
    }

    /** Returns the address to listen on. */
    InetSocketAddress own() {
        return Laboratory.own(0);
    }

    @Override
    public void play(Conversation test) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Listener listener = Listener.open(own(), arena);
            test.say("" + listener.address().getPort());
            Connection connection = listener.awaitConnection(DEADLINE);
            Messages buffers = new Messages(connection);
            for (int i = 0; i < Messages.COUNT; i++) {
                connection.queuePair().postReceive(i, buffers.slice(i));
            }
            connection.accept(DEADLINE);
            Thread thread = Thread.ofPlatform().start(() -> receive(connection, buffers));
            for (String asked = test.next(); !asked.equals(PeerDriver.END); asked = test.next()) {
                test.say(
                        asked.equals(REPORT)
                                ? received + " " + wrong
                                : "" + Laboratory.counter(asked.substring(asked.indexOf(' ') + 1)));
            }
            connection.close();
            thread.join();
        }
    }

    private void receive(Connection connection, Messages buffers) {
        try {
            for (; ; ) {
                WorkCompletion completion = connection.awaitCompletion(Duration.ofHours(1));
                if (!completion.isSuccess()) {
                    return;
                }
                int number = received.get();
                if (!buffers.isWhole(number) || completion.byteLength() != Messages.SIZE) {
                    wrong.incrementAndGet();
                }
                received.incrementAndGet();
                connection.queuePair().postReceive(number, buffers.slice(number));
            }
        } catch (ConnectionException | IllegalStateException ended) {
            // The peer has disconnected, or the test has ended.
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}

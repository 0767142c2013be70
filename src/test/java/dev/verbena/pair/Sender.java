package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.verbs.WorkCompletion;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Sends numbered messages to a {@link Receiver}, and counts those that were acknowledged. */
final class Sender implements AutoCloseable {
    private static final int WINDOW = 8;

    /** Soft-RoCE takes 7 for no limit: a busy machine may stop a guest for longer than any number of attempts. */
    private static final ConnectionParameters ENDLESS =
            ConnectionParameters.defaults().retryCount(7);

    final Connection connection;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Messages buffers;
    private int sent;
    private int acknowledged;

    /**
     * Connects to a receiver; {@code ack} is the acknowledgement timeout, or null for that of the kernel. With
     * {@link Laboratory#PATIENT}, the adapter never gives up.
     */
    Sender(Conversation receiver, @Nullable Duration ack) throws Exception {
        this(Laboratory.peer(Integer.parseInt(receiver.next())), ack);
    }

    /** Connects to the address of a receiver. */
    Sender(InetSocketAddress receiver, @Nullable Duration ack) throws Exception {
        try {
            connection = Connection.to(receiver, DEADLINE, arena);
            if (ack != null) {
                connection.id().ackTimeout(ack);
            }
            connection.connect(Laboratory.PATIENT.equals(ack) ? ENDLESS : ConnectionParameters.defaults(), DEADLINE);
            buffers = new Messages(connection);
        } catch (Throwable t) {
            arena.close();
            throw t;
        }
    }

    int acknowledged() {
        return acknowledged;
    }

    /** Sends messages, and returns the completion that failed, if one did. */
    Optional<WorkCompletion> send(int count) throws InterruptedException, ConnectionException {
        int end = acknowledged + count;
        while (acknowledged < end) {
            while (sent < end && sent - acknowledged < WINDOW) {
                connection.queuePair().postSend(sent, buffers.write(sent));
                sent++;
            }
            WorkCompletion completion = connection.awaitCompletion(DEADLINE);
            if (!completion.isSuccess()) {
                return Optional.of(completion);
            }
            acknowledged++;
        }
        return Optional.empty();
    }

    @Override
    public void close() {
        arena.close();
    }
}

package dev.verbena.cm;

import static dev.verbena.cm.Workers.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.support.CloseAtOnce;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** All objects of connections and their listener, closed at once while threads wait for them. */
@FencedTest
@Timeout(120)
class CloseRaceTest {
    private static final int ROUNDS = 100;

    @Test
    void arenaClosesWhileThreadsCloseAllThatItOwns() throws Exception {
        int live = Fenced.liveObjects();
        for (int round = 0; round < ROUNDS; round++) {
            try (Workers threads = new Workers()) {
                VerbsArena arena = VerbsArena.ofShared();
                Listener listener = Listener.open(FencedIds.OWN, arena);
                Future<Connection> accepting =
                        threads.start(() -> listener.accept(DEADLINE, ConnectionResources.defaults(), arena));
                Connection client = Connection.open(listener.address(), DEADLINE, arena);
                Connection accepted = end(accepting);
                Connection waiting = Connection.to(listener.address(), DEADLINE, arena);
                waiting.id().beginConnect(ConnectionParameters.defaults());
                EventChannel channel = client.id().channel();
                List<AutoCloseable> all = new ArrayList<>(List.of(arena));
                for (AutoCloseable each : List.of(
                        listener,
                        client,
                        accepted,
                        waiting,
                        client.id(),
                        accepted.id(),
                        client.queuePair(),
                        channel,
                        listener.id().channel(),
                        client.id().context(),
                        client.id().protectionDomain(),
                        accepted.register(arena.allocate(64)))) {
                    all.add(() -> closeUnlessInUse(each));
                }
                CloseAtOnce.close(
                        all,
                        List.of(
                                () -> listener.accept(DEADLINE, ConnectionResources.defaults(), arena),
                                () -> client.awaitCompletion(DEADLINE),
                                () -> accepted.id().awaitEvent(DEADLINE),
                                () -> channel.awaitEvent(DEADLINE)));
            }
            assertThat(Fenced.liveObjects()).isEqualTo(live);
        }
    }

    private static void closeUnlessInUse(AutoCloseable object) throws Exception {
        try {
            object.close();
        } catch (ResourceBusyException inUse) {
            // The arena closes it.
        }
    }
}

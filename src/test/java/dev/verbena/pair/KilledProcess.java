package dev.verbena.pair;

import dev.verbena.support.Loopback;
import java.util.concurrent.TimeUnit;

/** A role that runs a client in C until it is told to kill it. The test's first line is the client's command. */
final class KilledProcess implements Role {
    @Override
    public void play(Conversation test) throws Exception {
        Process client = new ProcessBuilder(test.next().split(" ")).inheritIO().start();
        test.next();
        client.destroyForcibly();
        if (!client.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
            throw new AssertionError("the client does not end");
        }
        test.say("killed");
        test.next();
    }
}

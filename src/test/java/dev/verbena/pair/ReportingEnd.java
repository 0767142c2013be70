package dev.verbena.pair;

import dev.verbena.support.TestDevice;
import dev.verbena.tools.Listening;
import dev.verbena.tools.ToolRun;
import java.util.concurrent.FutureTask;

/** A role that runs {@code verbena report --server}, and tells its port, and how it ended. */
final class ReportingEnd implements Role {
    @Override
    public void play(Conversation test) throws Exception {
        int port = Listening.freePort();
        FutureTask<ToolRun> server = new FutureTask<>(() -> ToolRun.of(
                "report",
                "--server",
                "-p",
                String.valueOf(port),
                "-d",
                TestDevice.get().name()));
        Thread.ofPlatform().daemon().start(server);
        Listening.await(port, () -> !server.isDone());
        test.say(String.valueOf(port));
        test.say(server.get().toString().replace('\n', '\t')); // one line
    }
}

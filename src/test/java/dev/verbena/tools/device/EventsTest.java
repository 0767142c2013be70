package dev.verbena.tools.device;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Prints events that the provider for tests raises. */
@FencedTest
class EventsTest {
    private final VerbsArena arena = VerbsArena.ofShared();
    private final Context context = Device.first().open(arena);
    private final String device = context.device().name();
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    @AfterEach
    void close() {
        Fenced.calm();
        arena.close();
    }

    /** Prints a number of events, and returns the exit status when they were printed. */
    private FutureTask<Integer> print(int most) {
        FutureTask<Integer> tool = new FutureTask<>(
                () -> Events.print(List.of(context), most, new PrintStream(out, true, StandardCharsets.UTF_8)));
        Thread.ofPlatform().daemon().start(tool);
        return tool;
    }

    private static int status(FutureTask<Integer> tool) throws Exception {
        return tool.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    private List<String> lines() {
        return out.toString(StandardCharsets.UTF_8)
                .lines()
                .map(line -> line.replaceFirst("^20[0-9T:.-]+Z  ", "TIME "))
                .toList();
    }

    @Test
    void eventsPrintsPortsAndThenEventsUntilTheirNumber() throws Exception {
        FutureTask<Integer> tool = print(2);
        Fenced.raise(context, AsyncEvent.Type.PORT_ERR.code());
        Fenced.raise(context, AsyncEvent.Type.PORT_ACTIVE.code());
        assertThat(status(tool)).isEqualTo(Tool.OK);
        assertThat(lines()).hasSize(3).first().asString().startsWith("TIME port 1 of " + device + ": ACTIVE");
        assertThat(lines().subList(1, 3))
                .containsExactly(
                        "TIME PORT_ERR of port 1 of " + device + ": " + AsyncEvent.Type.PORT_ERR.meaning(),
                        "TIME PORT_ACTIVE of port 1 of " + device + ": " + AsyncEvent.Type.PORT_ACTIVE.meaning());
    }

    @Test
    void eventsEndsWhenItsOnlyDeviceIsRemoved() throws Exception {
        Fenced.fail("ibv_get_async_event", 1, Errno.EIO);
        assertThat(status(print(2))).isEqualTo(Tool.FAILED);
        assertThat(lines()).last().asString().startsWith("TIME ibv_get_async_event(" + device + "): EIO");
    }
}

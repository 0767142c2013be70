package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A driver that blocks in a poll stops nobody but the poller, if the queue is polled by plain calls. */
@FencedTest
@Timeout(120)
class PlainPollTest {
    static Stream<Arguments> queues() {
        return Stream.of(ArenaKind.values())
                .flatMap(kind -> Stream.of("ibv_poll_cq", "ibv_start_poll").map(call -> Arguments.of(kind, call)));
    }

    /** The collector needs all threads to stop: the provider reports a call that keeps it waiting for half a minute. */
    @ParameterizedTest
    @MethodSource("queues")
    void blockedPollDoesNotStopTheCollector(ArenaKind kind, String call) throws Throwable {
        boolean extended = call.equals("ibv_start_poll");
        Fenced.stop(call);
        OtherThread<Integer> poller = OtherThread.start(() -> {
            try (VerbsArena arena = kind.make()) {
                CompletionQueueOptions options =
                        CompletionQueueOptions.of(8).pollingCalls(CompletionQueueOptions.PollingCalls.PLAIN);
                CompletionQueue queue = TestDevice.get()
                        .open(arena)
                        .createCompletionQueue(extended ? options.fields(List.of()) : options);
                Completions done = extended ? queue.extendedCompletions(1) : queue.completions(1);
                return done.poll();
            }
        });
        try {
            Fenced.awaitStopped(call, 1);
            System.gc();
        } finally {
            Fenced.goOn(call);
        }
        assertThat(poller.join()).isZero();
    }
}

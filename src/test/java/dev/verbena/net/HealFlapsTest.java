package dev.verbena.net;

import dev.verbena.support.LongTest;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Runs {@link HealFlaps} for an hour. {@code -Ddev.verbena.flaps.seconds=N} sets another time. */
@LongTest
@EnabledIfEnvironmentVariable(
        named = "VERBENA_GUEST",
        matches = "1",
        disabledReason = "it rewires the network, which only a guest of scripts/soft-roce may have done to it")
class HealFlapsTest {
    private static final long SECONDS = Long.getLong(HealFlaps.SECONDS, 3600);

    @Test
    void channelOutlivesAWireThatFlapsEachSecond() throws Exception {
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Future<String> running = thread.submit(() -> CutWire.runTests(
                    HealFlaps.class, Duration.ofSeconds(2 * SECONDS + 600), "-D" + HealFlaps.SECONDS + "=" + SECONDS));
            String output = null;
            for (int minutes = 1; output == null; minutes++) {
                try {
                    output = running.get(1, TimeUnit.MINUTES);
                } catch (TimeoutException goesOn) {
                    System.out.println("flaps for " + minutes + " min"); // a run without a line counts as hung
                }
            }
            output.lines().filter(line -> line.startsWith("flaps: ")).forEach(System.out::println);
        }
    }
}

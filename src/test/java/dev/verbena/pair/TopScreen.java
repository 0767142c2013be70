package dev.verbena.pair;

import dev.verbena.support.Await;
import dev.verbena.tools.ToolRun;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** A {@code verbena top} that runs beside a test, as on an operator's screen. */
final class TopScreen implements AutoCloseable {
    private final ByteArrayOutputStream shown = new ByteArrayOutputStream();
    private final Thread tool = ToolRun.start(shown, "top", "rxe0");

    /** Starts the tool, and waits until it has looked once. */
    TopScreen() {
        await("rxe0 port 1");
    }

    /** Returns all that the tool has shown. */
    String text() {
        return shown.toString(StandardCharsets.UTF_8);
    }

    /** Waits until the tool has shown a text. */
    void await(String text) {
        Await.until("top shows: " + text, () -> text().contains(text));
    }

    /**
     * Waits until a counter grows, and the tool shows a text after that. Prints how long the tool took, which nothing
     * depends on.
     */
    void awaitTrouble(String counter, String text) throws IOException {
        long before = Laboratory.counter(counter);
        Await.until("growth of " + counter, () -> Laboratory.counter(counter) > before);
        shown.reset();
        long begin = System.nanoTime();
        await(text);
        System.out.printf("top: %.2f s after %s has grown%n", (System.nanoTime() - begin) / 1e9, counter);
    }

    @Override
    public void close() {
        tool.interrupt();
        Await.until("the end of top", () -> !tool.isAlive());
    }
}

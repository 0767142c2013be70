package dev.verbena.tools.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests the line that shows the progress of a tool. */
class ProgressTest {
    @Test
    void lineIsDrawnOverItselfAndRemoved() {
        ByteArrayOutputStream terminal = new ByteArrayOutputStream();
        AtomicInteger done = new AtomicInteger();
        Progress progress = new Progress(new PrintStream(terminal), true);
        progress.show(() -> done.incrementAndGet() + "%");
        Await.until("two texts", () -> done.get() > 2);
        progress.close();
        String shown = terminal.toString();
        assertThat(shown).matches("(\r +)?\r1% +\r2% +(\r[0-9]+% +)*\r +\r");
        progress.close();
        assertThat(terminal.toString()).isEqualTo(shown);
    }

    @Test
    void nothingIsShownWithoutATerminal() {
        ByteArrayOutputStream terminal = new ByteArrayOutputStream();
        Progress progress = new Progress(new PrintStream(terminal), false);
        progress.show(() -> "1%");
        progress.close();
        assertThat(terminal.size()).isZero();
    }
}

package dev.verbena.tools.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.FencedTest;
import java.io.InputStream;
import org.junit.jupiter.api.Test;

/** An agent that waits for a shell uses what the shell will use, and stops when it comes. */
@FencedTest
class RehearsalTest {
    /** Input that counts how often somebody looks whether there is some. */
    private static final class Looks extends InputStream {
        private final int present;
        private int count;

        Looks(int present) {
            this.present = present;
        }

        @Override
        public int available() {
            count++;
            return present;
        }

        @Override
        public int read() {
            throw new AssertionError("the shell's bytes are for the agent");
        }
    }

    @Test
    void rehearsalUsesSnippetsAPairAndNodes() throws Exception {
        Looks none = new Looks(0);
        Rehearsal.run(none);
        assertThat(none.count).isEqualTo(3);
    }

    @Test
    void rehearsalEndsWhenACommandHasCome() throws Exception {
        Looks command = new Looks(1);
        Rehearsal.run(command);
        assertThat(command.count).isEqualTo(1);
    }
}

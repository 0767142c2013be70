package strangers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import org.junit.jupiter.api.Test;

/**
 * A shortage of stack ends the call that had none, and no other: all closes, but for a thread that is still in a call. Both
 * compilers run: exits get lost where code is compiled anew. Short stack traces make an overflow cheap, and tell nothing.
 */
@FencedTest
class FullStackTest {
    @Test
    void threadsWhoseStackOverflowedHarmNoOthers() {
        run("-XX:TieredStopAtLevel=4", "queues 30 callers 6 handlers 6 progress 4 progress-tcp 4");
    }

    @Test
    void closesNearTheEndOfTheStackDoNotWaitForEver() {
        run("-Xint", "closers 30");
    }

    /** Classes that the JDK could not link or initialise for lack of stack can stay broken as long as the process lives. */
    @Test
    void makersThatMeetTheEndOfAStackFirstWorkLater() {
        assertThat(output("-XX:TieredStopAtLevel=4", FirstMakers.class)).contains("all made");
    }

    private static void run(String mode, String arguments) {
        assertThat(output(mode, FullStack.class, arguments.split(" "))).contains("all closed");
    }

    private static String output(String mode, Class<?> program, String... arguments) {
        return ChildJvm.onTheProvider("-XX:MaxJavaStackTraceDepth=8", mode, "-Ddev.verbena.closeLimit=500")
                .optimizing()
                .runOnClassPath(program, arguments)
                .successfulOutput();
    }
}

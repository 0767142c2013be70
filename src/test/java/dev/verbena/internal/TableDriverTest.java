package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.QueuePairAttributes;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs that can't define classes post and poll by drivers that are tables. The property is one that native images have. */
@FencedTest
class TableDriverTest {
    private static final int MESSAGES = 100;

    private static String output(String... options) {
        return ChildJvm.onTheProvider("-Xlog:class+load")
                .option(options)
                .runOnClassPath(Program.class)
                .successfulOutput();
    }

    private static String loaded(Class<?> type) {
        return type.getName() + " source:";
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "post"})
    void programWithoutNewClassesPostsAndPolls(String critical) {
        String output = output("-Dorg.graalvm.nativeimage.imagecode=runtime", "-Ddev.verbena.critical=" + critical);
        assertThat(output).contains("moved " + 4 * MESSAGES);
        assertThat(output).contains(loaded(TableDriver.class)).doesNotContain(loaded(DriverCalls.class));
    }

    /** A second subclass would cost each call a check of the type. */
    @Test
    void otherProgramsDoNotLoadTheTable() {
        String output = output();
        assertThat(output).contains("moved " + 4 * MESSAGES);
        assertThat(output).contains(loaded(DriverCalls.class)).doesNotContain(loaded(TableDriver.class));
    }

    /** A program that sends, writes and waits for events, in a confined and in a shared arena. */
    static final class Program {
        private Program() {}

        public static void main(String[] args) throws InterruptedException {
            int moved = 0;
            for (VerbsArena arena : List.of(VerbsArena.ofConfined(), VerbsArena.ofShared())) {
                try (Loopback loopback = Loopback.connected(arena, QueuePairAttributes.none())) {
                    Loopback.Side left = loopback.left;
                    Loopback.Side right = loopback.right;
                    for (int i = 0; i < MESSAGES; i++) {
                        left.buffer.segment().setString(0, "message " + i);
                        right.pair.postReceive(i, right.buffer.slice(0, 64));
                        left.pair.postSend(i, left.buffer.slice(0, 64));
                        left.done();
                        moved += right.done().id() == i ? 1 : 0;
                        check(right, 0, "message " + i);
                        left.pair.postWrite(
                                i,
                                left.buffer.slice(0, 64),
                                right.buffer.slice(128, 64).remote());
                        moved += left.done().id() == i ? 1 : 0;
                        check(right, 128, "message " + i);
                    }
                }
            }
            System.out.println("moved " + moved);
        }

        private static void check(Loopback.Side side, long offset, String expected) {
            String found = side.buffer.segment().getString(offset);
            if (!found.equals(expected)) {
                throw new AssertionError(found + " is not " + expected);
            }
        }
    }
}

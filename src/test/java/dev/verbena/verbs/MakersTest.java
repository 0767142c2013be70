package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Makers;
import dev.verbena.support.MakersWithoutMemory;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that a maker that fails after C has made an object leaves nothing in C, and that all arenas can be closed. */
@FencedTest
class MakersTest {
    private static final int DIRECT_MEMORY = 4 << 20;

    static List<Makers.Maker> makers() {
        return Makers.all();
    }

    @Test
    void makersWithoutDirectMemoryLeaveNothingInC() {
        String output = ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        ChildJvm.DENY,
                        "-XX:MaxDirectMemorySize=" + DIRECT_MEMORY,
                        "-Ddev.verbena.fenced=true",
                        "-Ddev.verbena.libibverbs=" + System.getProperty("dev.verbena.libibverbs"))
                .runOnClassPath(MakersWithoutMemory.class, Integer.toString(DIRECT_MEMORY))
                .successfulOutput();
        assertThat(output)
                .contains("left 0 objects and 0 violations")
                .containsPattern("\ncompletion queue failed [1-9]")
                .containsPattern("\nqueue pair failed [1-9]")
                .containsPattern("context failed [1-9]");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("makers")
    void makersUnderAClosingParentLeaveNothingInC(Makers.Maker maker) throws InterruptedException {
        int before = Fenced.liveObjects();
        try (Recording recording = new Recording()) {
            recording.enable("dev.verbena.Registration");
            recording.start();
            VerbsArena arena = VerbsArena.ofShared();
            try (Makers parents = new Makers()) {
                maker.make(parents, arena).close(); // the parents are there from now on
                closeWhileMaking(maker, parents, arena);
                if (!ArenaLifetime.of(arena).isClosed()) {
                    arena.close();
                }
            }
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    private static void closeWhileMaking(Makers.Maker maker, Makers parents, VerbsArena arena)
            throws InterruptedException {
        Function<Makers, VerbsObject> parentOf = maker.parent();
        VerbsObject parent = parentOf == null ? null : parentOf.apply(parents);
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        Fenced.stop(maker.function());
        Thread making = start(wrong, () -> maker.make(parents, arena));
        Fenced.awaitStopped(maker.function(), 1);
        Thread closing = start(wrong, parent == null ? arena::close : parent::close);
        Await.until(
                "closing of the parent",
                () -> parent == null ? ArenaLifetime.of(arena).isClosed() : !parent.isOpen());
        Fenced.goOn(maker.function());
        Await.end(making);
        Await.end(closing);
        assertThat(wrong.get()).isNull();
    }

    /** Runs work that another thread may disturb by closing what it uses. */
    private static Thread start(AtomicReference<Throwable> wrong, Runnable work) {
        return Thread.ofPlatform().daemon().start(() -> {
            try {
                work.run();
            } catch (ResourceBusyException | IllegalStateException expected) {
                assertThat(expected).hasMessageMatching("(?s).+");
            } catch (Throwable t) {
                wrong.set(t);
            }
        });
    }
}

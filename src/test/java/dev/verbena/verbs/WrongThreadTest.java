package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.verbena.VerbsObject;
import dev.verbena.support.Api;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.support.Specimens;
import dev.verbena.support.Specimens.Recipe;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;

/**
 * Every public method of an object of a confined arena, and of what belongs to it, throws a WrongThreadException on any
 * other thread, and does nothing.
 */
@FencedTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WrongThreadTest {
    private final List<Specimens> worlds = new ArrayList<>();

    @AfterAll
    void closeWorlds() {
        worlds.reversed().forEach(Specimens::close);
    }

    @TestFactory
    Stream<DynamicNode> confinedObjectsRefuseOtherThreads() {
        return UseAfterCloseTest.objects().map(type -> tests(type, ArenaKind.CONFINED));
    }

    @TestFactory
    Stream<DynamicNode> partsOfConfinedObjectsRefuseOtherThreads() {
        return UseAfterCloseTest.views().map(type -> tests(type, ArenaKind.CONFINED));
    }

    /** Also of a shared arena: a batch is for one thread. */
    @TestFactory
    Stream<DynamicNode> batchesRefuseASecondThread() {
        return Stream.of(SendBatch.class, ReceiveBatch.class).map(type -> tests(type, ArenaKind.SHARED));
    }

    private record Specimen(Object object, Specimens world) {}

    DynamicNode tests(Class<?> type, ArenaKind kind) {
        List<Specimen> specimens = new ArrayList<>();
        for (Recipe<?> recipe : Specimens.recipes(type)) {
            Specimens world = new Specimens(recipe.object(), kind);
            worlds.add(world);
            if (world.missing(recipe).isEmpty()) {
                specimens.add(new Specimen(world.the(recipe), world));
            }
        }
        if (specimens.isEmpty()) {
            return dynamicTest(
                    "not on this device: " + type.getSimpleName(),
                    () -> assertThat(Specimens.recipes(type)).allMatch(Recipe::rare));
        }
        List<Method> methods = new ArrayList<>(UseAfterCloseTest.guarded(type));
        if (VerbsObject.class.isAssignableFrom(type)) {
            methods.add(close());
        }
        return dynamicContainer(
                type.getSimpleName(),
                methods.stream()
                        .map(method ->
                                dynamicTest(Api.signature(method), () -> assertRefuses(type, method, specimens))));
    }

    private static void assertRefuses(Class<?> type, Method method, List<Specimen> specimens) {
        List<Throwable> all = new ArrayList<>();
        for (Specimen specimen : specimens) {
            Optional<Object[]> arguments = specimen.world().arguments(method, specimen.world());
            if (arguments.isEmpty()) {
                return; // this device does not have what it takes
            }
            String before = specimen.object().toString();
            byte[] requests = requests(specimen.object());
            Throwable thrown =
                    catchThrowable(() -> OtherThread.call(() -> Api.call(method, specimen.object(), arguments.get())));
            assertThat(thrown).isInstanceOfAny(WrongThreadException.class, IllegalStateException.class);
            assertThat(specimen.object()).hasToString(before);
            assertThat(requests(specimen.object())).isEqualTo(requests);
            all.add(thrown);
        }
        if (UseAfterCloseTest.isOnEveryDevice(type, method) || type == SendBatch.class) {
            assertThat(all).as("not all for another reason").hasAtLeastOneElementOfType(WrongThreadException.class);
        }
    }

    /** Returns the memory of a batch: a second thread must not find half of a request. */
    private static byte[] requests(Object object) {
        return object instanceof WorkBatch<?> batch ? batch.memory.toArray(ValueLayout.JAVA_BYTE) : new byte[0];
    }

    private static Method close() {
        try {
            return VerbsObject.class.getMethod("close");
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void refusedCallDoesNotClaimABatchOrCursor() {
        try (Loopback loopback = Loopback.connected()) {
            SendBatch sends = loopback.left.pair.sendBatch(1);
            ReceiveBatch receives = loopback.left.pair.receiveBatch(1);
            Completions cursor = loopback.left.queue.completions(1);
            for (Runnable call : List.<Runnable>of(() -> sends.send(1), () -> receives.receive(1), cursor::poll)) {
                assertThatThrownBy(() -> OtherThread.run(call)).isInstanceOf(WrongThreadException.class);
            }
            assertThat(sends.send(1).size()).isEqualTo(1);
            assertThat(receives.receive(1).size()).isEqualTo(1);
            assertThat(cursor.poll()).isZero();
        }
    }
}

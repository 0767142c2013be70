package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.verbena.support.Api;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Specimens;
import dev.verbena.support.Specimens.Recipe;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;

/** Every public method that takes an object refuses a closed one with an IllegalStateException. */
@FencedTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ClosedArgumentTest {
    private final List<Specimens> worlds = new ArrayList<>();

    @AfterAll
    void closeWorlds() {
        worlds.reversed().forEach(Specimens::close);
    }

    @TestFactory
    Stream<DynamicNode> methodsRefuseClosedArguments() {
        return UseAfterCloseTest.objects().map(this::tests);
    }

    @TestFactory
    Stream<DynamicNode> partsRefuseClosedArguments() {
        return UseAfterCloseTest.views().map(this::tests);
    }

    DynamicNode tests(Class<?> type) {
        return dynamicContainer(
                type.getSimpleName(),
                Api.methods(type).stream()
                        .flatMap(method -> IntStream.range(0, method.getParameterCount())
                                .filter(index -> Specimens.canBeClosed(method.getParameterTypes()[index]))
                                .mapToObj(index -> test(type, method, index))));
    }

    private DynamicNode test(Class<?> type, Method method, int index) {
        return dynamicTest(Api.signature(method) + ", argument " + (index + 1), () -> {
            List<String> messages = new ArrayList<>();
            for (Recipe<?> recipe : Specimens.recipes(type)) {
                Specimens world = new Specimens(recipe.object());
                worlds.add(world);
                Optional<Object[]> arguments =
                        world.missing(recipe).isPresent() ? Optional.empty() : world.arguments(method, world);
                if (arguments.isPresent()) {
                    arguments.get()[index] = world.closedArgument(method.getParameterTypes()[index]);
                    Throwable thrown = catchThrowable(() -> Api.call(method, world.the(recipe), arguments.get()));
                    assertThat(thrown).isInstanceOf(IllegalStateException.class);
                    messages.add(thrown.getMessage());
                }
            }
            if (!messages.isEmpty() && UseAfterCloseTest.isOnEveryDevice(type, method)) {
                assertThat(messages)
                        .as("not all for another reason")
                        .anySatisfy(message -> assertThat(message).contains("closed"));
            }
        });
    }
}

package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectRequest;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.net.Export;
import dev.verbena.sockets.MappedSegment;
import dev.verbena.support.Api;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Specimens;
import dev.verbena.support.Specimens.Recipe;
import dev.verbena.verbs.flow.FlowAction;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;

/**
 * Every public method of a closed object throws an IllegalStateException, and so does every one of what belongs to it, such
 * as a batch or a cursor, that would reach C or native memory.
 */
@FencedTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class UseAfterCloseTest {
    /** What works on all closed objects. */
    private static final Set<String> ALWAYS = Set.of("close", "isOpen", "arena", "toString");

    /** What works after its owner was closed, since it reads what is kept in Java. */
    private static final Map<Class<?>, Set<String>> ALLOWED = Map.ofEntries(
            Map.entry(MemoryRegion.class, Set.of("region")),
            Map.entry(BufferPool.class, Set.of("buffer", "size", "available", "region")),
            Map.entry(RegistrationCache.class, Set.of("forget", "size")),
            Map.entry(RegistrationCache.Use.class, Set.of("region")),
            Map.entry(Export.class, Set.of("name", "access", "hasKeysOfChannels", "inTheClear", "isInTheClear")),
            Map.entry(
                    Connection.class,
                    Set.of("id", "domain", "completionQueue", "queuePair", "privateData", "peer", "ended")),
            Map.entry(Listener.class, Set.of("id")),
            Map.entry(ConnectRequest.class, Set.of("peer", "privateData", "parameters")),
            Map.entry(LocalMemory.class, Set.of("region", "length", "slice")),
            Map.entry(SendBatch.class, Set.of("capacity", "size", "clear")),
            Map.entry(ReceiveBatch.class, Set.of("capacity", "size", "clear")),
            Map.entry(
                    ExtendedCompletions.class,
                    Set.of(
                            "sourceLid",
                            "pkeyIndex",
                            "timestamp",
                            "wallClockNanos",
                            "vlan",
                            "flowTag",
                            "tag",
                            "tagData")));

    /** What is refused for another reason, on all specimens that many devices have. */
    static final Set<String> NOT_ON_EVERY_DEVICE = Set.of(
            "QueuePair.toReady()",
            "SendBatch.toShared(int)",
            "SendBatch.segmented(long, MemorySegment, int, LocalMemory)",
            "SendBatch.flush(long, RemoteMemory, FlushLevel, Set)");

    /** Classes that hold an object as a value: to make another, which checks it. Records are values by themselves. */
    private static final Set<Class<?>> VALUES = Set.of(
            QueuePairOptions.class,
            SharedReceiveQueueOptions.class,
            CompletionQueueOptions.class,
            WorkQueueOptions.class,
            ConnectionResources.class,
            RegionChange.class,
            RegionOptions.class,
            ParentDomainOptions.class,
            FlowAction.Count.class,
            ReceiveHash.class);

    private final List<Specimens> worlds = new ArrayList<>();

    @AfterAll
    void closeWorlds() {
        worlds.reversed().forEach(Specimens::close);
    }

    @Test
    void specimensCoverAllClasses() {
        assertThat(Api.objects())
                .contains(Context.class, QueuePair.class, MemoryRegion.class)
                .allSatisfy(type -> assertThat(Specimens.recipes(type)).isNotEmpty());
        assertThat(Api.classesWithAnObject()).contains(SendBatch.class, Completions.class);
    }

    /** An object has a text while it is open and when it is closed: it stands in messages. */
    @Test
    void objectsHaveATextBeforeAndAfterTheyAreClosed() {
        for (Class<?> type : objects().toList()) {
            for (Recipe<?> recipe : Specimens.recipes(type)) {
                Specimens world = world(recipe, ArenaKind.CONFINED);
                if (world.missing(recipe).isEmpty()) {
                    Object object = world.the(recipe);
                    assertThat(object.toString()).as("open %s", recipe).isNotBlank();
                    world.closeThe(recipe);
                    assertThat(object.toString()).as("closed %s", recipe).isNotBlank();
                }
            }
        }
    }

    @TestFactory
    Stream<DynamicNode> closedObjectsRefuseAllMethods() {
        return objects().map(this::tests);
    }

    @TestFactory
    Stream<DynamicNode> partsOfClosedObjectsRefuseAllMethods() {
        return views().map(this::tests);
    }

    /**
     * The classes of objects. The provider for tests has no sockets, which {@link MappedSegment} is of: only
     * {@link RefusalsOnDeviceTest} tests it.
     */
    static Stream<Class<?>> objects() {
        return Api.objects().stream().filter(type -> type != MappedSegment.class || !Fenced.isLoaded());
    }

    /** Classes that belong to an object, and end with it. */
    static Stream<Class<?>> views() {
        return Api.classesWithAnObject().stream().filter(type -> !type.isRecord() && !VALUES.contains(type));
    }

    /** The methods that must look whether they may be called; polling last, since it forgets what others read. */
    static List<Method> guarded(Class<?> type) {
        return Api.methods(type).stream()
                .filter(method -> !ALWAYS.contains(method.getName()))
                .filter(method -> !ALLOWED.getOrDefault(type, Set.of()).contains(method.getName()))
                .sorted(Comparator.comparing(method -> method.getName().equals("poll")))
                .toList();
    }

    DynamicNode tests(Class<?> type) {
        List<Method> methods = guarded(type);
        return dynamicContainer(
                type.getSimpleName(),
                Stream.of(ArenaKind.values())
                        .map(kind -> dynamicContainer(kind.toString(), tests(type, kind, methods))));
    }

    private Stream<DynamicNode> tests(Class<?> type, ArenaKind kind, List<Method> methods) {
        List<Closed> closed = new ArrayList<>();
        List<DynamicNode> tests = new ArrayList<>();
        for (Recipe<?> recipe : Specimens.recipes(type)) {
            Specimens world = world(recipe, kind);
            Optional<VerbsException> missing = world.missing(recipe);
            if (missing.isPresent()) {
                tests.add(dynamicTest(
                        "not on this device: " + recipe,
                        () -> assertThat(recipe.rare()).isTrue()));
            } else {
                Object object = world.the(recipe);
                world.closeThe(recipe);
                closed.add(new Closed(object, world, world(recipe, kind)));
            }
        }
        if (!closed.isEmpty()) {
            methods.forEach(
                    method -> tests.add(dynamicTest(Api.signature(method), () -> assertRefuses(type, method, closed))));
        }
        return tests.stream();
    }

    private record Closed(Object object, Specimens world, Specimens elsewhere) {}

    private Specimens world(Recipe<?> recipe, ArenaKind kind) {
        Specimens world = new Specimens(recipe.object(), kind);
        worlds.add(world);
        return world;
    }

    private static void assertRefuses(Class<?> type, Method method, List<Closed> specimens) {
        List<String> messages = new ArrayList<>();
        for (Closed closed : specimens) {
            Optional<Object[]> arguments = closed.world().arguments(method, closed.elsewhere());
            if (arguments.isEmpty()) {
                return; // this device does not have what it takes
            }
            Throwable thrown = catchThrowable(() -> Api.call(method, closed.object(), arguments.get()));
            assertThat(thrown).isInstanceOf(IllegalStateException.class);
            messages.add(thrown.getMessage());
        }
        if (isOnEveryDevice(type, method)) {
            assertThat(messages)
                    .as("not for another reason")
                    .anySatisfy(message -> assertThat(message).containsIgnoringCase("closed"));
        }
    }

    static boolean isOnEveryDevice(Class<?> type, Method method) {
        return !NOT_ON_EVERY_DEVICE.contains(type.getSimpleName() + "." + Api.signature(method));
    }
}

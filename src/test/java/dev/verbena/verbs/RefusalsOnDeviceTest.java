package dev.verbena.verbs;

import dev.verbena.sockets.MappedSegment;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.DeviceTest;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;

/**
 * Closed objects, closed arguments and other threads are refused on a device as on the provider, which has the tests of all
 * other classes: calls are refused before they reach C.
 */
@DeviceTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RefusalsOnDeviceTest {
    private final UseAfterCloseTest closed = new UseAfterCloseTest();
    private final ClosedArgumentTest arguments = new ClosedArgumentTest();
    private final WrongThreadTest threads = new WrongThreadTest();

    @AfterAll
    void closeWorlds() {
        threads.closeWorlds();
        arguments.closeWorlds();
        closed.closeWorlds();
    }

    /** Makes and closes all objects that this device has. */
    @Test
    void objectsHaveATextBeforeAndAfterTheyAreClosed() {
        closed.objectsHaveATextBeforeAndAfterTheyAreClosed();
    }

    @TestFactory
    Stream<DynamicNode> closedObjectsRefuseAllMethods() {
        return Stream.of(CompletionQueue.class, Completions.class, MappedSegment.class)
                .map(closed::tests);
    }

    @TestFactory
    Stream<DynamicNode> methodsRefuseClosedArguments() {
        return Stream.of(SharedReceiveQueue.class, ReceiveBatch.class).map(arguments::tests);
    }

    @TestFactory
    Stream<DynamicNode> confinedObjectsRefuseOtherThreads() {
        return Stream.of(CompletionQueue.class, Completions.class, MappedSegment.class)
                .map(type -> threads.tests(type, ArenaKind.CONFINED));
    }
}

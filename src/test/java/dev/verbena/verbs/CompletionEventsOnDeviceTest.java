package dev.verbena.verbs;

import dev.verbena.support.DeviceTest;
import dev.verbena.support.Twin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sleeping until a device has completed something. {@code CompletionEventsTest} has all ways to wait. */
@DeviceTest
class CompletionEventsOnDeviceTest extends CompletionWaits {
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Twin("test_cq_events.CqEventsTestCase.test_cq_events_rc")
    void awaitSleepsUntilWorkCompletesOnBothSides(boolean virtual) throws Exception {
        assertAwaitSleepsUntilWorkCompletes(virtual);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void awaitLosesNoWakeUp(boolean virtual) throws Exception {
        assertNoWakeUpIsLost(virtual, 400);
    }

    @Test
    void queueCloseSucceedsWhileEventsAreRead() throws Exception {
        closeWhileEventsAreRead(4);
    }
}

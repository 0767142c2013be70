package dev.verbena.mutate;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The files and limits of a {@link Worker}.
 *
 * @param classes the folder of the classes with mutants
 * @param tests the folder of the test classes
 * @param chosen a pattern for the names of the test classes that are run
 * @param leftOut a pattern for the names of the tests that are not run, each a class, a dot and a method
 * @param onDevice a pattern for the names of the tests for a device that are run too
 * @param library the provider for tests, or null if no test needs it
 * @param agent the jar that names the agent
 * @param patience the time for a test beyond six times that which it needs without a mutant
 */
record Setup(
        Path classes,
        Path tests,
        String chosen,
        String leftOut,
        String onDevice,
        @Nullable Path library,
        Path agent,
        Duration patience) {}

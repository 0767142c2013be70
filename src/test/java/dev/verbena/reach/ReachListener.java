package dev.verbena.reach;

import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * Writes which classes each test class has reached to the file that {@code -Ddev.verbena.reach} names: a line with the test
 * class, its seconds, and the classes. A class that has started another JVM has a star at the end, because nothing notes what
 * runs there.
 */
public final class ReachListener implements TestExecutionListener {
    /** The name that stands for whatever another JVM has run. */
    private static final String ANOTHER_JVM = "*";

    private final Optional<Path> file =
            Optional.ofNullable(System.getProperty("dev.verbena.reach")).map(Path::of);
    private long since;
    private int startsBefore;

    @Override
    public void executionStarted(TestIdentifier test) {
        if (file.isPresent() && isTopLevel(test)) {
            Reach.clear();
            startsBefore = ChildJvm.starts();
            since = System.nanoTime();
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (file.isEmpty() || !isTopLevel(test)) {
            return;
        }
        String name = test.getSource()
                .map(source -> ((ClassSource) source).getClassName())
                .orElseThrow();
        String line = String.format(
                Locale.ROOT,
                "%s\t%.2f\t%s%s%n",
                name,
                (System.nanoTime() - since) / 1e9,
                String.join(" ", Reach.ran()),
                ChildJvm.starts() != startsBefore ? " " + ANOTHER_JVM : "");
        try {
            Files.write(file.get(), List.of(line.strip()), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException("The list of reached classes can't be written", e);
        }
    }

    /** Whether this is a test class that is not within another one. */
    private static boolean isTopLevel(TestIdentifier test) {
        return test.getSource().filter(ClassSource.class::isInstance).isPresent()
                && test.getParentIdObject()
                        .filter(parent -> parent.getSegments().size() == 1)
                        .isPresent();
    }
}

package dev.verbena.ledger;

import dev.verbena.internal.NativeLibraries;
import dev.verbena.support.Fault;
import dev.verbena.support.Twin;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Writes the findings for the ledger at the end of a test run that was started with {@code -Ddev.verbena.ledger=FILE} and with
 * {@link CallHooks} in the library's classes. The listener sees which test
 * makes a function's count of calls grow: tests run one after the other.
 */
public final class LedgerListener implements TestExecutionListener {
    private static final @Nullable String FILE = System.getProperty("dev.verbena.ledger");

    private final Map<String, Map<String, Calls.Count>> before = new HashMap<>();
    private final Findings findings = new Findings();

    @Override
    public void executionStarted(TestIdentifier test) {
        if (isCounting() && test.isTest()) {
            before.put(test.getUniqueId(), Calls.all());
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        if (isCounting() && test.isTest()) {
            findings.leftOut(nameOf(test), reason);
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (!isCounting() || !test.isTest()) {
            return;
        }
        String name = nameOf(test);
        String outcome = switch (result.getStatus()) {
            case SUCCESSFUL -> "passed";
            case ABORTED -> "left out";
            case FAILED -> "failed";
        };
        String why = result.getThrowable().map(Throwable::getMessage).orElse("");
        if (result.getStatus() == TestExecutionResult.Status.ABORTED) {
            findings.leftOut(name, why);
        }
        Map<String, Calls.Count> earlier = before.remove(test.getUniqueId());
        Calls.all().forEach((function, now) -> {
            Calls.Count then = earlier.getOrDefault(function, new Calls.Count(0, 0, null));
            findings.called(function, name, now.made() - then.made(), now.failed() - then.failed(), now.refusal());
        });
        source(test).ifPresent(method -> {
            Covers covers = method.getJavaMethod().getAnnotation(Covers.class);
            if (covers == null) {
                covers = method.getJavaClass().getAnnotation(Covers.class);
            }
            if (covers != null && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
                List.of(covers.value()).forEach(function -> findings.computed(function, name));
            }
            Twin twin = method.getJavaMethod().getAnnotation(Twin.class);
            if (twin != null) {
                List.of(twin.value()).forEach(python -> findings.twin(python, name, outcome, why));
            }
            Fault fault = method.getJavaMethod().getAnnotation(Fault.class);
            if (fault != null) {
                List.of(fault.value()).forEach(what -> findings.fault(what, name, outcome, why));
            }
        });
        findings.finished(outcome);
    }

    @Override
    public void testPlanExecutionFinished(TestPlan plan) {
        if (!isCounting()) {
            return;
        }
        findings.where = where();
        Path file = Path.of(FILE);
        try {
            Files.createDirectories(file.getParent());
            try (ObjectOutputStream out = new ObjectOutputStream(Files.newOutputStream(file))) {
                out.writeObject(findings);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The findings for the ledger can't be written", e);
        }
    }

    private static String where() {
        String devices = NativeLibraries.VERBS.problem() != null
                ? ""
                : Device.list().stream().map(Device::name).collect(Collectors.joining(" and "));
        return "on Linux " + System.getProperty("os.version") + ", JDK "
                + Runtime.version().feature() + (devices.isEmpty() ? ", without a device" : ", with " + devices);
    }

    private static boolean isCounting() {
        return FILE != null;
    }

    private static Optional<MethodSource> source(TestIdentifier test) {
        return test.getSource().filter(MethodSource.class::isInstance).map(MethodSource.class::cast);
    }

    /** The class and the method; repetitions and parameters are one. */
    private static String nameOf(TestIdentifier test) {
        return source(test)
                .map(method -> method.getJavaClass().getSimpleName() + "." + method.getMethodName())
                .orElse(test.getDisplayName());
    }
}

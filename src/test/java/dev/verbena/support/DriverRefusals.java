package dev.verbena.support;

import dev.verbena.verbs.Device;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.opentest4j.TestAbortedException;

/**
 * Leaves tests out that meet a refusal of the driver for which the provider for tests stands, in a run with
 * {@code VERBENA_DRIVER}. The refusal has to be one of {@link Device#limits}, which name the driver and say what to take
 * instead: a test that fails for another reason fails there too.
 */
final class DriverRefusals implements InvocationInterceptor {
    private static final boolean CHOSEN = System.getenv("VERBENA_DRIVER") != null;

    /** The reason of nodes, which have no atomics over iWARP at all, whatever the driver has. */
    private static final String NODES_OVER_IWARP = "iWARP has no atomics";

    /** The refusals of the driver, which is asked before the first test can choose another one. */
    private static final List<String> REASONS = CHOSEN && Fenced.isLoaded() ? reasons() : List.of();

    private static List<String> reasons() {
        List<String> all = new ArrayList<>(Device.first().limits());
        if (!all.isEmpty()) {
            all.add(NODES_OVER_IWARP);
        }
        return all;
    }

    private static ExtensionContext.Store store(ExtensionContext test) {
        return test.getStore(ExtensionContext.Namespace.create(DriverRefusals.class));
    }

    private static <T> T proceed(Invocation<T> invocation, ExtensionContext test) throws Throwable {
        try {
            return invocation.proceed();
        } catch (Throwable failure) {
            String reason = find(failure, Collections.newSetFromMap(new IdentityHashMap<>()));
            if (reason == null) {
                throw failure;
            }
            store(test).put(DriverRefusals.class, reason);
            throw new TestAbortedException("refused: " + reason, failure);
        }
    }

    /** Returns the refusal in a failure, its causes, or what was suppressed for it; null if there is none. */
    private static @Nullable String find(@Nullable Throwable failure, Set<Throwable> seen) {
        if (failure == null || !seen.add(failure)) {
            return null;
        }
        String message = String.valueOf(failure.getMessage());
        for (String reason : REASONS) {
            if (message.contains(reason)) {
                return reason;
            }
        }
        String found = find(failure.getCause(), seen);
        for (Throwable suppressed : failure.getSuppressed()) {
            found = found == null ? find(suppressed, seen) : found;
        }
        return found;
    }

    @Override
    public <T> T interceptTestClassConstructor(
            Invocation<T> invocation, ReflectiveInvocationContext<Constructor<T>> called, ExtensionContext test)
            throws Throwable {
        return proceed(invocation, test);
    }

    @Override
    public void interceptBeforeAllMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> called, ExtensionContext test)
            throws Throwable {
        proceed(invocation, test);
    }

    @Override
    public void interceptBeforeEachMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> called, ExtensionContext test)
            throws Throwable {
        proceed(invocation, test);
    }

    @Override
    public void interceptTestMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> called, ExtensionContext test)
            throws Throwable {
        proceed(invocation, test);
    }

    @Override
    public void interceptTestTemplateMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> called, ExtensionContext test)
            throws Throwable {
        proceed(invocation, test);
    }

    /** Closes what a test has opened. A test that was refused at its beginning has opened less. */
    @Override
    public void interceptAfterEachMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> called, ExtensionContext test)
            throws Throwable {
        try {
            proceed(invocation, test);
        } catch (RuntimeException | AssertionError failure) {
            if (store(test).get(DriverRefusals.class) == null) {
                throw failure;
            }
        }
    }
}

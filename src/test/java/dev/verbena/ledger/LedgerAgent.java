package dev.verbena.ledger;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The agent of a test run that writes a ledger: {@code -javaagent:ledger-agent.jar=FILE}. The jar holds nothing but a
 * manifest that names this class. The agent puts {@link CallHooks} into the library's classes as they are loaded.
 */
public final class LedgerAgent {
    private static final String LIBRARY = "dev/verbena/";
    private static final String LEDGER = "dev/verbena/ledger/";
    private static @Nullable Path file;

    private LedgerAgent() {}

    /**
     * Starts to count.
     *
     * @param file the ledger's file
     */
    public static void premain(String file, Instrumentation jvm) {
        LedgerAgent.file = Path.of(file);
        ClassLoader loader = LedgerAgent.class.getClassLoader();
        CallCounting counting = new CallCounting(name -> loader.getResource(name) != null);
        List<String> early = Stream.of(jvm.getAllLoadedClasses())
                .map(type -> type.getName().replace('.', '/'))
                .filter(LedgerAgent::isCounted)
                .toList();
        if (!early.isEmpty()) {
            throw new IllegalStateException("Loaded too early to be counted: " + early);
        }
        jvm.addTransformer(new ClassFileTransformer() {
            @Override
            public byte @Nullable [] transform(
                    @Nullable ClassLoader loader,
                    @Nullable String name,
                    @Nullable Class<?> redefined,
                    @Nullable ProtectionDomain domain,
                    byte[] classFile) {
                return name != null && isCounted(name) ? transformOrHalt(counting, name, classFile) : null;
            }
        });
    }

    /** Returns the ledger's file, or null in a process that does not count. */
    static @Nullable Path file() {
        return file;
    }

    private static boolean isCounted(String name) {
        return name.startsWith(LIBRARY) && !name.startsWith(LEDGER);
    }

    /** The JVM would swallow an exception, and the run would go on without counting this class. */
    private static synchronized byte @Nullable [] transformOrHalt(
            CallCounting counting, String name, byte[] classFile) {
        try {
            return counting.transform(classFile);
        } catch (Throwable failure) {
            System.err.println("The ledger's agent cannot change " + name);
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
            throw failure;
        }
    }
}

package dev.verbena.verbs;

import java.lang.StackWalker.StackFrame;
import java.security.CodeSource;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The line of the program that has called the library, for events. */
final class ProgramPlace {
    private static final String LIBRARY = "dev.verbena";

    /** The jar or folder of the library, which may also have classes of the program. */
    private static final @Nullable CodeSource OWN = source(ProgramPlace.class);

    private ProgramPlace() {}

    /** Returns the method and line of the program that this thread is in; empty in a thread of the library. */
    public static String ofThisThread() {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
                .walk(frames -> frames.filter(ProgramPlace::isOfProgram)
                        .findFirst()
                        .map(frame -> frame.toStackTraceElement().toString())
                        .orElse(""));
    }

    private static boolean isOfProgram(StackFrame frame) {
        Class<?> type = frame.getDeclaringClass();
        boolean isOfJdk =
                type.getClassLoader() == null || type.getClassLoader() == ClassLoader.getPlatformClassLoader();
        boolean isOurs = type.getName().startsWith(LIBRARY) && Objects.equals(source(type), OWN);
        return !isOfJdk && !isOurs;
    }

    private static @Nullable CodeSource source(Class<?> type) {
        return type.getProtectionDomain().getCodeSource();
    }
}
